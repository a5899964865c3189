"""Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

Several policies are the runs of one method, one for each training seed. See
docs/bench.md.

Example:
    matchenv bench --policy kg --out results/bench-kg
"""

from __future__ import annotations

from matchenv.cli import options as shared
from matchenv.cli.parser import Existing, Given, Parser


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ())
    add.option("--method", "name in tables (default: the first policy's)")
    add.option("--only", "names of families; a result of some families is not an entry", ())
    add.group("check")
    add.option("--check", "a bench.json to check, of which some families are played again; no "
               "policy then", None, Existing)  # fmt: skip
    add.option("--sample", "how many families a check plays again", 3)
    add.option("--seed", "random seed of the choice of those families", 0)
    shared.results(add)
    add.option("--markdown", "print the tables as Markdown", False)


def run(given: Given) -> None:
    """Play and print the tables, or check a file."""
    from matchenv.benchmarks.bench.running import check_result, run_bench

    if (given.check is None) == (not given.policy):
        raise ValueError("--policy must be given, or a file to --check, and not both")
    if given.check is not None:
        names = check_result(given.check, workers=shared.engine(given),
                             **given.chosen(("sample", "seed")))  # fmt: skip
        given.say(f"{given.check}: its numbers are confirmed in {', '.join(names)}, played again")
        return
    work = shared.run_options(given)
    result = run_bench(shared.named_policies(given), run=work, **given.chosen(("method", "only")))
    given.say(result.markdown() if given.markdown else result.text())
