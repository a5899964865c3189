"""Rollouts of the queue against single queues played by hand, and sums against their visits."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random
from scipy.stats import norm

from matchenv.envs.queue.dynamics import OVER
from matchenv.envs.queue.settings import NormalPopulation, QueueSettings, RatedPopulation
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation import visits as summary
from matchenv.evaluation.protocols import load_of
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.runtime.random import drawn_key

SETTINGS = QueueSettings(
    arrival_rate=0.7, horizon=60, capacity=6, patience=9.0, stay=0.9, draw_margin=0.2
)
SEEDS = [3, 2**40, 17, 5]


class Second:
    """A third-party policy: the second candidate, or the first, or nobody."""

    def choose(self, waiting: Any, rng: np.random.Generator) -> int:
        return min(2, waiting.filled.size)


class Lowest:
    """A policy that reads observations and masks, like MaskablePPO."""

    def predict(self, observation: Any, state: Any, *_: Any, action_masks: Any, **more: Any) -> Any:
        assert more["deterministic"]
        assert observation.dtype == np.float32
        assert action_masks[:, 0].all()
        return action_masks.sum(axis=1) - 1, state


def by_hand(policy: Any, settings: QueueSettings, seed: int) -> tuple[float, dict[str, Any]]:
    """Return the reward of a single queue, and its visits, which agree with its totals."""
    simulator, running = QueueSimulator(settings, keep_visits=True), np.ones(1, dtype=np.bool_)
    key = np.array([drawn_key(np_random(seed)[0])], np.uint64)
    state = simulator.begin(simulator.new_state(1), np.arange(1), key)
    total, quality, rng = 0.0, 0.0, np.random.default_rng(0)
    while state.queue["phase"][0] != OVER:
        if hasattr(policy, "choose"):
            action = policy.choose(simulator.waiting_players(state, 0), rng)
        else:
            action = int(state.mask[0].sum()) - 1
        state, reward, *_ = simulator.step(state, np.array([action]), running)
        info = simulator.info(state, 0)
        total, quality = total + reward[0], quality + 2.0 * info["match_quality"]
    visits = simulator.taken_visits(state)
    assert visits["served"].sum() == info["matched_players"]
    assert (visits["served"] == 0).sum() == info["abandoned"]
    assert visits["waited"].mean() == pytest.approx(info["mean_wait"])
    assert visits["match_quality"].sum() == pytest.approx(quality)
    assert (np.diff(visits["tick"]) >= 0).all()
    fresh = visits["games_played"] == 0
    assert len(set(visits["player"][fresh])) == fresh.sum() < fresh.size
    assert (visits["mu"][(visits["newcomer"] == 1) & fresh] == 0.0).all()
    assert (visits["sigma"][~fresh] < 2.5).all()
    return total, visits


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        *((name, "match_quality") for name in ("kg:both=true", "matching", "own")),
        *((name, "true_match_quality") for name in ("window:width=0.5", "oracle", "observing")),
    ],
)
def test_each_run_equals_a_single_queue(name: str, reward: str) -> None:
    settings = replace(SETTINGS, reward=reward)

    def make(asked: QueueSettings, _: Any = None) -> Any:
        own = {"own": Second, "observing": Lowest}
        return own[name]() if name in own else policy_named(name, asked)

    found = rollout(make, settings, SEEDS)
    for row, seed in enumerate(SEEDS):
        total, visits = by_hand(make(settings), settings, seed)
        paid = found["reward"] if reward == "match_quality" else found["true_reward"]
        assert paid[row] == pytest.approx(total, rel=1e-12)
        other = found["true_reward"] if reward == "match_quality" else found["reward"]
        more = visits["true_match_quality"].sum() - visits["match_quality"].sum()
        sign = 1.0 if reward == "match_quality" else -1.0
        assert other[row] - total == pytest.approx(sign * more, abs=1e-9)
        assert found["abandoned"][row] == (visits["served"] == 0.0).sum()
        np.testing.assert_allclose(found["sums"][row, 0], sums_of(visits), rtol=1e-12)


def sums_of(visits: dict[str, Any]) -> list[float]:
    return [float(visits["served"].size), *(float(visits[name].sum()) for name in summary.SUMS[1:])]


def waits_of(waits: Any) -> Any:
    """Return a table of one cell and one policy."""
    return SimpleNamespace(totals={"waits": waits[None, None, None]}, policies=("own",))


def test_visits_are_summed_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "STEPS_AT_ONCE", 7)
    settings = replace(SETTINGS, horizon=400)
    visits = by_hand(Second(), settings, 8)[1]
    found = rollout(lambda *_: Second(), settings, [8])
    sums, waits = found["sums"][0], found["total/waits"]
    limits = norm.ppf(np.arange(1, summary.DECILES) / summary.DECILES, scale=np.sqrt(6.5))
    decile = (visits["true_skill"][:, None] > limits).sum(axis=1)
    newcomer = visits["newcomer"] == 1.0
    groups = [np.full(newcomer.size, True), newcomer, ~newcomer]
    groups += [decile == k for k in range(summary.DECILES)]
    assert len(groups) == len(summary.GROUPS)
    for place, rows in enumerate(groups):
        mine = {name: column[rows] for name, column in visits.items()}
        np.testing.assert_allclose(sums[place], sums_of(mine), rtol=1e-12)
        assert waits[place].sum() == mine["waited"].size
        if mine["waited"].size:
            expected = np.percentile(mine["waited"], 95, method="inverted_cdf")
            assert summary.long_wait(waits_of(waits), 0, "own", summary.GROUPS[place]) == expected
    for games in summary.ERROR_GAMES:
        rows = newcomer & (visits["games_played"] == games)
        error = ((visits["mu"] - visits["true_skill"])[rows] ** 2).mean() if rows.any() else np.nan
        np.testing.assert_allclose(found[f"error_{games}"], [error], rtol=1e-12)


def test_means_of_a_group_are_nan_without_visits() -> None:
    sums = np.array([[4.0, 3.0, 10.0, 1.5, 1.2], np.zeros(5)])
    found = {name: summary.mean_of(name, sums) for name in summary.MEANS}
    assert {name: values[0] for name, values in found.items()} == pytest.approx(
        {"left": 0.25, "wait": 2.5, "match_quality": 0.5, "true_match_quality": 0.4}
    )
    assert all(np.isnan(values[1]) for values in found.values())
    assert np.isnan(summary.long_wait(waits_of(np.zeros((1, 5))), 0, "own"))


def test_skill_quantiles_of_populations() -> None:
    shares = np.array([0.01, 0.3, 0.5, 0.999])
    normal = NormalPopulation(mean=3.0, deviation=2.0)
    np.testing.assert_allclose(
        summary.skill_quantiles(normal, shares), norm.ppf(shares, 3.0, 2.0), rtol=1e-10
    )
    mu, sigma = np.array([-4.0, 0.0, 9.0]), np.array([0.5, 1.0, 2.0])
    found = summary.skill_quantiles(RatedPopulation(mu, sigma), shares)
    below = norm.cdf(found[:, None], mu, sigma).mean(axis=1)
    np.testing.assert_allclose(below, shares, rtol=1e-10)
    nearly_equal = NormalPopulation(mean=25.0, deviation=1e-20)
    np.testing.assert_allclose(summary.skill_quantiles(nearly_equal, shares), 25.0, rtol=1e-15)


@pytest.mark.parametrize("action", [6, -1, 0.7, True])
def test_forbidden_actions_and_policies_without_a_method_are_refused(action: Any) -> None:
    with pytest.raises(ValueError, match=r"actions? must be"):
        rollout(lambda *_: SimpleNamespace(choose=lambda *_: action), SETTINGS, [0])
    with pytest.raises(ValueError, match="choose or predict"):
        rollout(lambda *_: object(), SETTINGS, [0])


def test_loads_by_name_and_rate() -> None:
    assert load_of("thin").options == {"arrival_rate": 0.2}
    for rate, name in (2.5, "2.5"), (3.0, "3"), (0.2000001, "0.2000001"):
        assert (load_of(f"{rate}0").name, load_of(name).options) == (name, {"arrival_rate": rate})
    for bad in ("thinn", "-1", "nan", "0"):
        with pytest.raises(ValueError, match=f"arrival rate > 0, got '{bad}'"):
            load_of(bad)
