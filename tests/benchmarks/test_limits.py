"""Bound and optimum against brute force and recursions from the papers' formulas."""

import itertools
import math
from copy import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dense_belief import DenseBelief
from scipy.integrate import quad
from scipy.stats import binom, norm, truncnorm

from matchenv.baselines import DrawChance
from matchenv.belief.knowledge import KnowledgeState
from matchenv.benchmarks.limits import fair_charges as fair
from matchenv.benchmarks.limits import optimum as exact
from matchenv.benchmarks.limits.bound import (
    PATHS_AT_ONCE,
    bounds_of,
    paths_of,
    run_bound,
    table_text,
)
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime.jobs import RunOptions

ONE = RunOptions(workers=1, quiet=True)
BETA = 1.3
NOISE = math.sqrt(2.0) * BETA
# Player 0 first. The second opponent is likelier to be even, the first is more uncertain.
MU = np.array([0.3, -1.4, 1.2])
SIGMA = np.array([1.1, 1.9, 0.8])


def true_q(gap: Any) -> Any:
    return norm.pdf(gap, scale=NOISE)


def win(gap: Any) -> Any:
    return norm.cdf(gap / NOISE)


class GridBelief:
    """Two opponents by exact Bayes on grids, for a known skill of player 0; as ``DenseBelief``."""

    mu = MU

    def __init__(self, skill_0: float) -> None:
        nodes, mass = np.polynomial.hermite_e.hermegauss(60)
        self.gaps = skill_0 - MU[:, None] - SIGMA[:, None] * nodes
        self.masses = np.tile(mass / mass.sum(), (3, 1))

    def density(self, j: int) -> float:
        return float(self.masses[j] @ true_q(self.gaps[j]))

    def after(self, j: int) -> dict[int, tuple[float, Any]]:
        results = {}
        for outcome in (1, -1):
            joint = self.masses[j] * win(outcome * self.gaps[j])
            belief = copy(self)
            belief.masses = self.masses.copy()
            belief.masses[j] = joint / joint.sum()
            results[outcome] = (float(joint.sum()), belief)
        return results


def known_kinds(skill_0: float, mu: Any, sigma: Any, games: int, depth: int) -> fair.Kinds:
    """One kind for each opponent, for a given skill of player 0."""
    means = skill_0 - np.asarray(mu)
    gaps = fair.grid_of_gaps(float(np.abs(means).max()), float(np.max(sigma)), BETA, depth)
    return fair.kinds_of(gaps, fair.weights_of(gaps, means, np.square(sigma)), BETA, games, depth)


def themselves(opponents: int, paths: int = 1) -> fair.Interpolation:
    """Opponents that equal the kinds."""
    nodes = np.tile(np.arange(opponents), paths)[:, None]
    return fair.Interpolation(nodes, np.ones(nodes.shape))


def payments_of_all(skill_0: float, games: int) -> tuple[Any, Any, Any]:
    """Payments of two opponents, the outcomes and their probabilities, for all outcomes."""
    results = np.array(list(itertools.product((True, False), repeat=games)))
    belief = GridBelief(skill_0)
    first = likelihoods(belief, 1, results)
    second = likelihoods(belief, 2, results)
    probabilities = np.outer(first, second).ravel()
    result_1, result_2 = np.indices((len(results), len(results))).reshape(2, -1)
    won = np.stack([results[result_1], results[result_2]], axis=1)
    kinds = known_kinds(skill_0, MU[1:], SIGMA[1:], games, games)
    # Skills are only used after the depth, which is the number of games here.
    densities = np.zeros((len(won), 2))
    return fair.payments_of(kinds, themselves(2, len(won)), won, densities), won, probabilities


def likelihoods(belief: GridBelief, j: int, results: Any) -> Any:
    """Probabilities of some results of all games against an opponent, shape (results,)."""
    chance = win(belief.gaps[j])
    of_game = np.where(results[:, :, None], chance, 1.0 - chance)
    return of_game.prod(axis=1) @ belief.masses[j]


def first_opponent(history: list[tuple[int, bool]]) -> int:
    return 0


def alternating(history: list[tuple[int, bool]]) -> int:
    return len(history) % 2


def next_after_win(history: list[tuple[int, bool]]) -> int:
    if not history:
        return 0
    opponent, won = history[-1]
    if won:
        return 1 - opponent
    return opponent


def next_after_loss(history: list[tuple[int, bool]]) -> int:
    if not history:
        return 1
    opponent, won = history[-1]
    if won:
        return opponent
    return 1 - opponent


class TestBruteForce:
    @pytest.mark.parametrize(("skill_0", "games"), [(0.2, 1), (-1.0, 3), (2.0, 4)])
    def test_the_bound_is_slightly_above_the_optimum(self, skill_0, games):
        optimum = value(GridBelief(skill_0), games)
        payments, _, probabilities = payments_of_all(skill_0, games)
        bound = float(probabilities @ [fair.best_split(path) for path in payments])
        assert optimum - 1e-9 <= bound < 1.01 * optimum

    @pytest.mark.parametrize("rule", [first_opponent, alternating, next_after_win, next_after_loss])
    def test_payments_have_the_mean_of_the_policys_true_q(self, rule):
        """For policies that depend on outcomes, by exact Bayes."""
        skill_0 = -0.5
        games = 3
        paid = 0.0
        true_q_of_policy = 0.0
        for payments, results, probability in zip(*payments_of_all(skill_0, games), strict=True):
            counts = [0, 0]
            history: list[tuple[int, bool]] = []
            belief = GridBelief(skill_0)
            for _ in range(games):
                j = rule(history)
                won = bool(results[j, counts[j]])
                true_q_of_policy += probability * belief.density(j + 1)
                outcome = {True: 1, False: -1}[won]
                _, belief = belief.after(j + 1)[outcome]
                history.append((j, won))
                counts[j] += 1
            paid += probability * (payments[0, counts[0]] + payments[1, counts[1]])
        # Interpolation between prices makes them slightly too high, never too low.
        assert true_q_of_policy - 1e-7 <= paid < true_q_of_policy + 1e-4 * games


class TestParts:
    def test_expectations_against_quadrature(self):
        skill_0 = 0.4
        horizon = 500
        depth = 100
        gaps = fair.grid_of_gaps(skill_0 - MU[1], SIGMA[1], BETA, horizon)
        weights = fair.weights_of(gaps, skill_0 - MU[1:2], SIGMA[1:2] ** 2)
        actual = fair.kinds_of(gaps, weights, BETA, horizon, depth)
        fine = np.linspace(-20.0, 15.0, 100_001)
        prior = norm.pdf(fine, MU[1], SIGMA[1])
        chance = win(skill_0 - fine)
        for n, w in ((0, 0), (1, 1), (3, 1), (60, 42), (99, 61), (99, 99)):
            posterior = prior * binom.pmf(w, n, chance)
            posterior /= posterior.sum()
            record = fair.first_record(n) + w
            assert actual.chances[0, record] == pytest.approx(posterior @ chance, rel=1e-6)
            density = posterior @ true_q(skill_0 - fine)
            assert actual.densities[0, record] == pytest.approx(density, rel=1e-6)

    def test_the_gain_for_a_known_skill_is_an_integral(self):
        horizon = 300
        gaps = fair.grid_of_gaps(0.4 - MU[1], SIGMA[1], BETA, depth=40)
        # With no game before the skill is known, the gain is one integral.
        densities = true_q(gaps)
        (weights,) = fair.weights_of(gaps, 0.4 - MU[1:2], SIGMA[1:2] ** 2)
        for price in (0.01, 0.05, 0.11, 0.137, 0.2):
            actual = float(weights @ fair.part_above(densities, price))
            crossing = NOISE * math.sqrt(-2.0 * math.log(price * NOISE * math.sqrt(2.0 * math.pi)))
            points = [0.4 - crossing, 0.4 + crossing]
            expected = quad(
                lambda s, price=price: (
                    max(0.0, true_q(0.4 - s) - price) * norm.pdf(s, MU[1], SIGMA[1])
                ),
                -14,
                12,
                points=points,
                limit=200,
            )[0]
            assert horizon * actual == pytest.approx(horizon * expected, abs=2e-3)

    def test_opponents_between_kinds_are_interpolated(self):
        """Bounds and payments of paths, with and without interpolation."""
        rng = np.random.default_rng(3)
        opponents = 8
        horizon = 100
        depth = 50
        kinds = fair.informed_kinds(BETA, horizon, depth)
        differences = []
        for _ in range(12):
            gaps = rng.uniform(-6, 6, opponents)
            variances = rng.uniform(2, 3, opponents)
            skills = -gaps + np.sqrt(variances) * rng.standard_normal(opponents)
            won = rng.random((1, opponents, horizon)) < win(-skills)[:, None]
            # Kinds depend on the distance only.
            exchanged = won ^ (gaps < 0.0)[:, None]
            interpolation = fair.interpolation_by_gap(gaps, variances)
            assert interpolation.shares.sum(axis=1) == pytest.approx(np.ones(opponents))
            densities = true_q(skills)[None]
            (actual,) = fair.payments_of(kinds, interpolation, exchanged, densities)
            exact_kinds = known_kinds(0.0, -gaps, np.sqrt(variances), horizon, depth)
            (expected,) = fair.payments_of(exact_kinds, themselves(opponents), won, densities)
            bound = fair.best_split(actual) - fair.best_split(expected)
            farthest = np.argsort(-np.abs(gaps), kind="stable")[-2:]
            payments = actual[farthest, 50] - expected[farthest, 50]
            differences.append([bound, *payments])
        moved = np.abs(differences).max(axis=0)
        assert moved[0] < 0.005
        assert moved[1:].max() < 0.02
        assert np.abs(np.mean(differences, axis=0)).max() < 0.002

    def test_sides_are_interpolated_in_the_variance(self):
        """With equal priors, whose rank of player 0 reveals which hidden means are higher."""
        settings = Settings.checked(
            num_opponents=3, horizon=60, beta=BETA, prior="equal", rank=1, noise="opponent"
        )
        variances = np.array([2.1, 2.6, 2.9])
        sides = np.array([[-1, 1, -1], [1, 1, -1]])
        skill_0 = np.array([0.8, -0.3])
        mu_0 = np.array([0.5, 0.0])
        players = np.zeros((2, 4, 3))
        players[:, 0, 2] = skill_0
        players[:, 0, 0] = mu_0
        players[:, 1:, 0] = mu_0[:, None] + sides
        players[:, 1:, 1] = np.sqrt(variances)
        kinds, interpolation, exchanged = fair.opponents_of(settings, 10, players)
        assert not exchanged.any()
        gaps = fair.grid_of_gaps(0.8, math.sqrt(7.0), BETA, 10)
        for e in range(2):
            weights = fair.uninformed_weights(
                gaps, np.full(3, skill_0[e]), np.full(3, mu_0[e]), sides[e], variances
            )
            expected = fair.kinds_of(gaps, weights, BETA, 60, 10).charges
            rows = slice(3 * e, 3 * e + 3)
            shares = interpolation.shares[rows]
            actual = np.einsum("ja,jas->js", shares, kinds.charges[interpolation.nodes[rows]])
            assert np.abs(actual - expected).max() < 5e-4

    @pytest.mark.parametrize(("side", "mu_0"), [(-1, 1.0), (1, 1.0), (-1, -3.0), (0, 1.0)])
    def test_hidden_means_are_truncated_at_player_0(self, side, mu_0):
        sigma = np.array([1.5, 1.6])
        gaps = np.linspace(-20.0, 20.0, 401)
        skills = 0.7 - gaps
        weights = fair.uninformed_weights(
            gaps, np.full(2, 0.7), np.full(2, mu_0), np.full(2, side), sigma**2
        )
        ends = {-1: (-math.inf, mu_0 / 2.0), 1: (mu_0 / 2.0, math.inf), 0: (-math.inf, math.inf)}
        mean, variance = truncnorm.stats(*ends[side], scale=2.0, moments="mv")
        actual = (weights * skills).sum(axis=1)
        spread = (weights * skills**2).sum(axis=1) - actual**2
        assert actual == pytest.approx(np.full(2, mean), abs=1e-6)
        assert spread == pytest.approx(variance + sigma**2, rel=1e-6)

    @pytest.mark.parametrize("prior", ["informative", "equal"])
    def test_policies_and_bound_share_outcomes(self, prior):
        settings = Settings.checked(
            num_opponents=4, horizon=20, prior=prior, rank=1, noise="opponent"
        )
        players, won = paths_of(settings, episode_seeds(3, 5, 6))
        episodes = Episodes.of_seeds(OnePlayer(settings), episode_seeds(3, 5, 6))
        games = np.zeros((6, 4), dtype=int)
        rng = np.random.default_rng(0)
        for _ in range(20):
            chosen = rng.integers(4, size=6)
            episodes.step(chosen, strict=True)
            infos = episodes.simulator.infos(episodes.state)
            skill_0 = players[:, 0, 2]
            skill_j = np.take_along_axis(players[:, 1:, 2], chosen[:, None], axis=1)[:, 0]
            density = norm.pdf(skill_0 - skill_j, scale=math.sqrt(2.0) * settings.beta)
            assert infos["true_draw_density"] == pytest.approx(density)
            for e, j in enumerate(chosen):
                assert won[e, j, games[e, j]] == infos["won"][e]
                games[e, j] += 1


class TestRuns:
    def test_no_policy_exceeds_the_bound(self):
        bounds = run_bound(
            ["random", "kg:multiplier=3", "optimistic:belief=full"],
            ranks=["top", "middle", None],
            episodes=100,
            seed=4,
            env_kwargs={"num_opponents": 4, "horizon": 8},
            run=ONE,
        )
        for cell in bounds.cells:
            # Significantly tighter than the oracle.
            assert cell.saved.mean > 4.0 * cell.saved.standard_error, cell.title
            for policy in cell.policies:
                assert policy.room.mean > -4.0 * policy.room.standard_error, policy.policy
            # The nearer to the bound, the greater the share.
            nearest_first = sorted(cell.policies, key=lambda policy: policy.room.mean)
            shares = [policy.share.mean for policy in nearest_first]
            assert shares == sorted(shares, reverse=True)
            (drawchance,) = (p for p in cell.policies if p.policy == "drawchance")
            assert drawchance.share.mean == drawchance.share.low == drawchance.share.high == 0.0
            for policy in cell.policies:
                share = 1.0 - policy.room.mean / drawchance.room.mean
                assert policy.share.mean == pytest.approx(share, abs=1e-12)
                if policy is not drawchance:
                    assert policy.share.low < share < policy.share.high
            tables = [line for line in table_text(bounds).splitlines() if "[" in line]
            assert max(map(len, tables)) <= 80

    def test_paths_depend_only_on_their_episode(self):
        settings = Settings.checked(
            num_opponents=3, horizon=6, prior="equal", rank="top", noise="opponent"
        )
        many = episode_seeds(1, 0, PATHS_AT_ONCE + 3)
        games = np.full((1, len(many), 3), 2, dtype=np.int32)
        whole = bounds_of(settings, many, 5, games)
        for episodes in (slice(4), slice(PATHS_AT_ONCE - 2, None)):
            fewer = bounds_of(settings, many[episodes], 5, games[:, episodes])
            for name, values in fewer.items():
                assert np.array_equal(values, whole[name][episodes]), name


POLICIES = ("pe", "drawchance", "kg", "kg:multiplier=2", "kg:finite_horizon=true", "optimistic")


def value(belief: Any, games: int, policy: Any = None, truth: Any = None) -> float:
    """Value of a policy, or of the optimum without one, by plain recursion.

    With ``truth``, the belief of who knows all skills, it is the expected sum of true q.
    """
    if games == 0:
        return 0.0
    choices = list(range(1, belief.mu.size))
    if policy is not None:
        choices = [policy(belief) + 1]
    seen = truth or belief
    values = []
    for j in choices:
        total = seen.density(j)
        for outcome, (_, after) in belief.after(j).items():
            probability, _ = seen.after(j)[outcome]
            total += probability * value(after, games - 1, policy, truth)
        values.append(total)
    return max(values)


def by_hand(prior: tuple[Any, Any], settings: Settings) -> list[DenseBelief]:
    """The beliefs of ``random_prior`` with dense covariances."""
    beliefs = []
    for mu, sigma in zip(*prior, strict=True):
        covariance = np.diag(sigma**2)
        game = (settings.beta, settings.draw_margin, settings.belief)
        beliefs.append(DenseBelief(mu, covariance, *game))
    return beliefs


def random_prior(opponents: int, count: int = 3, seed: int = 5) -> tuple[Any, Any]:
    """Means and deviations, shape (count, opponents + 1)."""
    rng = np.random.default_rng(seed)
    mu = 2.0 * rng.standard_normal((count, opponents + 1))
    return mu, rng.uniform(1.0, 2.0, mu.shape)


def settings_of(opponents: int, games: int, belief: str, **options: Any) -> Settings:
    return Settings.checked(num_opponents=opponents, horizon=games, belief=belief, **options)


def rule_by(policy: Any, settings: Settings, label: str = "mine") -> Any:
    return exact.rule_of(Candidate(label, policy, label), settings)


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("draw_margin", [0.0, 0.7])
class TestByHand:
    def test_optimum(self, belief, draw_margin):
        settings = settings_of(2, 3, belief, beta=1.3, draw_margin=draw_margin)
        mu, sigma = random_prior(2)
        prior = KnowledgeState.of_prior(mu, sigma, belief)
        actual = exact.choice_values(prior, 3, settings.constants).max(axis=1)
        expected = [value(dense, 3) for dense in by_hand((mu, sigma), settings)]
        assert actual == pytest.approx(expected, rel=1e-11)

    def test_drawchance(self, belief, draw_margin):
        settings = settings_of(3, 4, belief, draw_margin=draw_margin)
        mu, sigma = random_prior(3)
        prior = KnowledgeState.of_prior(mu, sigma, belief)
        skills = np.random.default_rng(1).standard_normal((3, 2, 4))
        rule = rule_by(DrawChance(belief=belief), settings)
        first, actual, true_q = exact.follow(rule, prior, skills, settings)
        beliefs = by_hand((mu, sigma), settings)
        expected = [value(dense, 4, densest) for dense in beliefs]
        assert actual == pytest.approx(expected, rel=1e-11)
        assert first.tolist() == [densest(dense) for dense in beliefs]
        for (b, t), value_of_truth in np.ndenumerate(true_q):
            truth = DenseBelief(skills[b, t], np.zeros((4, 4)), *beliefs[b].game)
            expected_value = value(beliefs[b], 4, densest, truth)
            assert value_of_truth == pytest.approx(expected_value, rel=1e-10)


def densest(belief: DenseBelief) -> int:
    return int(belief.densities.argmax())


class TestProperties:
    @pytest.mark.parametrize("belief", ["factorised", "full"])
    def test_no_policy_is_above_the_optimum(self, belief):
        settings = settings_of(3, 5, belief)
        actual = exact.solve(settings, candidates_of(POLICIES, settings), 0, range(12), 2)
        best = actual["believed"][0]
        assert (actual["believed"] <= best + 1e-12).all()
        assert actual["first_is_best"][0].all()
        # A policy with the optimal value starts with an optimal choice.
        assert (actual["first_is_best"] | (actual["believed"] < best - 1e-12)).all()

    def test_one_game_is_drawchance(self):
        options: dict[str, Any] = {"env_kwargs": {"horizon": 1}, "episodes": 30, "truths": 1}
        actual = exact.run_optimum(["pe", "drawchance"], **options, run=ONE)
        assert [loss.policy for loss in actual.losses] == [exact.OPTIMUM, "pe", "drawchance"]
        optimum, pe, drawchance = actual.losses
        assert pe.gap.mean < 0.0
        assert drawchance.believed.mean == pytest.approx(optimum.believed.mean, rel=1e-14)
        assert optimum.first_is_best.mean == drawchance.first_is_best.mean == 1.0
        # With 30 successes in 30 instances, the share may be below 1.
        assert drawchance.first_is_best.low == pytest.approx(0.025 ** (1.0 / 30.0))
        assert pe.gap_share.mean == pytest.approx(pe.gap.mean / optimum.believed.mean)

    def test_a_learned_policy_is_called_once_per_game(self):
        settings = settings_of(2, 4, "full")
        sizes = []

        def predict(observation: Any, *_: Any) -> tuple[Any, Any]:
            sizes.append(observation.shape)
            assert observation[0, -1] == pytest.approx((5 - len(sizes)) / 4)
            return np.zeros(len(observation), dtype=np.int64), None

        mu, sigma = random_prior(2)
        prior = KnowledgeState.of_prior(mu, sigma, "full")
        rule = rule_by(SimpleNamespace(belief="full", predict=predict), settings)
        _, actual, _ = exact.follow(rule, prior, np.zeros((3, 1, 3)), settings)
        assert sizes == [(3 * 2**n, 9) for n in range(4)]
        expected = [value(dense, 4, lambda *_: 0) for dense in by_hand((mu, sigma), settings)]
        assert actual == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize(
        ("policy", "message"),
        [
            ({"memory": (0,)}, "'mine', which has a memory"),
            ({"stochastic": True}, "'mine', which is stochastic"),
            ({"needs_truth": True}, "'mine', which reads the true skills"),
            ({"belief": "factorised"}, "got 'full': 'mine' reads the factorised one"),
            ({"label": exact.OPTIMUM}, "must not be named 'optimum'"),
            ({"action": -1}, r"must be in \[0, 1\], got -1"),
            ({"action": 0.5}, "must be integers"),
        ],
    )
    def test_policies_must_choose_by_the_state_alone(self, policy, message):
        def act(view: Any, rng: Any) -> Any:
            states = view.knowledge_state
            assert view.games_left.tolist() == [2] * len(states)
            return np.zeros(len(states), np.int64)

        def predict(observation: Any, *_: Any) -> tuple[Any, Any]:
            return np.full(len(observation), policy.get("action", 0)), policy.get("memory")

        settings = settings_of(2, 2, "full")
        label = policy.get("label", "mine")
        bad = SimpleNamespace(**{"belief": "full", "predict": predict, **policy})
        prior = KnowledgeState.of_prior(*random_prior(2), "full")
        with pytest.raises(ValueError, match=message):
            rule_by(bad, settings, label)(prior, 2)
        good = SimpleNamespace(belief="full", act=act)
        assert not rule_by(good, settings)(prior, 2).any()
