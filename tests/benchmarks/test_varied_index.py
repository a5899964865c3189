"""The index with its parts weighed otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv import KnowledgeState
from matchenv.agents import policy_named
from matchenv.baselines import Gittins
from matchenv.benchmarks.varied_index import VariedGittins
from matchenv.settings import Settings


def states() -> KnowledgeState:
    rng = np.random.default_rng(5)
    sigma = rng.uniform(0.5, 1.6, (30, 8))
    low, high = np.abs(sigma[:, :1] - sigma[:, 1:]), sigma[:, :1] + sigma[:, 1:]
    extra = low + (high - low) * rng.uniform(0.4, 0.6, (30, 7))
    return KnowledgeState(rng.normal(0.0, 2.0, (30, 8)), sigma, extra, "full")


def test_with_nothing_changed_it_is_the_index() -> None:
    state, left = states(), np.arange(1, 31)
    varied, index = VariedGittins(), Gittins()
    np.testing.assert_allclose(np.exp(varied.scores(state, left)), index.scores(state, left))
    np.testing.assert_array_equal(varied.act(state, left), index.act(state, left))


def test_without_the_bonus_it_is_the_draw_density() -> None:
    state, policy = states(), VariedGittins(bonus=0.0)
    np.testing.assert_allclose(np.exp(policy.scores(state, 40)), state.draw_density(policy.beta))


def test_fewer_games_left_are_those_of_the_index() -> None:
    state = states()
    np.testing.assert_allclose(
        np.exp(VariedGittins(games=0.5).scores(state, 40)), Gittins().scores(state, 20)
    )


def test_each_part_of_the_variance_is_weighed_alone() -> None:
    """A known player 0 shares nothing; then the other part is the whole variance."""
    state = states()
    known = KnowledgeState(
        state.mu, np.concatenate((np.full((30, 1), 1e-5), state.sigma[:, 1:]), axis=1),
        state.sigma[:, 1:], "full",
    )  # fmt: skip
    plain = VariedGittins().scores(known, 40)
    np.testing.assert_allclose(VariedGittins(shared=3.0).scores(known, 40), plain, rtol=1e-6)
    assert (VariedGittins(rest=3.0).scores(known, 40) > plain).any()


def test_information_about_player_0_counts_more_with_strangers() -> None:
    """The one who is coupled to player 0 tells less of the own skill."""
    sigma = np.array([1.5, 1.5, 1.5])
    state = KnowledgeState(np.zeros(3), sigma, np.array([1.5 * np.sqrt(2.0), 0.5]), "full")
    more = VariedGittins(information=1.0).scores(state, 500) - VariedGittins().scores(state, 500)
    assert more[0] > more[1] > 0.0


def test_commands_find_it_by_name_and_bad_options_are_named() -> None:
    name = "matchenv.benchmarks.varied_index:VariedGittins"
    assert policy_named(f"{name}:shared=0.5", Settings.checked(horizon=30)).horizon == 30
    with pytest.raises(ValueError, match="rest"):
        VariedGittins(rest=0.0)
