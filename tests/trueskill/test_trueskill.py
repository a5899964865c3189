"""The TrueSkill object against the trueskill package, and its forms of arguments."""

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.trueskill import TrueSkill, expose

NORMAL = NormalDist()


# The package's own normal is exact to seven digits; SciPy's is as exact as this one, and slow.
BACKEND = (lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)), NORMAL.pdf, NORMAL.inv_cdf)


@pytest.mark.parametrize(
    ("seed", "games"), [(0, 40), pytest.param(1, 4000, marks=pytest.mark.slow)]
)
def test_random_games_of_every_form_agree_with_the_package(seed: int, games: int) -> None:
    """Sides are about even, since the package fails or is inaccurate for large gaps."""
    package = pytest.importorskip("trueskill")
    rng = np.random.default_rng(seed)
    for _ in range(games):
        sides = int(rng.integers(2, 9))
        sizes = rng.integers(1, 5, sides) if rng.random() < 0.6 else np.ones(sides, dtype=int)
        teams = [[(rng.normal(25.0, 6.0) / n, rng.uniform(1.0, 9.0)) for _ in range(n)]
                 for n in sizes]  # fmt: skip
        ranks = rng.integers(0, sides, sides) if rng.random() < 0.4 else rng.permutation(sides)
        weights = [rng.uniform(0.3, 3.0, n).tolist() for n in sizes]
        names = [[f"{side}-{k}" for k in range(n)] for side, n in enumerate(sizes)]
        named, by_name = ([dict(zip(*each, strict=True)) for each in zip(names, rows, strict=True)]
                          for rows in (teams, weights))  # fmt: skip
        flat = {(k, name): w for k, row in enumerate(by_name) for name, w in row.items()}
        forms: list[Any] = [(teams, weights), (named, by_name), (named, flat)]
        if rng.random() < 0.6:
            weights, forms = None, [(teams, None), (named, None)]
        chance = float(rng.choice([0.02, 0.1, 0.3, 0.6]))
        ours = TrueSkill(draw_probability=chance)
        theirs = package.TrueSkill(draw_probability=chance, backend=BACKEND)
        known = [tuple(package.Rating(*pair) for pair in side) for side in teams]
        rated = theirs.rate(known, ranks.tolist(), weights, min_delta=1e-12)
        expected = [(rating.mu, rating.sigma) for side in rated for rating in side]
        quality = theirs.quality(known, weights)
        for groups, given in forms:
            found = ours.rate(groups, ranks.tolist(), given)
            assert {type(side) for side in found} == {type(side) for side in groups}
            pairs = [side.values() if isinstance(side, dict) else side for side in found]
            np.testing.assert_allclose([*itertools.chain(*pairs)], expected, rtol=1e-5, atol=1e-5)
            assert ours.quality(groups, given) == pytest.approx(quality, rel=1e-7)
        assert ours.rate(teams, None, weights) == ours.rate(teams, range(sides), weights)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_players_and_constants_agree_with_the_package() -> None:
    package = pytest.importorskip("trueskill")
    theirs, ours = package.TrueSkill(backend=BACKEND), TrueSkill()
    new, other = ours.create_rating(), ours.create_rating(30.0, 2.0)
    assert new == (theirs.mu, theirs.sigma)
    pair = package.Rating(*new), package.Rating(*other)
    for drawn in (False, True):
        expected = theirs.rate_1vs1(*pair, drawn)
        for mine, their in zip(ours.rate_1vs1(new, other, drawn), expected, strict=True):
            assert mine == pytest.approx((their.mu, their.sigma), abs=1e-6)
    quality = theirs.quality_1vs1(*pair)
    assert ours.quality_1vs1(new, other) == pytest.approx(quality, rel=1e-12)
    assert ours.expose(other) == pytest.approx(theirs.expose(pair[1]), rel=1e-12)
    assert TrueSkill(k=2.0).expose(other) == 26.0
    assert expose([30.0, 20.0], 2.0).tolist() == [24.0, 14.0]
    with pytest.raises(ValueError, match="sigma"):
        expose(25.0, -1.0)


def test_weights_by_name_default_to_one() -> None:
    trueskill = TrueSkill()
    groups = [{"ada": (25.0, 8.0), "bo": (27.0, 3.0)}, {"cy": (30.0, 2.0)}]
    expected = trueskill.rate(groups, weights=[[1.0, 2.0], [1.0]])
    assert trueskill.rate(groups, weights=[{"bo": 2.0}, {}]) == expected
    assert trueskill.rate(groups, weights={(0, "bo"): 2.0}) == expected


test_bad_arguments_raise = refusals(
    (lambda t: t.rate([{"a": (25.0, 8.0)}, 3]), "groups"),
    (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights={(0, "a"): 1.0}), "weights"),
    (lambda t: t.rate([{"a": (25.0, 8.0)}] * 2, weights=[{"b": 1.0}, {}]), "weights"),
    (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights=[[1.0]]), "weights"),
    (lambda t: t.create_rating(math.nan), "mu"),
    (lambda t: TrueSkill(draw_probability=1.0), "draw_probability"),
    (lambda t: TrueSkill(sigma=0.0), "sigma"),
    (lambda t: TrueSkill(k=-1.0), "k must"),
    call=lambda change: change(TrueSkill()),
)
