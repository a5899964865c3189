"""Evenness of the games of a log, against quadrature and simulated services."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, t
from simulated_logs import simulated
from simulated_service import MODEL as TRUTH
from simulated_service import HiddenWindow, simulated_service

from matchenv.benchmarks.judge import evenness
from matchenv.evaluation.estimates import estimate, ratio_of_means
from matchenv.logs import SmoothedLog, replay_trueskill, smooth
from matchenv.logs.match_log import MatchLog
from matchenv.trueskill import draw_margin_from_probability


def qualities_at(
    log: MatchLog, parameters: dict[str, float]
) -> tuple[evenness.Qualities, SmoothedLog]:
    replay = replay_trueskill(log, **parameters)  # type: ignore[arg-type]
    smoothed = smooth(log, **parameters)  # type: ignore[arg-type]
    return evenness.qualities_of(log, replay, smoothed, parameters), smoothed


def by_quadrature(
    mean: float, variance: float, outcome: int | None, lead: float, noise: float, margin: float
) -> float:
    """Return the mean of exp(-d^2 / (2 noise)) over a belief about the gap d, given an outcome."""
    deviation = np.sqrt(variance)
    spread = np.sqrt(noise)
    gap = np.linspace(mean - 12.0 * deviation, mean + 12.0 * deviation, 4001)
    weight = norm.pdf(gap, mean, deviation)
    if outcome is not None:
        win = norm.sf((margin - gap - lead) / spread)
        loss = norm.cdf((-margin - gap - lead) / spread)
        weight *= {1: win, -1: loss, 0: 1.0 - win - loss}[outcome]
    quality = np.exp(-gap * gap / (2.0 * noise))
    return float(np.trapezoid(weight * quality, gap) / np.trapezoid(weight, gap))


@pytest.mark.parametrize("sizes", [(1,), (1, 2, 3)])
def test_qualities_are_means_over_beliefs(sizes: tuple[int, ...]) -> None:
    log = simulated(12, players=8, sizes=sizes, draws=0.6)
    model = {**TRUTH, "advantage": 2.0, "tau": 0.5, "team_exponent": 0.7}
    qualities, smoothed = qualities_at(log, model)
    before = replay_trueskill(log, **model)  # type: ignore[arg-type]
    for game in range(log.num_games):
        counts = log.team_size[2 * game : 2 * game + 2]
        shares = [float(size) ** -0.7 for size in counts]
        weights = sum(size * share**2 for size, share in zip(counts, shares, strict=True))
        noise = model["beta"] ** 2 * weights
        mean = before.team_mean[2 * game] - before.team_mean[2 * game + 1] - 2.0
        variance = before.team_variance[2 * game : 2 * game + 2].sum() - noise
        believed = by_quadrature(mean, variance, None, 0.0, noise, 0.0)
        assert_allclose(qualities.believed[game], believed, rtol=1e-6)
        assert (qualities.favour[game] > 0.0) == (mean + 2.0 > 0.0)
        starts = log.team_start[2 * game : 2 * game + 3]
        gap = 0.0
        spread = 0.0
        for side, sign in ((0, 1.0), (1, -1.0)):
            members = slice(starts[side], starts[side + 1])
            gap += sign * shares[side] * smoothed.rest_mu[members].sum()
            spread += shares[side] ** 2 * (smoothed.rest_sigma[members] ** 2).sum()
        margin = draw_margin_from_probability(0.1, model["beta"], int(counts.sum()))
        outcome = int(qualities.pairs.outcome[game])
        expected = by_quadrature(gap, spread, outcome, 2.0, noise, margin)
        assert_allclose(qualities.hindsight[game], expected, rtol=1e-6)


def test_favourites_score_less_if_the_matcher_knows_more() -> None:
    """Games matched on hidden skill are more even than believed."""
    for seed in range(2):
        service = simulated_service(HiddenWindow(), 400, seed)
        qualities, _ = qualities_at(service.log, TRUTH)
        favourites = evenness.favourites_of(service.log, qualities)
        assert favourites.verdict == "behind"
        assert favourites.stated.mean > 0.6
        assert abs(favourites.scored.mean - 0.5) < 0.08
        assert qualities.believed.mean() < qualities.hindsight.mean() < service.quality.mean()


def test_groups_by_brute_force() -> None:
    """In games of two and of three players; the quality of a side is the mean over its pairs."""
    rng = np.random.default_rng(3)
    games = []
    scores = []
    for size in [2, 3] * 80:
        players = rng.choice(30, size, replace=False)
        games.append([[f"p{k}"] for k in players])
        scores.append(rng.permutation(size).tolist())
    log = MatchLog.from_games(games, scores)
    qualities, smoothed = qualities_at(log, TRUTH)
    sides = np.arange(log.num_teams)[:, None]
    is_in_pair = (qualities.pairs.first == sides) | (qualities.pairs.second == sides)
    hindsight = is_in_pair @ qualities.hindsight / is_in_pair.sum(axis=1)
    believed = is_in_pair @ qualities.believed / is_in_pair.sum(axis=1)
    masks = evenness.groups_of(log, smoothed.mu)
    played = dict.fromkeys(range(log.num_players), 0)
    for entry, player in enumerate(log.player.tolist()):
        assert masks["newcomers"][entry] == (played[player] < evenness.NEWCOMER_GAMES)
        assert masks["regulars"][entry] != masks["newcomers"][entry]
        played[player] += 1
    tenths = np.stack([masks[f"decile_{k}"] for k in range(1, 11)])
    assert (tenths.sum(axis=0) == 1).all()
    assert (tenths.sum(axis=1) == 40).all()
    for weaker, stronger in itertools.pairwise(tenths):
        assert smoothed.mu[weaker].max() <= smoothed.mu[stronger].min()
    rows = {row.group: row for row in evenness.group_evenness(log, qualities, smoothed.mu)}
    for group, mask in masks.items():
        assert rows[group].parts == mask.sum()
        assert_allclose(rows[group].hindsight.mean, hindsight[mask].mean())
        assert_allclose(rows[group].believed.mean, believed[mask].mean())
    assert rows["all"].verdict == ""


def test_a_group_in_few_blocks_has_a_wider_interval_or_no_row() -> None:
    """Two players have all their games as newcomers in the first block of 400 games."""
    rng = np.random.default_rng(5)
    names = [[["a"], ["b"]] for _ in range(400)]
    log = MatchLog.from_games(names, rng.permuted([[0, 1]] * 400, axis=1).tolist())
    qualities, _ = qualities_at(log, TRUTH)
    # The strongest tenth lies in 6 of the 40 blocks.
    skill = (log.entry_game // 10 % 7 == 1) + 0.01 * rng.random(800)
    rows = {row.group: row for row in evenness.group_evenness(log, qualities, skill)}
    assert "newcomers" not in rows
    few = rows["decile_10"].difference
    mask = evenness.groups_of(log, skill)["decile_10"]
    assert evenness.effective_blocks(mask, log.entry_game // 10) == 6
    assert few.half_width == pytest.approx(t.ppf(0.975, 5) * few.standard_error)
    for values, record in ((qualities.hindsight, "hindsight"), (qualities.believed, "believed")):
        spread = evenness.block_values(values[log.entry_game], mask, log.entry_game // 10).std()
        expected = t.ppf(0.975, 5) * spread / np.sqrt(40.0) * np.sqrt(6 / 5)
        assert rows["decile_10"][record].half_width == pytest.approx(expected)


def test_block_values_have_the_error_of_a_ratio() -> None:
    rng = np.random.default_rng(0)
    block = np.sort(rng.integers(0, 40, 1000))
    values = rng.normal(size=1000)
    mask = rng.random(1000) < 0.4
    above = np.bincount(block[mask], values[mask], 40)
    below = np.bincount(block[mask], minlength=40).astype(float)
    ours = estimate(evenness.block_values(values, mask, block))
    theirs = ratio_of_means(above, below)
    assert_allclose([ours.mean, ours.standard_error], [theirs.mean, theirs.standard_error])


def test_new_players_have_no_favourites() -> None:
    games = [[[f"a{k}"], [f"b{k}"]] for k in range(5)]
    log = MatchLog.from_games(games, [[1, 0]] * 5)
    qualities, _ = qualities_at(log, TRUTH)
    assert evenness.favourites_of(log, qualities).pairs == 0
    # Random pairs exist for one pair of names too.
    twice = MatchLog.from_games([[["a"], ["b"]]] * 2, [[1, 0]] * 2)
    qualities, _ = qualities_at(twice, TRUTH)
    assert 0.0 < qualities.strangers < 1.0
