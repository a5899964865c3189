"""Objects print as the call that builds them; the package shows its public names."""

from __future__ import annotations

from typing import Any

import pytest

import matchenv
from matchenv import EqualPrior, MatchmakingEnv, MatchmakingVectorEnv, NormalPrior


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            lambda: MatchmakingEnv(prior="equal", tau=0.1),
            "MatchmakingEnv(num_opponents=49, horizon=500, prior='equal', tau=0.1)",
        ),
        (
            lambda: MatchmakingVectorEnv(8, horizon=20, prior=NormalPrior(25, 8.0)),
            "MatchmakingVectorEnv(num_envs=8, num_opponents=49, horizon=20, "
            "prior=NormalPrior(mean=25.0, deviation=8.0))",
        ),
        (lambda: EqualPrior("matching"), "EqualPrior(variance='matching')"),
    ],
)
def test_an_object_prints_as_what_makes_it(made: Any, text: str) -> None:
    assert repr(made()) == text


def test_what_is_public_can_be_seen() -> None:
    assert matchenv.ratings.elo.__name__ == "matchenv.ratings.elo"
    shown = dir(matchenv)
    assert {"MatchmakingEnv", "Prior", "Reward", "belief", "ratings", "baselines"} <= set(shown)
    assert not {"gymnasium", "import_module", "annotations"} & set(shown)
