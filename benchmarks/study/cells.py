"""The cells of the paper's study: where player 0 stands, and what the policies know."""

from __future__ import annotations

from dataclasses import dataclass

# Ranks of the paper's 50 players, 1 for the best, that its figures show.
PAPER_PLAYERS = 50
PAPER_RANKS = {"top": 1, "rank12": 12, "rank25": 25, "rank37": 37, "bottom": 50}


@dataclass(frozen=True)
class Cell:
    """One set-up of the study.

    Attributes:
        place: key of ``PAPER_RANKS``: where player 0 stands, by prior mean if the prior is
            informative, by true skill if all are equal.
        prior: ``"informative"`` or ``"equal"``.
    """

    place: str
    prior: str

    @property
    def name(self) -> str:
        """The cell in names of files."""
        return f"{self.prior}_{self.place}"

    @property
    def title(self) -> str:
        """The cell as a heading."""
        place = self.place.replace("rank", "rank ")
        return f"{place}, {self.prior} prior" + ("s" if self.prior == "equal" else "")

    def index(self, players: int) -> int:
        """How many of ``players`` stand before player 0.

        The paper's ranks count from 1, so that its rank 12 of 50 has 11 players before it;
        in a pool of another size the place is the one at the same share.
        """
        if self.place == "top":
            return 0
        if self.place == "bottom":
            return players - 1
        return int((PAPER_RANKS[self.place] - 0.5) / PAPER_PLAYERS * players)


CELLS = tuple(Cell(place, prior) for prior in ("informative", "equal") for place in PAPER_RANKS)
