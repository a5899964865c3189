"""The marks for 1 in the main families: how far above DrawChance any policy can be at most."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from matchenv.evaluation.tables import Column, markdown_table
from matchenv.runtime.files import parsed_json

FILE = "bounds.json"

# A family counts in the score if its mark is at least so many standard errors above DrawChance, so
# that the mark's own error moves the family's score by a fifth at the most (one standard error).
LEAST_ERRORS = 5.0


@dataclass(frozen=True)
class Mark:
    """What ``matchenv bound`` says of one family; a constant of the protocol.

    Attributes:
        bound: mean total of true q that no policy exceeds.
        drawchance: DrawChance's mean total, on the same sample paths.
        difference: bound less DrawChance, paired, luck of known mean taken off.
        standard_error: of the difference.
        paths: sample paths that it was computed from.
    """

    bound: float
    drawchance: float
    difference: float
    standard_error: float
    paths: int

    @property
    def counts(self) -> bool:
        """Whether the mark is known well enough for the score."""
        return self.difference >= LEAST_ERRORS * self.standard_error

    @property
    def text(self) -> str:
        """Such as ``3.41 +- 0.26``, and whether it does not count."""
        found = f"{self.difference:.2f} +- {self.standard_error:.2f}"
        return found if self.counts else f"{found}, does not count"


def read_marks() -> dict[str, Mark]:
    """The marks by family, as ``matchenv bound --marks`` wrote them."""
    content = files("matchenv.benchmarks.bench").joinpath(FILE).read_bytes()
    return {name: Mark(**said) for name, said in parsed_json(content)["families"].items()}


def marks_table() -> list[str]:
    """The marks as Markdown."""
    return markdown_table(COLUMNS, list(read_marks().items()))


COLUMNS = (
    Column("family", lambda row: row[0]),
    Column("bound", lambda row: f"{row[1].bound:.2f}"),
    Column("DrawChance", lambda row: f"{row[1].drawchance:.2f}"),
    Column("bound less DrawChance", lambda row: row[1].text),
    Column("paths", lambda row: str(row[1].paths)),
)
