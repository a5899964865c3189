"""How far expectation propagation is from the exact posterior, and where it is exact.

Three sides: the exact posterior by numerical integration on a grid. Measured over the
games below, the means are within 0.25 % of a posterior standard deviation and the standard
deviations within 0.8 %. Two sides of any size are exact; a 2 v 2 game is held
against plain rejection sampling from the model.
"""

from __future__ import annotations

import numpy as np
import pytest

from matchenv.trueskill import rate

BETA = 25.0 / 6.0
STEP = 0.02


def grid_posterior(
    skills: list[tuple[float, float]], drawn: list[bool], margin: float
) -> list[tuple[float, float]]:
    """Posterior mean and deviation of each skill, one player a side, best first.

    The joint density of three performances on a grid, summed out one side at a time; the
    skill given the performance is normal.
    """
    x = np.arange(-60.0, 110.0, STEP)
    cut = round(margin / STEP)
    density = [np.exp(-0.5 * (x - mu) ** 2 / (s * s + BETA**2)) for mu, s in skills]

    def sum_over(values: np.ndarray, draw: bool, worse: bool) -> np.ndarray:
        """At each x the sum over the neighbour's allowed places, its ends counted half."""
        total = np.concatenate(([0.0], np.cumsum(values)))
        low, high = np.clip(np.arange(x.size) - cut, 0, None), np.arange(x.size) + cut
        high = np.clip(high, None, x.size - 1)
        if draw:
            return total[high + 1] - total[low] - 0.5 * (values[low] + values[high])
        if worse:  # the neighbour is below x - margin
            return total[low] + 0.5 * values[low]
        return total[-1] - total[high] - 0.5 * values[high]

    from_worse = [np.ones(x.size)] * 3
    from_better = [np.ones(x.size)] * 3
    for i in (1, 0):
        from_worse[i] = sum_over(density[i + 1] * from_worse[i + 1], drawn[i], True)
    for i in (1, 2):
        from_better[i] = sum_over(density[i - 1] * from_better[i - 1], drawn[i - 1], False)
    out = []
    for i, (mu, s) in enumerate(skills):
        marginal = density[i] * from_worse[i] * from_better[i]
        marginal /= marginal.sum()
        mean = (marginal * x).sum()
        variance = (marginal * (x - mean) ** 2).sum()
        gain = s * s / (s * s + BETA**2)
        out.append((mu + gain * (mean - mu), np.sqrt(gain * gain * variance + gain * BETA**2)))
    return out


SKILLS = [
    [(25.0, 25.0 / 3.0)] * 3,
    [(30.0, 3.0), (25.0, 8.0), (18.0, 5.0)],
    [(18.0, 5.0), (25.0, 8.0), (30.0, 3.0)],
    [(25.0, 1.0), (25.0, 8.0), (25.0, 1.0)],
]


@pytest.mark.parametrize("drawn", [[False, False], [True, False], [False, True], [True, True]])
@pytest.mark.parametrize("skills", SKILLS)
def test_three_sides_are_near_the_exact_posterior(
    skills: list[tuple[float, float]], drawn: list[bool]
) -> None:
    margin = 0.74
    exact = grid_posterior(skills, drawn, margin)
    ranks = [0, int(not drawn[0]), int(not drawn[0]) + int(not drawn[1])]
    rated = rate([[skill] for skill in skills], ranks, beta=BETA, draw_margin=margin)
    for (mine,), (mean, deviation) in zip(rated, exact, strict=True):
        assert abs(mine.mu - mean) < 0.0025 * deviation
        assert mine.sigma == pytest.approx(deviation, rel=0.008)


def test_the_grid_itself_is_exact_where_only_two_sides_matter() -> None:
    skills = [(40.0, 3.0), (36.0, 8.0), (-20.0, 1.0)]
    exact = grid_posterior(skills, [False, False], 0.74)
    rated = rate([[skills[0]], [skills[1]]], [0, 1], beta=BETA, draw_margin=0.74)
    for (mine,), (mean, deviation) in zip(rated, exact, strict=False):
        assert mine == pytest.approx((mean, deviation), rel=1e-6)


@pytest.mark.parametrize("ranks", [[0, 1], [1, 0], [0, 0]])
@pytest.mark.parametrize("weights", [None, [[1.0, 0.4], [0.7, 1.0]]])
def test_two_against_two_is_the_exact_posterior(
    ranks: list[int], weights: list[list[float]] | None
) -> None:
    teams = [[(25.0, 8.0), (29.0, 2.0)], [(22.0, 4.0), (30.0, 6.0)]]
    margin, samples = 3.0, 1_000_000
    rng = np.random.default_rng(3)
    belief = np.array(teams).reshape(4, 2)
    skill = belief[:, 0] + belief[:, 1] * rng.standard_normal((samples, 4))
    performance = skill + BETA * rng.standard_normal((samples, 4))
    share = np.array(weights or [[1.0, 1.0], [1.0, 1.0]]).ravel()
    gap = (performance * share * [1, 1, -1, -1]).sum(axis=1)
    happened = {0: gap > margin, 1: gap < -margin}[ranks[0]]
    if ranks[0] == ranks[1]:
        happened = np.abs(gap) <= margin
    kept = skill[happened]
    rated = rate(teams, ranks, beta=BETA, draw_margin=margin, weights=weights)
    for k, mine in enumerate(one for side in rated for one in side):
        deviation = kept[:, k].std()
        assert abs(mine.mu - kept[:, k].mean()) < 4.5 * deviation / np.sqrt(len(kept))
        assert abs(mine.sigma - deviation) < 4.5 * deviation / np.sqrt(2.0 * len(kept))
