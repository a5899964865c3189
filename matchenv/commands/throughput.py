"""``matchenv throughput``: speed against rivals."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from matchenv.commands.options import Written
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class Throughput(Written):
    """Measure speed as ratios to rival libraries, timed in turn with this one.

    Prints the median and the spread over the turns. See docs/benchmarks.md.

    Example:
        matchenv throughput --only environment --turns 3

    Attributes:
        only: sections to run (default: all).
        turns: turns of each side.
        keep: file of ratios, such as benchmarks/throughput/ratios.json, to bring up to date with
            this run's (default: none). Those of the package are printed beside the new ones.
    """

    only: tuple[str, ...] | None = None
    turns: int = 7
    keep: Path | None = None

    @property
    def results(self) -> None:
        """What it wrote is for programs."""
        return None

    @property
    def extras(self) -> tuple[str, ...]:
        """The rivals come with them."""
        return ("agents", "benchmarks")

    def run(self) -> None:
        """Measure and print, section by section."""
        from matchenv.benchmarks.throughput.kept_ratios import beside, keep_ratios, kept_ratios
        from matchenv.benchmarks.throughput.report import as_json, line
        from matchenv.benchmarks.throughput.sections import sections
        from matchenv.runtime.checks import as_choice, as_integer
        from matchenv.runtime.files import folder_lock, json_bytes, write_bytes

        known = sections()
        turns = as_integer("turns", self.turns, 1)
        kept = kept_ratios()
        if self.keep is not None:
            kept_ratios(self.keep)
        names = [as_choice("only", name, known) for name in self.only or known]
        with nullcontext() if self.out is None else folder_lock(self.out):
            results = []
            for name in names:
                self._say(f"== {name}")
                for result in known[name](turns):
                    results.append(result)
                    self._say(line(result, beside(result, kept)))
            if self.keep is not None:
                keep_ratios(self.keep, results)
            if self.out is not None:
                write_bytes(self.out / "throughput.json", json_bytes(as_json(results, turns)))

    def _say(self, text: str) -> None:
        if not self.quiet:
            show(text, flush=True)
