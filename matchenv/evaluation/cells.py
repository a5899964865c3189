"""Cells: the set-ups of an environment in which policies are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from urllib.parse import quote

from matchenv.envs.one_player.priors import Prior
from matchenv.envs.one_player.settings import Settings, place_of_rank
from matchenv.runtime.object_spec import is_object_spec, spec_of

ANY = "any"


@dataclass(frozen=True)
class Cell:
    """One set-up in which policies are compared.

    Attributes:
        name: in names of files.
        title: as a heading.
        labels: in tables, by column.
        options: of the environment in it, by name.
    """

    name: str
    title: str
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def variants_of(swept: Mapping[str, Sequence[Any]]) -> tuple[Cell, ...]:
    """Return a cell for each combination of some options' values; one if there are none.

    Args:
        swept: values by option.
    """
    cells = []
    for values in product(*swept.values()):
        options = dict(zip(swept, values, strict=True))
        labels = {name: str(value) for name, value in options.items()}
        text = ",".join(f"{name}={value}" for name, value in labels.items())
        cells.append(Cell(quote(text, safe="=+,") or "default", text or "default options",
                          labels, options))  # fmt: skip
    return tuple(cells)


def cells_of(
    ranks: Sequence[str | int | None],
    priors: Sequence[str | Prior],
    num_opponents: int,
    rank_by: str = Settings.rank_by,
) -> tuple[Cell, ...]:
    """Return the cells of ``Matchmaking-v0``: every rank with every prior, prior by prior.

    Args:
        ranks: places of player 0: names, numbers from 0 for the best (also as text), None or
            ``"any"`` for a random one.
        priors: names of priors, or priors that ``spec_of`` can write.
        num_opponents: M.
        rank_by: what the place is by, as the environment takes it.

    Raises:
        ValueError: for none, one named twice, or one that the environment does not know.
    """
    if not ranks or not priors or isinstance(ranks, str) or isinstance(priors, str):
        raise ValueError(
            f"ranks and priors must be lists of at least one each, got {ranks!r}, {priors!r}"
        )
    cells: dict[tuple[int, str], Cell] = {}
    for prior in (spec_of("prior", each) for each in priors):
        for given in ranks:
            rank = None if given == ANY else given
            if isinstance(rank, str) and rank.isascii() and rank.isdigit():
                rank = int(rank)
            options = {"rank": rank, "prior": prior, "rank_by": rank_by}
            Settings.checked(num_opponents=num_opponents, **options)
            name = ANY if rank is None else str(rank)
            where = ordinal(rank + 1) if isinstance(rank, int) else name
            place = place_of_rank(rank, num_opponents)
            cell = Cell(f"{quote(prior, safe='=+,')}_{where}",
                        _title(where, options, num_opponents + 1),
                        {"rank": name, "prior": prior}, options)  # fmt: skip
            if (place, prior) in cells:
                raise ValueError(
                    f"ranks and priors must name each cell once, got {cell.title!r} twice"
                )
            cells[place, prior] = cell
    return tuple(cells.values())


def _title(where: str, options: Mapping[str, Any], num_players: int) -> str:
    """Return a heading; it says what the place is by, unless by the prior mean that all know."""
    rank, prior = options["rank"], options["prior"]
    known = f"prior {prior}" if is_object_spec(prior) else f"{prior} prior"
    kind = f"of {num_players}" if isinstance(rank, int) else "rank"
    by = ""
    if rank is not None and options["rank_by"] == "true_skill":
        by = " by true skill"
    elif rank is not None and prior == "equal":
        by = " by hidden mean"
    return f"{where} {kind}{by}, {known}"


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``3rd``, ``4th``, ... of a number from 1."""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"
