"""Errors for bad options and bad resets of all environments."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from refusals import refusals

from matchenv.envs import part_of

ONE_PLAYER, QUEUE, RANKING = "Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"

# Bad options with their messages.
OPTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    ONE_PLAYER: [
        ({"num_opponents": 0}, r"num_opponents must be an integer in \[1, 1000000\], got 0"),
        ({"horizon": 0}, r"horizon must be an integer in \[1, 1000000000\], got 0"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"prior": "flat"}, "prior must be one of 'informative', 'equal' or a matchenv.Prior, .*"),
        ({"reward": "fun"}, "reward must be one of 'draw_density'.*got 'fun'"),
        ({"rank": "best"}, "rank must be None, 'top', 'middle', 'bottom' or an integer in"),
        ({"rank": 50}, r"rank must be .* \[0, 49\], got 50"),
        ({"rank_by": "fame"}, "rank_by must be one of"),
        ({"equal_variance": "none"}, "equal_variance must be one of"),
        ({"draw_margin": -1.0}, "draw_margin must not be negative"),
        ({"tau": math.inf}, "tau must be finite"), ({"tau": 1e38}, "tau must be at most 1e"),
        ({"belief": "partial"}, "belief must be one of 'factorised', 'full'"),
        ({"belief": "full", "tau": 0.1}, "tau must be 0 with belief='full'"),
        ({"availability": 0.0}, r"availability must be in \(0, 1\], got 0"),
        ({"availability": 1.5}, r"availability must be in \(0, 1\], got 1.5"),
        ({"turnover": 1.1}, r"turnover must be in \[0, 1\], got 1.1"),
        ({"mean_stay": 0.5}, "mean_stay must be at least 1, got 0.5"),
        ({"availability": 0.1, "mean_stay": 4.0}, "mean_stay must be at least 5 with availability"),
        ({"availability": 0.9, "mean_stay": 4.0}, "mean_stay must be at least 5 with availability"),
        ({"num_opponents": 4, "horizon": 13, "max_games_per_opponent": 3}, "at least the horizon"),
        ({"max_games_per_opponent": 0}, "max_games_per_opponent must be an integer"),
    ],
    QUEUE: [
        ({name: value}, name)
        for name, value in [
            ("arrival_rate", -0.1), ("arrival_rate", 1e9), ("newcomers", 1.1), ("newcomers", -0.1),
            ("patience", 0.5), ("patience", math.nan), ("patience", -math.inf), ("game_length", 0),
            ("stay", 1.5), ("game_length", 1.5), ("capacity", 1), ("capacity", True),
            ("waiting_cost", -1),
            ("abandonment_cost", math.nan), ("horizon", 0), ("beta", 0.0), ("draw_margin", -1.0),
            ("tau", math.inf), ("reward", "draw_density"), ("population", 3),
            ("population", ([0.0], [0.0])), ("population", ([0.0, 1.0], [1.0])),
            ("population", ([], [])), ("population", "no such file.csv"),
            ("population", ([1e40], [1.0])),
        ]
    ],
    RANKING: [
        ({"num_items": 1}, "num_items"),
        ({"k": 20}, "k must be below num_items=20"),
        ({"k": 2, "goal": "best"}, "k must be 1 with goal='best'"),
        ({"goal": "worst"}, "goal must be one of"),
        ({"cost": -1.0}, "cost must not be negative"),
        ({"sigma": 0.0}, "sigma must be at least 1e-30"),
        ({"barred_pairs": [(0, 0)]}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": [(0, 20)]}, "barred_pairs must hold items below num_items=20"),
        ({"barred_pairs": [(0, -1)]}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": "ab"}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": 3}, "barred_pairs must hold pairs of different items"),
        ({"num_items": 2, "barred_pairs": [(1, 0)]}, "they leave 400 of each of 0 pairs"),
        ({"num_items": 2, "max_games_per_pair": 3}, "they leave 3 of each of 1 pairs"),
        ({"skills": np.zeros(19)}, "skills must be at least num_items=20, got 19"),
        ({"skills": [[0.0] * 20]}, r"skills must be numbers, shape \(K,\), got shape"),
        ({"skills": [math.nan] * 20}, "skills must be finite"),
        ({"skills": "no such file.csv"}, "skills must be a readable file"),
    ],
}  # fmt: skip
# Bad options of a reset, for four opponents or 20 items.
RESETS: dict[str, list[tuple[Any, str]]] = {
    ONE_PLAYER: [
        ({"mu": np.zeros(4)}, r"options\['mu'\] must have shape \(5,\), got \(4,\)"),
        ({"sigma": np.zeros(5)}, r"options\['sigma'\] must be positive"),
        ({"true_skill": [0, 0, np.nan, 0, 0]}, r"options\['true_skill'\] must be finite.*index 2"),
        ({"mu": np.full(5, 1e31)}, r"options\['mu'\] must be at most"),
        ({"skill": np.zeros(5)}, "options can hold 'mu', 'sigma', 'true_skill', got 'skill'"),
        ("mu", "options must be a dict"),
    ],
    QUEUE: [
        ({"means": [0.0]}, "options can hold"),
        ("mu", "options must be"),
        ({"mu": [0.0]}, "'sigma'"),
        ({"sigma": [1.0]}, "'mu'"),
        ({"true_skill": [1.0]}, "'mu'"),
        ({"noise": [math.inf]}, "noise.*finite"),
        ({"noise": 1.0}, "noise.*shape"),
        ({"mu": [0.0, math.nan], "sigma": [1.0, 1.0]}, "mu.*finite"),
        ({"mu": [0.0, 1.0], "sigma": [1.0, 0.0]}, "sigma.*positive"),
        ({"mu": [0.0, 1.0], "sigma": [1.0]}, "sigma.*shape"),
        ({"mu": 0.0, "sigma": 1.0}, "mu.*shape"),
        ({"mu": [[0.0]], "sigma": [[1.0]]}, "shape"),
    ],
    RANKING: [({"true_skill": [1.0]}, r"true_skill.*shape \(20,\)"), ({"mu": 0.0}, "can hold")],
}


test_bad_options_raise = refusals(
    *((env_id, *case) for env_id in OPTIONS for case in OPTIONS[env_id]),
    call=lambda env_id, options: part_of(env_id, "settings").checked(**options),
)


@pytest.mark.parametrize("env_id", RESETS)
def test_bad_resets_change_nothing(env_id: str) -> None:
    size = {"num_opponents": 4} if env_id == ONE_PLAYER else {}
    env, untouched = (gym.make(env_id, **size) for _ in range(2))
    (_, info), _ = env.reset(seed=1), untouched.reset(seed=1)
    for options, message in RESETS[env_id]:
        with pytest.raises(ValueError, match=message):
            env.reset(seed=2, options=options)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    action = np.argmax(info.get("action_mask", [1]))
    np.testing.assert_array_equal(env.step(action)[0], untouched.step(action)[0])
    np.testing.assert_array_equal(env.reset()[0], untouched.reset()[0])
