"""Rollouts of the queue against single queues played by hand, and sums against their visits."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue import NormalPopulation, QueueSettings, RatedPopulation
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation import visits as summary
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.protocols import load_of
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import rollout

SETTINGS = QueueSettings(
    arrival_rate=0.7, horizon=60, capacity=6, patience=9.0, stay=0.9, draw_margin=0.2
)
SEEDS = [3, 2**40, 17, 5]


class Second:
    """A third-party policy: the second candidate, or the first, or nobody."""

    def act(self, view: Any, rng: np.random.Generator) -> Any:
        return np.minimum(2, view.num_candidates)


class Furthest:
    """A policy that reads observations and masks, like MaskablePPO: the last candidate."""

    def predict(self, observation: Any, state: Any, *_: Any, action_masks: Any, **more: Any) -> Any:
        assert more["deterministic"]
        assert observation.dtype == np.float32
        assert action_masks[:, 0].all()
        return action_masks.sum(axis=1) - 1, state


def by_hand(policy: Any, settings: QueueSettings, seed: int) -> tuple[float, dict[str, Any]]:
    """Return the reward of a single queue, and its visits, which agree with its totals."""
    simulator = QueueSimulator(settings, keep_visits=True)
    episodes = Episodes.of_seeds(simulator, [seed])
    rng = np.random.default_rng(0)
    total = 0.0
    quality = 0.0
    while episodes.all_running:
        if hasattr(policy, "act"):
            actions = policy.act(episodes.view(truth=True), rng)
        else:
            actions = episodes.masks().sum(axis=1) - 1
        total += episodes.step(actions, strict=True).reward[0]
        info = simulator.info(episodes.state, 0)
        quality += settings.num_seats * info["match_quality"]
    visits = simulator.taken_visits(episodes.state)
    assert visits["served"].sum() == info["matched_players"]
    assert (visits["served"] == 0).sum() == info["abandoned"]
    assert visits["waited"].mean() == pytest.approx(info["mean_wait"])
    assert visits["match_quality"].sum() == pytest.approx(quality)
    assert (np.diff(visits["tick"]) >= 0).all()
    is_first = visits["games_played"] == 0
    assert len(set(visits["player"][is_first])) == is_first.sum() < is_first.size
    assert (visits["mu"][(visits["newcomer"] == 1) & is_first] == 0.0).all()
    assert (visits["sigma"][~is_first] < 2.5).all()
    return total, visits


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        ("kg:both=true", "match_quality"),
        ("matching", "match_quality"),
        ("own", "match_quality"),
        ("window:width=0.5", "true_match_quality"),
        ("oracle", "true_match_quality"),
        ("observing", "true_match_quality"),
    ],
)
def test_each_run_equals_a_single_queue(name: str, reward: str) -> None:
    settings = replace(SETTINGS, reward=reward)
    own = {"own": Second(), "observing": Furthest()}
    policy: Any = own[name] if name in own else policy_named(name, settings)
    runs = rollout(policy, settings, SEEDS)
    for row, seed in enumerate(SEEDS):
        total, visits = by_hand(policy, settings, seed)
        gain = visits["true_match_quality"].sum() - visits["match_quality"].sum()
        believed = total
        true = total + gain
        if reward == "true_match_quality":
            believed = total - gain
            true = total
        assert runs["reward"][row] == pytest.approx(believed, abs=1e-9)
        assert runs["true_reward"][row] == pytest.approx(true, abs=1e-9)
        assert runs["abandoned"][row] == (visits["served"] == 0.0).sum()
        np.testing.assert_allclose(runs["sums"][row, 0], sums_of(visits), rtol=1e-12)


def sums_of(visits: dict[str, Any]) -> list[float]:
    """Return the ``SUMS`` of visits."""
    sums = [float(visits["served"].size)]
    for name in summary.SUMS[1:]:
        sums.append(float(visits[name].sum()))
    return sums


def waits_of(waits: Any) -> Any:
    """Return a table of one cell and one policy."""
    return SimpleNamespace(totals={"waits": waits[None, None, None]}, policies=("own",))


def test_visits_are_summed_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "STEPS_AT_ONCE", 7)
    settings = replace(SETTINGS, horizon=400)
    _, visits = by_hand(Second(), settings, 8)
    runs = rollout(Second(), settings, [8])
    sums = runs["sums"][0]
    waits = runs["total/waits"]
    limits = norm.ppf(np.arange(1, summary.DECILES) / summary.DECILES, scale=np.sqrt(6.5))
    decile = (visits["true_skill"][:, None] > limits).sum(axis=1)
    is_newcomer = visits["newcomer"] == 1.0
    groups = [np.full(is_newcomer.size, True), is_newcomer, ~is_newcomer]
    for k in range(summary.DECILES):
        groups.append(decile == k)
    for k, (group, rows) in enumerate(zip(summary.GROUPS, groups, strict=True)):
        in_group = {name: column[rows] for name, column in visits.items()}
        np.testing.assert_allclose(sums[k], sums_of(in_group), rtol=1e-12)
        assert waits[k].sum() == in_group["waited"].size
        if in_group["waited"].size > 0:
            expected = np.percentile(in_group["waited"], 95, method="inverted_cdf")
            assert summary.long_wait(waits_of(waits), 0, "own", group) == expected
    for games in summary.ERROR_GAMES:
        rows = is_newcomer & (visits["games_played"] == games)
        error = np.nan
        if rows.any():
            error = ((visits["mu"] - visits["true_skill"])[rows] ** 2).mean()
        np.testing.assert_allclose(runs[f"error_{games}"], [error], rtol=1e-12)


def test_parties_have_sums_and_players_who_still_wait_are_counted() -> None:
    settings = replace(SETTINGS, horizon=300, side_size=2, party_sizes=(0.6, 0.4), patience=40.0)
    _, visits = by_hand(Second(), settings, 8)
    runs = rollout(Second(), settings, [8])
    for size in (1, 2):
        rows = visits["party_size"] == size
        in_parties = {name: column[rows] for name, column in visits.items()}
        group = summary.INDEX[f"party_{size}"]
        np.testing.assert_allclose(runs["sums"][0, group], sums_of(in_parties), rtol=1e-12)
        assert runs["total/waits"][group].sum() == rows.sum() > 0
    # Everyone who joined the queue has left it or waits.
    unended = dict(zip(summary.INDEX, runs["unended"][0], strict=False))
    assert unended["all"] == runs["queued"][0] - visits["served"].size > 0
    for groups in (("newcomers", "regulars"), summary.GROUPS[3:], summary.PARTIES[:2]):
        assert sum(unended[group] for group in groups) == unended["all"]


def test_means_of_groups_together_weigh_their_players() -> None:
    settings = replace(SETTINGS, horizon=200, side_size=2, party_sizes=(0.6, 0.4))
    _, visits = by_hand(Second(), settings, 8)
    runs = rollout(Second(), settings, [8])
    arrays = {name: runs[name][None, None, None] for name in ("sums", "unended")}
    totals = {"waits": runs["total/waits"][None, None, None]}
    rows = EpisodeTable((), ("own",), np.zeros((1, 1), np.uint64), arrays, totals, np.zeros((1, 1)))
    served = visits["served"] == 1.0
    expected = {
        "wait": visits["waited"].mean(),
        "left": 1.0 - served.mean(),
        "true_favourite": visits["true_favourite"][served].mean(),
        "spread": visits["spread"][served].mean(),
    }
    for name, value in expected.items():
        mean = summary.group_values(rows, name, 0, "own", "party_1", "party_2")
        np.testing.assert_allclose(mean, [value], rtol=1e-12)
    unended = runs["unended"][0, 0]
    share = summary.group_values(rows, "unended", 0, "own", "newcomers", "regulars")
    np.testing.assert_allclose(share, [unended / (unended + served.size)])
    for probability in (0.5, 0.95):
        quantile = np.percentile(visits["waited"], 100 * probability, method="inverted_cdf")
        groups = ("party_1", "party_2")
        assert summary.wait_quantile(rows, 0, "own", groups, probability) == quantile


def test_means_of_a_group_are_nan_without_visits() -> None:
    sums = np.array([[4.0, 3.0, 10.0, 1.5, 1.2], np.zeros(5)])
    expected = {"left": 0.25, "wait": 2.5, "match_quality": 0.5, "true_match_quality": 0.4}
    for name in summary.MEANS:
        with_visits, without_visits = summary.mean_of(name, sums)
        assert with_visits == pytest.approx(expected[name])
        assert np.isnan(without_visits)
    assert np.isnan(summary.long_wait(waits_of(np.zeros((1, 5))), 0, "own"))


def test_skill_quantiles_of_populations() -> None:
    shares = np.array([0.01, 0.3, 0.5, 0.999])
    normal = NormalPopulation(mean=3.0, deviation=2.0)
    np.testing.assert_allclose(
        summary.skill_quantiles(normal, shares), norm.ppf(shares, 3.0, 2.0), rtol=1e-10
    )
    mu = np.array([-4.0, 0.0, 9.0])
    sigma = np.array([0.5, 1.0, 2.0])
    quantiles = summary.skill_quantiles(RatedPopulation(mu, sigma), shares)
    below = norm.cdf(quantiles[:, None], mu, sigma).mean(axis=1)
    np.testing.assert_allclose(below, shares, rtol=1e-10)
    nearly_equal = NormalPopulation(mean=25.0, deviation=1e-20)
    np.testing.assert_allclose(summary.skill_quantiles(nearly_equal, shares), 25.0, rtol=1e-15)


@pytest.mark.parametrize("action", [6, -1, 0.7, True])
def test_forbidden_actions_are_refused(action: Any) -> None:
    policy = SimpleNamespace(act=lambda *_: np.array([action]))
    with pytest.raises(ValueError, match=r"actions? must be"):
        rollout(policy, SETTINGS, [0])


def test_policies_without_a_method_are_refused() -> None:
    with pytest.raises(ValueError, match="act or predict"):
        rollout(object(), SETTINGS, [0])


def test_loads_by_name_and_rate() -> None:
    assert load_of("thin").options == {"arrival_rate": 0.2}
    for rate, name in (2.5, "2.5"), (3.0, "3"), (0.2000001, "0.2000001"):
        assert (load_of(f"{rate}0").name, load_of(name).options) == (name, {"arrival_rate": rate})
    for bad in ("thinn", "-1", "nan", "0"):
        with pytest.raises(ValueError, match=f"arrival rate > 0, got '{bad}'"):
            load_of(bad)


def test_loads_of_a_day() -> None:
    day = load_of([0.5, 0.5, 2])
    assert day.options == {"arrival_rate": (0.5, 0.5, 2.0)}
    assert day == load_of("[.5, 0.5, 2.0]")
    assert day == load_of((0.5, 0.5, 2.0))
    days = [[0.5, 0.5, 2], [2, 0.5, 0.5], [0.5, 2], [1], [1, 1], [0.3] * 1440, [0.3] * 1441]
    names = {load_of(rates).name for rates in days}
    assert len(names) == len(days)
    assert max(map(len, names)) <= 20
    # Measures of a training have the same names.
    assert QueueSettings(arrival_rate=[0.5, 0.5, 2]).rate_name == day.name
    assert QueueSettings(arrival_rate=0.5).rate_name == "rate_0.5"
    for bad in ("[0, 0]", [0.0], "[1, -1]", "[]", "[[1]]", "[a]", "[1", None):
        with pytest.raises(ValueError, match="load must"):
            load_of(bad)
