"""Draw margins against 40-digit arithmetic."""

from __future__ import annotations

import mpmath
import pytest

from matchenv.trueskill import (
    draw_margin_from_probability,
    draw_probability,
    draw_probability_from_margin,
)


@pytest.mark.parametrize("probability", [1e-9, 0.01, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("players", [2, 9])
def test_margin_equals_forty_digits(probability: float, players: int) -> None:
    with mpmath.workdps(40):
        margin = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(probability))
        margin *= mpmath.sqrt(players) * mpmath.mpf("1.7")
    ours = draw_margin_from_probability(probability, 1.7, players)
    assert ours == pytest.approx(float(margin), rel=1e-13)
    assert draw_probability_from_margin(ours, 1.7, players) == pytest.approx(probability, rel=1e-12)


def test_margin_gives_the_probability_of_an_even_game_of_known_skills() -> None:
    margin = draw_margin_from_probability(0.25, 1.7)
    assert draw_probability(0.0, 1e-9, 0.0, 1e-9, 1.7, margin) == pytest.approx(0.25, rel=1e-12)


def test_no_draws_is_no_margin() -> None:
    assert draw_margin_from_probability(0.0, 1.0) == 0.0
    assert draw_probability_from_margin(0.0, 1.0) == 0.0


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_bad_probability_is_named(probability: float) -> None:
    with pytest.raises(ValueError, match="draw_probability must be"):
        draw_margin_from_probability(probability, 1.0)


def test_bad_player_counts_are_named() -> None:
    with pytest.raises(ValueError, match="num_players must be an integer of at least 2"):
        draw_margin_from_probability(0.1, 1.0, 1)
