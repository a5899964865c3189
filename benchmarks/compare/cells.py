"""Cells of a comparison: where player 0 stands, and what the policies know at the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matchenv.settings import Settings

ANY = "any"

# What a comparison leaves to the user; rank and prior make the cells, and the reward does
# not matter to a comparison.
ENVIRONMENT_OPTIONS = (
    "num_opponents",
    "horizon",
    "beta",
    "draw_margin",
    "tau",
    "rank_by",
    "equal_variance",
)


@dataclass(frozen=True)
class Cell:
    """One set-up of the paper's study.

    Attributes:
        rank: place of player 0, as the environment takes it; None for a random place.
        prior: ``"informative"`` or ``"equal"``.
    """

    rank: str | int | None
    prior: str

    @property
    def rank_name(self) -> str:
        """The rank as command lines and files write it."""
        return ANY if self.rank is None else str(self.rank)

    @property
    def name(self) -> str:
        """The cell as a heading."""
        place = f"rank {self.rank}" if isinstance(self.rank, int) else f"{self.rank_name} rank"
        return f"{place}, {self.prior} prior"


def checked_environment(options: Mapping[str, Any] | None) -> Settings:
    """The settings that all cells share, from what the user gave of them.

    Raises:
        ValueError: for an unknown option or a bad value.
    """
    options = dict(options or {})
    for name in options:
        if name not in ENVIRONMENT_OPTIONS:
            known = ", ".join(ENVIRONMENT_OPTIONS)
            raise ValueError(f"env_kwargs may hold {known}, got {name!r}")
    return Settings.checked(**options)


def cells_of(
    ranks: Sequence[str | int | None], priors: Sequence[str], settings: Settings
) -> tuple[Cell, ...]:
    """Every rank with every prior.

    Args:
        ranks: names, numbers (also as text), None or ``"any"``.
        priors: names of priors.
        settings: gives the number of opponents.

    Raises:
        ValueError: for none, one named twice, or one that the environment does not know.
    """
    if not ranks or not priors:
        raise ValueError(f"rank and prior must name at least one each, got {ranks!r}, {priors!r}")
    cells = []
    for prior in priors:
        for rank in ranks:
            cell = Cell(_rank(rank), prior)
            Settings.checked(num_opponents=settings.num_opponents, rank=cell.rank, prior=prior)
            if cell in cells:
                raise ValueError(
                    f"rank and prior must name each cell once, got {cell.name!r} twice"
                )
            cells.append(cell)
    return tuple(cells)


def _rank(rank: str | int | None) -> str | int | None:
    if rank == ANY:
        return None
    if isinstance(rank, str) and rank.isascii() and rank.isdigit():
        return int(rank)
    return rank
