"""``matchenv bench``: the benchmark ``matchenv-bench-v1``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from matchenv.cli.options import Parallel, Resumable
from matchenv.cli.output import show


@dataclass(frozen=True, kw_only=True)
class Bench(Resumable, Parallel):
    """Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

    Several policies are the runs of one method, one for each training seed. See docs/bench.md.

    Example:
        matchenv bench kg --out results/bench-kg

    Attributes:
        policies: the policy, as matchenv compare names it, or one for each training seed,
            also as in 'runs/five/seed{0,1,2,3,4}'.
        method: name in tables (default: the first policy's).
        only: names of families; a result of some families is not an entry.
        check: a bench.json to check, of which some families are played anew; no policy then.
        sample: how many families a check plays anew.
        seed: decides which families those are.
    """

    policies: Annotated[Positional[tuple[str, ...]], arg(metavar="[POLICY ...]")] = ()
    method: str | None = None
    only: tuple[str, ...] = ()
    check: Path | None = None
    sample: int = 3
    seed: int = 0

    @property
    def results(self) -> Path | None:
        """None: the report page does not show this benchmark."""
        return None

    @property
    def extras(self) -> tuple[str, ...]:
        """Return what the tables for LaTeX need."""
        return () if self.out is None else ("benchmarks",)

    def run(self) -> None:
        """Play and print the tables, or check a file."""
        from matchenv.benchmarks.bench.running import check_result, run_bench
        from matchenv.evaluation.registry import expanded

        if (self.check is None) == (not self.policies):
            raise ValueError("policies must be given, or a file to --check, and not both")
        if self.check is not None:
            names = check_result(
                self.check, sample=self.sample, seed=self.seed, workers=self.on_engine
            )
            if not self.quiet:
                show(f"{self.check}: its numbers are confirmed in {', '.join(names)}, played anew")
            return
        result = run_bench(
            expanded(self.policies),
            method=self.method,
            only=self.only,
            workers=self.on_engine,
            out=self.out,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(result.markdown())
