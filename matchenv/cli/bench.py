"""Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

Several policies are the runs of one method, one for each training seed. See
docs/bench.md.

Example:
    matchenv bench --policy kg --out results/bench-kg
"""

from __future__ import annotations

from pathlib import Path

from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ())
    add.option("--method", "name in tables (default: the first policy's)")
    add.option("--only", "names of families; a result of some families is not an entry", ())
    add.group("check")
    add.option("--check", "a bench.json to check, of which some families are played again; no "
               "policy then", None, Path)  # fmt: skip
    add.option("--sample", "how many families a check plays again", 3)
    add.option("--seed", "random seed of the choice of those families", 0)
    shared.results(add)
    add.option("--markdown", "print the tables as Markdown", False)


def run(given: Given) -> None:
    """Play and print the tables, or check a file."""
    from matchenv.benchmarks.bench.running import check_result, run_bench

    given.needs(*(() if given.out is None else ("benchmarks",)))
    if (given.check is None) == (not given.policy):
        raise ValueError("--policy must be given, or a file to --check, and not both")
    engine = shared.engine(given)
    if given.check is not None:
        names = check_result(given.check, sample=given.sample, seed=given.seed, workers=engine)
        given.say(f"{given.check}: its numbers are confirmed in {', '.join(names)}, played anew")
        return
    result = run_bench(
        shared.named_policies(given),
        workers=engine,
        **given.chosen(("method", "only", "out", "quiet")),
    )
    given.say(result.markdown() if given.markdown else result.text())
