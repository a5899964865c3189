"""The rules of game services in examples/ against their formulas."""

import ast
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from party_queues import party_queue

from examples import operators, split_a_roster
from matchenv.baselines.queue.planned import checked_lobbies
from matchenv.envs.queue import QueueSettings, QueueView
from matchenv.evaluation.registry import policy_named
from matchenv.trueskill import team_win_probability

SINGLES = QueueSettings(side_size=2)
FILE = Path(operators.__file__)
RULES = ("Teiserver", "ShieldBattery", "Showdown", "FAForever", "Osu")


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_short_and_has_a_name_on_the_command_line(name: str) -> None:
    nodes = {node.name: node for node in ast.parse(FILE.read_text()).body if hasattr(node, "name")}
    assert nodes[name].end_lineno - nodes[name].lineno < 40
    assert isinstance(policy_named(f"examples.operators:{name}", SINGLES), getattr(operators, name))


@pytest.mark.parametrize("seed", range(4))
def test_teiserver_takes_the_first_even_sides_of_the_newest(seed: int) -> None:
    queue = party_queue(np.random.default_rng(seed), 7, SINGLES)

    def is_even(one: Any, two: Any) -> bool:
        sides = [[(queue.mu[k], queue.sigma[k]) for k in side] for side in (one, two)]
        return 0.3 <= team_win_probability(*sides, queue.settings.beta) <= 0.7

    first: list[int] = []
    for one in combinations(range(6, -1, -1), 2):
        for two in combinations([k for k in range(6, -1, -1) if k not in one], 2):
            if not first and is_even(one, two):
                first = [*one, *two]
    lobbies = operators.Teiserver().plan(queue)
    assert lobbies[:1] == [first][: len(first)]
    checked_lobbies(lobbies, queue)


def quality_of_shieldbattery(queue: Any, lobby: Any) -> float:
    """Return the largest quality of a lobby of four single players over its splits."""
    beta = queue.settings.beta
    # Elo's curve has the slope of the environment's at an even game.
    scale = 1600.0 / math.log(10.0) / math.sqrt(2.0 * math.pi) / (math.sqrt(2.0) * beta)
    rating = {k: 1500.0 + scale * float(queue.mu[k] - queue.sigma[k]) for k in lobby}
    best = -math.inf
    for one in combinations(lobby, 2):
        two = [k for k in lobby if k not in one]
        strength = [math.sqrt((rating[a] ** 2 + rating[b] ** 2) / 2.0) for a, b in (one, two)]
        p = 1.0 / (1.0 + 10.0 ** ((strength[1] - strength[0]) / 400.0))
        spread = float(np.var([*rating.values()], ddof=1))
        wait = 6.0 * max(queue.waited[k] for k in lobby)
        best = max(best, wait - 0.005 * spread - 50.0 * abs(0.5 - p))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_shieldbattery_takes_the_lobby_of_the_highest_quality(seed: int) -> None:
    queue = party_queue(np.random.default_rng(seed), 8, SINGLES)
    qualities = {}
    for lobby in combinations(range(8), 4):
        qualities[lobby] = quality_of_shieldbattery(queue, lobby)
    best = max(qualities, key=lambda lobby: qualities[lobby])
    lobbies = operators.ShieldBattery().plan(queue)
    if qualities[best] < -30.0:
        assert not lobbies
    else:
        assert set(lobbies[0]) == set(best)
    assert all(qualities[tuple(sorted(lobby))] >= -30.0 for lobby in lobbies)


def test_showdown_widens_by_the_wait_of_either_player() -> None:
    queue = party_queue(np.random.default_rng(2), 6, QueueSettings())
    view = QueueView.of(queue)
    for decides, choose in (("longer", max), ("shorter", min)):
        expected = 0
        for k, other in enumerate(queue.candidates.tolist(), 1):
            window = 0.1 + 0.15 * choose(queue.waited[0], queue.waited[other])
            if expected == 0 and abs(queue.mu[0] - queue.mu[other]) <= window:
                expected = k
        assert operators.Showdown(decides, 0.1, 0.15).act(view) == expected


def test_largest_differencing_on_the_example_of_karmarkar_and_karp() -> None:
    """8, 7, 6, 5, 4 leave a difference of 2, which is not the least."""
    values = np.array([4.0, 5.0, 6.0, 7.0, 8.0])
    one, two = operators.largest_differencing(values)
    assert sorted([*one, *two]) == [0, 1, 2, 3, 4]
    assert abs(values[one].sum() - values[two].sum()) == 2.0


@pytest.mark.parametrize("spread", ["lobby", "sides"])
def test_faforever_keeps_lobbies_of_enough_quality(spread: str) -> None:
    settings = QueueSettings(side_size=2, party_sizes=(0.7, 0.3))
    for seed in range(4):
        queue = party_queue(np.random.default_rng(seed), 12, settings)
        lobbies = operators.FAForever(spread).plan(queue)
        checked_lobbies(lobbies, queue)
        assert not [*operators.FAForever(spread, least=2.0).plan(queue)]
        everything = operators.FAForever(spread, least=-math.inf).plan(queue)
        assert len(everything) >= len(lobbies)


@pytest.mark.parametrize("options", [{}, {"rarity": False}, {"most": 80.0, "top": 1700.0}])
def test_osu_matches_others_within_the_radius_of_the_one_who_is_asked(options: Any) -> None:
    queue = party_queue(np.random.default_rng(4), 20, SINGLES)
    rating = 1500.0 + 350.0 * queue.mu / queue.settings.population.deviation
    lobbies = operators.Osu(**options).plan(queue)
    assert lobbies
    for lobby in lobbies:
        asked = lobby[0]
        radius = 60.0 * 2.0 ** (queue.waited[asked] / 5.0)
        if options.get("rarity", True):
            radius *= math.exp(((rating[asked] - 1500.0) / 750.0) ** 2)
        if "most" in options:
            most = max(80.0, rating[asked] - 1700.0)
            radius = min(most, radius)
        assert np.abs(rating[lobby] - rating[asked]).max() <= radius


def test_the_least_gap_of_a_roster_is_no_larger_than_by_differencing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["split_a_roster", "--rosters", "20", "--side-size", "3"])
    split_a_roster.main()
    numbers = [line[22:].split() for line in capsys.readouterr().out.splitlines()[1:]]
    quality, gap, spread = np.array([[float(n) for n in row[:3]] for row in numbers]).T
    assert gap[1] == gap.min()
    assert quality[1] == quality.max()
    assert spread[2] <= spread[1]
