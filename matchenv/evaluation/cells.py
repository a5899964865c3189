"""Cells: the set-ups of an environment in which policies are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol
from urllib.parse import quote

from matchenv.envs.one_player.priors import Prior, prior_text
from matchenv.envs.one_player.settings import Settings, place_of_rank
from matchenv.runtime.object_spec import is_object_spec

ANY = "any"


class AnyCell(Protocol):
    """One set-up in which policies are compared.

    Attributes:
        name: in names of files.
        title: as a heading.
        labels: what tables call it, by column.
        options: of the environment in it, by name.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def labels(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def options(self) -> Mapping[str, Any]: ...  # noqa: D102


@dataclass(frozen=True)
class Variant:
    """A cell of any environment: some of its options."""

    name: str
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def variants_of(swept: Mapping[str, Sequence[Any]]) -> tuple[Variant, ...]:
    """Return a cell for each combination of some options' values; one if there are none.

    Args:
        swept: values by option.
    """
    cells = []
    for values in product(*swept.values()):
        options = dict(zip(swept, values, strict=True))
        labels = {name: str(value) for name, value in options.items()}
        text = ",".join(f"{name}={value}" for name, value in labels.items())
        cells.append(Variant(quote(text, safe="=+,") or "default", text or "default options",
                             labels, options))  # fmt: skip
    return tuple(cells)


@dataclass(frozen=True)
class Cell:
    """A cell of ``Matchmaking-v0``: a place of player 0, and what policies know at the start.

    Attributes:
        rank: of player 0, as the environment takes it: a name, a number from 0 (the best), or
            None for a random one.
        prior: name of the prior, or ``module:Class:key=value`` for one of the user's own.
        num_opponents: M.
        rank_by: what the place is by, as the environment takes it.
    """

    rank: str | int | None
    prior: str
    num_opponents: int
    rank_by: str = Settings.rank_by

    @property
    def place(self) -> int:
        """How many players stand before player 0; -1 for a random rank."""
        return place_of_rank(self.rank, self.num_opponents)

    @property
    def rank_name(self) -> str:
        """The rank as command lines and tables write it."""
        return ANY if self.rank is None else str(self.rank)

    @property
    def labels(self) -> dict[str, str]:
        """What tables call it."""
        return {"rank": self.rank_name, "prior": self.prior}

    @property
    def options(self) -> dict[str, Any]:
        """Of the environment in it."""
        return {"rank": self.rank, "prior": self.prior, "rank_by": self.rank_by}

    @property
    def name(self) -> str:
        """The cell in names of files, such as ``informative_top`` or ``equal_25th``."""
        return f"{quote(self.prior, safe='=+,')}_{self._where}"

    @property
    def title(self) -> str:
        """The cell as a heading, such as ``top rank, informative prior``.

        It says what the place is by, where that is not the prior mean that policies know.
        """
        prior = f"prior {self.prior}" if is_object_spec(self.prior) else f"{self.prior} prior"
        if isinstance(self.rank, int):
            return f"{self._where} of {self.num_opponents + 1}{self._by}, {prior}"
        return f"{self._where} rank{self._by}, {prior}"

    @property
    def _by(self) -> str:
        if self.rank is None:
            return ""
        if self.rank_by == "true_skill":
            return " by true skill"
        return " by hidden mean" if self.prior == "equal" else ""

    @property
    def _where(self) -> str:
        return ordinal(self.rank + 1) if isinstance(self.rank, int) else self.rank_name


def cells_of(
    ranks: Sequence[str | int | None],
    priors: Sequence[str | Prior],
    num_opponents: int,
    rank_by: str = Settings.rank_by,
) -> tuple[Cell, ...]:
    """Every rank with every prior, prior by prior.

    Args:
        ranks: names, numbers (also as text), None or ``"any"``.
        priors: names of priors, or priors that ``prior_text`` can write.
        num_opponents: M.
        rank_by: what the place is by, as the environment takes it.

    Raises:
        ValueError: for none, one named twice, or one that the environment does not know.
    """
    if not ranks or not priors or isinstance(ranks, str) or isinstance(priors, str):
        raise ValueError(
            f"ranks and priors must be lists of at least one each, got {ranks!r}, {priors!r}"
        )
    cells: list[Cell] = []
    for prior in map(prior_text, priors):
        for rank in ranks:
            cell = Cell(_rank(rank), prior, num_opponents, rank_by)
            Settings.checked(
                num_opponents=num_opponents, rank=cell.rank, prior=prior, rank_by=rank_by
            )
            if any((cell.place, prior) == (other.place, other.prior) for other in cells):
                raise ValueError(
                    f"ranks and priors must name each cell once, got {cell.title!r} twice"
                )
            cells.append(cell)
    return tuple(cells)


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ... of a number from 1."""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def _rank(rank: str | int | None) -> str | int | None:
    if rank == ANY:
        return None
    if isinstance(rank, str) and rank.isascii() and rank.isdigit():
        return int(rank)
    return rank
