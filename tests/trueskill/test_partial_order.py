"""Places known only in part: quadrature, full orders, and cases that are exact."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from refusals import refusals
from scipy.special import ndtr
from scipy.stats import truncnorm

from matchenv.trueskill import TrueSkill, first_place_probability, rate
from matchenv.trueskill.partial_order import known_comparisons, rate_partial_order
from matchenv.trueskill.sides import TABLE_ROWS, Constants, Teams, log_ranking_evidence, rate_sides
from matchenv.trueskill.teams import as_places

Floats = NDArray[np.float64]

BETA = 25.0 / 6.0
PRIOR = (25.0, 25.0 / 3.0)
MARGIN = 0.7


@dataclass
class Game:
    """Three players with beliefs, of whom one is compared with both others.

    ``ranks`` says for each of the others whether it is better (+1) or worse (-1) than the player
    in the centre, or drew with it (0).
    """

    mu: Floats
    sigma: Floats
    centre: int
    others: dict[int, int]

    def posterior(self) -> tuple[Floats, Floats]:
        """Return means and deviations of the skills by quadrature over the centre's performance."""
        deviation = np.sqrt(self.sigma**2 + BETA**2)
        x = self.mu[self.centre] + deviation[self.centre] * np.linspace(-12.0, 12.0, 20001)
        weight = np.exp(-0.5 * ((x - self.mu[self.centre]) / deviation[self.centre]) ** 2)
        moments = {side: self.moments_of(side, x, deviation[side]) for side in self.others}
        one, other = moments
        total = np.sum(weight * moments[one][0] * moments[other][0])
        mean = np.empty(3)
        square = np.empty(3)
        for side, rival in ((one, other), (other, one)):
            shared = weight * moments[rival][0]
            mean[side] = np.sum(shared * moments[side][1]) / total
            square[side] = np.sum(shared * moments[side][2]) / total
        shared = weight * moments[one][0] * moments[other][0]
        centred = x - self.mu[self.centre]
        mean[self.centre] = np.sum(shared * centred) / total
        square[self.centre] = np.sum(shared * centred**2) / total
        # From performances, as moments about the prior mean, to skills.
        share = self.sigma**2 / deviation**2
        variance = square - mean**2
        skill_variance = self.sigma**2 * (1.0 - share) + share**2 * variance
        return self.mu + share * mean, np.sqrt(skill_variance)

    def moments_of(self, side: int, x: Floats, deviation: float) -> tuple[Floats, Floats, Floats]:
        """Return partial moments 0 to 2 of a performance, about its prior mean, for each x."""
        direction = self.others[side]
        low, high = {
            1: (x + MARGIN, np.full(x.size, np.inf)),
            0: (x - MARGIN, x + MARGIN),
            -1: (np.full(x.size, -np.inf), x - MARGIN),
        }[direction]
        z_low = (low - self.mu[side]) / deviation
        z_high = (high - self.mu[side]) / deviation
        mass = ndtr(z_high) - ndtr(z_low)
        density_low = np.exp(-0.5 * z_low**2) / math.sqrt(2.0 * math.pi)
        density_high = np.exp(-0.5 * z_high**2) / math.sqrt(2.0 * math.pi)
        edge_low = np.where(np.isfinite(z_low), z_low, 0.0) * density_low
        edge_high = np.where(np.isfinite(z_high), z_high, 0.0) * density_high
        first = deviation * (density_low - density_high)
        second = deviation**2 * (mass + edge_low - edge_high)
        return mass, first, second

    def error(self, ranks: list) -> float:
        """Return the largest error of ``rate`` in posterior deviations."""
        teams = [[(mu, sigma)] for mu, sigma in zip(self.mu, self.sigma, strict=True)]
        rated = np.array(rate(teams, ranks, beta=BETA, draw_margin=MARGIN)).reshape(3, 2)
        mean, deviation = self.posterior()
        errors = np.abs(rated - np.column_stack((mean, deviation))) / deviation[:, None]
        return float(errors.max())


def random_beliefs(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.normal(25.0, 6.0, 3), rng.uniform(1.0, 25.0 / 3.0, 3)


def test_three_sides_against_quadrature() -> None:
    """Full orders and partial orders have errors of the same size, below 2 % of a deviation."""
    rng = np.random.default_rng(4)
    errors: dict[str, list[float]] = {"full order": [], "one winner": [], "one loser": []}
    for _ in range(200):
        beliefs = random_beliefs(rng)
        full_order = Game(*beliefs, centre=1, others={0: 1, 2: -1})
        errors["full order"].append(full_order.error([1, 2, 3]))
        winner = Game(*beliefs, centre=0, others={1: -1, 2: -1})
        errors["one winner"].append(winner.error([1, (2, 3), (2, 3)]))
        loser = Game(*beliefs, centre=2, others={0: 1, 1: 1})
        errors["one loser"].append(loser.error([(1, 2), (1, 2), 3]))
    assert np.max(errors["full order"]) < 0.01
    for order in ("one winner", "one loser"):
        assert np.max(errors[order]) < 0.02
        assert np.mean(errors[order]) < 3.0 * np.mean(errors["full order"])


def test_a_cycle_of_comparisons_against_quadrature() -> None:
    """Two sides beat two others: integrate over the performances of the winners on a grid."""
    rng = np.random.default_rng(6)
    largest = 0.0
    for _ in range(40):
        mu = rng.normal(25.0, 6.0, 4)
        sigma = rng.uniform(1.0, 25.0 / 3.0, 4)
        deviation = np.sqrt(sigma**2 + BETA**2)
        z = np.linspace(-7.0, 7.0, 561)
        density = np.exp(-0.5 * z**2)
        x = mu[:, None] + deviation[:, None] * z
        level = np.minimum.outer(x[0], x[1]) - MARGIN
        weight = np.multiply.outer(density, density)
        for loser in (2, 3):
            weight *= ndtr((level - mu[loser]) / deviation[loser])
        teams = [[(mean, spread)] for mean, spread in zip(mu, sigma, strict=True)]
        rated = rate(teams, [(1, 2), (1, 2), (3, 4), (3, 4)], beta=BETA, draw_margin=MARGIN)
        for winner in (0, 1):
            marginal = weight.sum(axis=1 - winner)
            marginal /= marginal.sum()
            mean = np.sum(marginal * z)
            variance = np.sum(marginal * (z - mean) ** 2)
            share = sigma[winner] ** 2 / deviation[winner] ** 2
            exact = mu[winner] + share * deviation[winner] * mean
            spread = sigma[winner] * math.sqrt(1.0 - share + share * variance)
            belief = rated[winner][0]
            largest = max(largest, abs(belief.mu - exact) / spread, abs(belief.sigma / spread - 1))
    assert largest < 0.04


@pytest.mark.parametrize("ranks", [[1, (2, 3), (2, 3)], [(1, 2), 3, (1, 2)]])
def test_a_side_of_certain_performance_leaves_independent_comparisons(ranks: list) -> None:
    """Then each other side has a truncated normal, which message passing finds exactly."""
    (centre,) = [side for side, rank in enumerate(ranks) if isinstance(rank, int)]
    teams = [[(28.0, 6.0)], [(24.0, 3.0)], [(19.0, 7.0)]]
    weights = [[1.0], [1.0], [1.0]]
    weights[centre] = [1e-6]
    rated = rate(teams, ranks, beta=BETA, draw_margin=MARGIN, weights=weights)
    level = 1e-6 * teams[centre][0][0]
    for side in {0, 1, 2} - {centre}:
        mu, sigma = teams[side][0]
        spread = math.sqrt(sigma**2 + BETA**2)
        low = -math.inf
        high = (level - MARGIN - mu) / spread
        if centre == 1:
            low = (level + MARGIN - mu) / spread
            high = math.inf
        performance = truncnorm(low, high, mu, spread)
        share = sigma**2 / spread**2
        mean = mu + share * (performance.mean() - mu)
        variance = sigma**2 * (1.0 - share) + share**2 * performance.var()
        assert rated[side][0] == pytest.approx((mean, math.sqrt(variance)), rel=1e-8)


def test_one_known_pair_is_a_game_of_two() -> None:
    teams = [[PRIOR], [(30.0, 2.0), (10.0, 3.0)], [(20.0, 5.0)]]
    game = {"beta": BETA, "tau": 0.5, "draw_probability": 0.1}
    first, middle, last = rate(teams, [1, (1, 3), 3], **game)
    assert [first, last] == [
        [pytest.approx(belief, rel=1e-13) for belief in side]
        for side in rate([teams[0], teams[2]], [1, 3], **game)
    ]
    # Nothing is known about the side in the middle, so its beliefs only drift.
    for (mu, sigma), (new_mu, new_sigma) in zip(teams[1], middle, strict=True):
        assert new_mu == mu
        assert new_sigma == pytest.approx(math.hypot(sigma, 0.5), rel=1e-15)


def test_an_interval_of_one_place_is_that_place() -> None:
    teams = [[PRIOR], [(30.0, 2.0)], [(20.0, 5.0)]]
    expected = rate(teams, [1, 2, 2], beta=BETA, draw_margin=1.0)
    assert rate(teams, [1, (2, 2), [2, 2]], beta=BETA, draw_margin=1.0) == expected
    intervals = np.array([(1, 1), (2, 2), (2, 2)])
    assert rate(teams, intervals, beta=BETA, draw_margin=1.0) == expected  # type: ignore[arg-type]
    # Only the places' order matters.
    far = rate(teams, [-3.5, (1e9, 1e10), (1e9, 1e10)], beta=BETA)
    assert far == rate(teams, [1, (2, 3), (2, 3)], beta=BETA)
    assert TrueSkill(tau=0.0, draw_probability=0.0).rate(teams, [1, (2, 3), (2, 3)]) == far


def test_unknown_order_needs_no_draw_margin() -> None:
    teams = [[PRIOR]] * 3
    rate(teams, [1, (2, 3), (2, 3)], beta=BETA)
    with pytest.raises(ValueError, match="ranks must not be equal"):
        rate(teams, [(1, 2), 3, 3], beta=BETA)


def test_losers_of_unknown_order_are_rated_alike_and_keep_more_uncertainty_than_draws() -> None:
    teams = [[PRIOR]] * 5
    unknown = rate(teams, [1, *[(2, 5)] * 4], beta=BETA, draw_probability=0.1)
    drawn = rate(teams, [1, 2, 2, 2, 2], beta=BETA, draw_probability=0.1)
    for (loser,) in unknown[1:]:
        assert loser == pytest.approx(unknown[1][0], abs=1e-6)
        assert loser.mu < PRIOR[0] < unknown[0][0].mu
    for (loser,), (drawn_loser,) in zip(unknown[1:], drawn[1:], strict=True):
        assert loser.sigma > drawn_loser.sigma


full_orders = st.lists(st.integers(0, 4), min_size=2, max_size=7)


@given(full_orders, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_full_orders_equal_the_chain_of_neighbours(ranks: list[int], seed: int) -> None:
    """Both kernels find the fixed point of the same messages, and the same evidence."""
    rng = np.random.default_rng(seed)
    places, _ = as_places(ranks, len(ranks))
    sizes = rng.integers(1, 4, len(ranks))
    mu = rng.normal(25.0, 8.0, sizes.sum())
    sigma = rng.uniform(0.5, 9.0, mu.size)
    weight = rng.uniform(0.1, 1.0, mu.size)
    start = np.concatenate(([0], np.cumsum(sizes)))
    model = Constants(4.0, 0.1, 0.7, True, 1e-12, 1000)
    chain = Teams(mu.copy(), sigma.copy(), weight, start)
    graph = Teams(mu.copy(), sigma.copy(), weight, start)
    table = np.empty((TABLE_ROWS, len(ranks)))
    rate_sides(chain, places, model, table)
    _, log_evidence = rate_partial_order(graph, places, places, model)
    np.testing.assert_allclose(graph.mu, chain.mu, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(graph.sigma, chain.sigma, rtol=1e-9)
    assert log_evidence == pytest.approx(log_ranking_evidence(table, len(ranks)), abs=1e-9)


def test_the_evidence_of_a_winner_is_the_probability_of_the_first_place() -> None:
    """The evidence is approximate, like the beliefs; a mistake in a term would cost far more."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        mu, sigma = random_beliefs(rng)
        teams = [[(mean, deviation)] for mean, deviation in zip(mu, sigma, strict=True)]
        exact = first_place_probability(teams, BETA, draw_margin=MARGIN)[0]
        players = Teams(mu.copy(), sigma.copy(), np.ones(3), np.arange(4))
        model = Constants(BETA, 0.0, MARGIN, False, 1e-9, 100)
        places = as_places([1, (2, 3), (2, 3)], 3)
        _, log_evidence = rate_partial_order(players, *places, model)
        assert math.exp(log_evidence) == pytest.approx(exact, rel=0.03)


intervals = st.tuples(st.integers(0, 6), st.integers(0, 3)).map(lambda x: (x[0], x[0] + x[1]))


def implied_pairs(pairs: set[tuple[int, int]], sides: int) -> set[tuple[int, int]]:
    """Return all pairs (better, worse) that follow from some of them."""
    closure = set(pairs)
    for via, better, worse in itertools.product(range(sides), repeat=3):
        if (better, via) in closure and (via, worse) in closure:
            closure.add((better, worse))
    return closure


@given(st.lists(intervals, min_size=2, max_size=8))
def test_comparisons_imply_all_known_orders_and_none_is_implied(
    ranks: list[tuple[int, int]],
) -> None:
    first, last = as_places(ranks, len(ranks))
    sides, drawn = known_comparisons(first, last)
    pairs = set(zip(*sides.tolist(), strict=True))
    draws = set(zip(*sides[:, drawn == 1.0].tolist(), strict=True))
    expected = set()
    expected_draws = set()
    for one, other in itertools.permutations(range(len(ranks)), 2):
        if ranks[one][1] < ranks[other][0]:
            expected.add((one, other))
        is_single = ranks[one][0] == ranks[one][1]
        if one < other and is_single and ranks[one] == ranks[other]:
            expected_draws.add((one, other))
    closure = implied_pairs(pairs, len(ranks))
    assert len(pairs) == drawn.size
    assert closure >= expected
    # A path through draws alone is a draw.
    assert implied_pairs(draws, len(ranks)) == expected_draws
    assert closure == expected | expected_draws
    for pair in pairs:
        assert pair not in implied_pairs(pairs - {pair}, len(ranks))


test_bad_places_raise = refusals(
    ([1, (3, 2)], r"ranks\[1\] must be an interval .* with first <= last, got \(3, 2\)"),
    ([1, (2, 3, 4)], r"ranks\[1\] must be a number or \(first, last\)"),
    ([1, ()], r"ranks\[1\] must be a number or"),
    ([(1, 2)], "ranks must have one number or interval for each of 2 sides"),
    ([1, (2, 3), (2, 3)], "ranks must have one number or interval for each of 2 sides"),
    ([1, (2, math.nan)], "first and last places of ranks must be finite"),
    ([1, (2, "3")], "first and last places of ranks must hold real numbers"),
    ([1, (2, (3, 4))], "first and last places of ranks must hold real numbers"),
    call=lambda ranks: rate([[PRIOR]] * 2, ranks, beta=BETA),
)
