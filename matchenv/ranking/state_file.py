"""The file of ``Ranker.save``: options, items and games as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matchenv.belief.joint import NOBODY
from matchenv.ranking.arguments import rows_of
from matchenv.ranking.games import IndexedGame
from matchenv.ranking.options import OPTIONS
from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_positive_number,
    elements_of,
    refusal,
)
from matchenv.runtime.files import json_bytes

VERSION = 2
KEYS = {"version", "estimates", "items", "retired", "barred_pairs", "clusters", "games", *OPTIONS}


class RankerState(NamedTuple):
    """What a ranker is restored from.

    Attributes:
        options: see ``OPTIONS``.
        items: names.
        retired: indices of retired items.
        barred_pairs: indices of pairs that are never chosen.
        clusters: names of clusters.
        games: games with items and cluster by index.
        sigma: standard deviation of a skill in use.
        draw_margin: draw margin in use.
        estimated_games: number of games of the estimates; -1 for none.
    """

    options: dict[str, Any]
    items: list[str]
    retired: list[int]
    barred_pairs: list[tuple[int, int]]
    clusters: list[str]
    games: list[IndexedGame]
    sigma: float
    draw_margin: float
    estimated_games: int


def content_of(state: RankerState) -> bytes:
    """Return the content of the file of a state."""
    content = {
        "version": VERSION,
        **state.options,
        "estimates": {
            "sigma": state.sigma,
            "draw_margin": state.draw_margin,
            "games": state.estimated_games,
        },
        "items": state.items,
        "retired": state.retired,
        "barred_pairs": state.barred_pairs,
        "clusters": state.clusters,
        "games": state.games,
    }
    return json_bytes(content, checked=True)


def state_of(content: Any) -> RankerState:
    """Return the state of a file's content.

    Options, names and outcomes are checked by the ranker that is restored.

    Raises:
        KeyError: for a missing estimate.
        TypeError: for a value of another type.
        ValueError: for missing or unknown keys, another version, and indices out of range.
    """
    if not isinstance(content, Mapping):
        raise ValueError(f"it must hold {', '.join(sorted(KEYS))}")
    if content.get("version") != VERSION:
        raise ValueError(
            f"its version must be {VERSION}, got {content.get('version')!r}; rank the games again"
        )
    if content.keys() != KEYS:
        raise ValueError(f"it must hold {', '.join(sorted(KEYS))}")
    items = content["items"]
    if not isinstance(items, list):
        raise refusal("items must be a list", items)
    last = len(items) - 1
    barred: list[tuple[int, int]] = []
    for i, j in rows_of("barred_pairs", "(i, j)", content["barred_pairs"]):
        barred.append((as_integer("item", i, 0, last), as_integer("item", j, 0, last)))
    retired: list[int] = []
    for index in elements_of(content["retired"]) or []:
        retired.append(as_integer("retired", index, 0, last))
    clusters = [*content["clusters"]]
    games: list[IndexedGame] = []
    fields = "(i, j, outcome, advantage, cluster)"
    for i, j, outcome, advantage, cluster in rows_of("games", fields, content["games"]):
        game = IndexedGame(
            as_integer("game", i, 0, last),
            as_integer("game", j, 0, last),
            outcome,
            as_integer("advantage", advantage, 0, 1),
            as_integer("cluster", cluster, NOBODY, len(clusters) - 1),
        )
        games.append(game)
    estimates = content["estimates"]
    return RankerState(
        options={name: content[name] for name in OPTIONS},
        items=items,
        retired=retired,
        barred_pairs=barred,
        clusters=clusters,
        games=games,
        sigma=as_positive_number("sigma", estimates["sigma"]),
        draw_margin=as_non_negative_number("draw_margin", estimates["draw_margin"]),
        estimated_games=as_integer("games", estimates["games"], -1),
    )
