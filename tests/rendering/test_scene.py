"""What a picture is told."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv.rendering.scene import EpisodeRecord, skill_range, widened_range

MU, SIGMA = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.5, 2.0])
TRUE_SKILL = np.array([0.5, 9.0, -1.0])


def record(show_true_skill: bool = True) -> EpisodeRecord:
    kept = EpisodeRecord(horizon=5, beta=1.0, show_true_skill=show_true_skill)
    kept.begin(MU, SIGMA, TRUE_SKILL)
    return kept


def test_a_scene_tells_the_games() -> None:
    kept = record()
    assert kept.last_game is None
    for game in ((1, 1, 0.1, 0.2), (0, -1, 0.3, 0.05), (1, 0, 0.2, 0.15), (1, 1, 0.1, 0.1)):
        kept.add(*game)
    scene = kept.scene(MU, SIGMA, TRUE_SKILL)
    assert (scene.games_played, scene.games_left, scene.opponent) == (4, 1, 2)
    assert scene.win_ratio == 0.5
    assert kept.last_game == (1, 1)
    np.testing.assert_array_equal(scene.judged_density, [0.2, 0.05, 0.15, 0.1])
    np.testing.assert_array_equal(scene.draw_density, [0.1, 0.3, 0.2, 0.1])


def test_before_the_first_game_there_is_no_opponent() -> None:
    scene = record().scene(MU, SIGMA, TRUE_SKILL)
    assert scene.opponent is None
    assert scene.win_ratio is None
    assert scene.games_left == 5


def test_hidden_true_skills_leave_no_trace() -> None:
    kept = record(show_true_skill=False)
    kept.add(0, 1, 0.1, 0.7)
    scene = kept.scene(MU, SIGMA, TRUE_SKILL)
    assert scene.true_skill is None
    assert scene.true_draw_density is None
    np.testing.assert_array_equal(scene.judged_density, [0.1])
    # The axis would give the skill of 9 away.
    assert scene.skill_range == (-7.0, 3.0)
    assert record().scene(MU, SIGMA, TRUE_SKILL).skill_range == (-7.0, 9.0)


def test_beginning_again_forgets() -> None:
    kept = record()
    kept.add(0, 1, 0.1, 0.7)
    kept.begin(MU, SIGMA, TRUE_SKILL)
    assert kept.scene(MU, SIGMA, TRUE_SKILL).games_played == 0


def test_a_scene_does_not_change_with_later_games() -> None:
    kept = record()
    kept.add(0, 1, 0.1, 0.7)
    scene = kept.scene(MU, SIGMA, TRUE_SKILL)
    kept.add(1, 1, 0.1, 0.7)
    assert scene.games_played == 1


def test_the_axis_stays_until_somebody_leaves_it() -> None:
    assert widened_range((0.0, 8.0), (1.0, 7.0)) == (0.0, 8.0)
    assert widened_range((0.0, 8.0), (0.0, 8.5)) == (0.0, 9.0)
    assert widened_range((0.0, 8.0), (-1.5, 8.0)) == (-2.0, 8.0)


@pytest.mark.parametrize("centre", [0.0, -3.0, 1e30])
def test_an_axis_can_be_divided_even_if_all_are_sure_and_equal(centre: float) -> None:
    low, high = skill_range(np.full(3, centre), np.full(3, 1e-30), None)
    assert low < centre < high
