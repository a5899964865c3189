"""An episode of a comparison to explore, with all policies side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matchenv.benchmarks.performer import Performer, performer_of
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.estimates import Record
from matchenv.evaluation.registry import ONE_PLAYER, known_policies
from matchenv.evaluation.rollout import one_thread
from matchenv.runtime.arrays import Floats, Integers

MOST_POLICIES = 6
# Changes of means and deviations below this share of the skill axis are left out.
RESOLUTION = 1.0 / 500.0
DIGITS = 4  # significant ones of numbers in the page


class Explorer(NamedTuple):
    """An episode, played by several policies."""

    content: Mapping[str, Any]  # plain data, read by ``explorer.js``
    note: str


def explorer_of(result: Record, folder: Path) -> Explorer | None:
    """Return the explorer of a comparison, or None if its policies cannot play here.

    Of the first cell it shows the episode whose differences are nearest to the mean differences.

    Args:
        result: the content of ``comparison.json``.
        folder: folder of the results, with ``episodes.npz``.
    """
    if result.env != ONE_PLAYER or not (folder / "episodes.npz").is_file():
        return None
    known = known_policies(result.env)
    # Others would run code of their own, or read files that may have changed.
    policies = [policy for policy in result.policies if policy.partition(":")[0] in known]
    policies = policies[:MOST_POLICIES]
    if len(policies) < 2:
        return None
    cell = next(iter(result.cells.values()))
    try:
        settings = Settings.checked(**{**result.environment, **cell.options})
    except (TypeError, ValueError):  # results of another version
        return None
    episode = typical_episode(folder / "episodes.npz", cell.labels, policies)
    content = played(policies, settings, result.seed, episode)
    note = (
        f"{cell.title[:1].upper()}{cell.title[1:]}, episode {episode}: of all {result.episodes:,}, "
        "the one whose differences between policies are nearest to the mean differences. Lower "
        "charts have the opponent of each game by place of true skill, the best on top."
    )
    return Explorer(content, note)


def typical_episode(file: Path, labels: Mapping[str, str], policies: Sequence[str]) -> int:
    """Return the episode of a cell whose differences are nearest to their means.

    Distances are in standard deviations of the differences.
    """
    with np.load(file) as table:
        is_cell = np.ones(table["policy"].size, dtype=np.bool_)
        for name, value in labels.items():
            is_cell &= table[name] == value
        totals = []
        for policy in policies:
            totals.append(table["true_draw_density"][is_cell & (table["policy"] == policy)])
    differences = np.array(totals[1:]) - totals[0]
    centred = differences - differences.mean(axis=1, keepdims=True)
    deviation = np.maximum(differences.std(axis=1, keepdims=True), np.finfo(float).tiny)
    return int(np.argmin(((centred / deviation) ** 2).sum(axis=0)))


def played(policies: Sequence[str], settings: Options, seed: int, episode: int) -> dict[str, Any]:
    """Play an episode with each policy, and return what the explorer shows."""
    performers = []
    for policy in policies:
        performer = performer_of(
            policy, settings, seed, range(episode, episode + 1), show_true_skill=True
        )
        performers.append(performer)
    lows = []
    highs = []
    for performer in performers:
        low, high = performer.renderer.limits(performer.episodes.state, 0)
        lows.append(low)
        highs.append(high)
    limits = (min(lows), max(highs))
    renderer: Any = performers[0].renderer  # of ``Matchmaking-v0``
    shown = []
    with one_thread():
        for policy, performer in zip(policies, performers, strict=True):
            shown.append(
                {"name": policy, **_recorded(performer, RESOLUTION * (limits[1] - limits[0]))}
            )
    return {
        "limits": [_rounded(limit) for limit in limits],
        "unit": renderer.unit,
        "largest": _rounded(renderer.largest_q),
        "policies": shown,
    }


def _recorded(performer: Performer, least_change: float) -> dict[str, Any]:
    """Play a policy's episode, and return beliefs and numbers of each game."""
    episodes, decisions, renderer = performer
    players: Any = renderer.players(episodes.state, 0)
    mu = players.mu.copy()
    sigma = players.sigma.copy()
    start = {"mu": _numbers(mu), "sigma": _numbers(sigma), "skill": _numbers(players.true_skill)}
    changes = []
    while episodes.running[0]:
        decisions.step(episodes)
        players = renderer.players(episodes.state, 0)
        change = np.maximum(np.abs(players.mu - mu), np.abs(players.sigma - sigma))
        moved = np.flatnonzero(change > least_change)
        mu[moved] = players.mu[moved]
        sigma[moved] = players.sigma[moved]
        game: list[float] = []
        for player in moved.tolist():
            game += [player, _rounded(mu[player]), _rounded(sigma[player])]
        changes.append(game)
    return {
        **start,
        "changes": changes,
        "opponent": (1 + _integers(renderer.recorded(0, "action"))).tolist(),
        "place": _integers(renderer.recorded(0, "place")).tolist(),
        "place0": _integers(renderer.recorded(0, "place_0")).tolist(),
        "outcome": _integers(renderer.recorded(0, "outcome")[1:]).tolist(),
        "q": _numbers(renderer.recorded(0, "true_draw_density")[1:]),
    }


def _integers(values: Floats) -> Integers:
    return values.astype(np.int64)


def _numbers(values: Floats) -> list[float]:
    return [_rounded(value) for value in values.tolist()]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
