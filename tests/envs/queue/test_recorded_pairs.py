"""Games of two players are as they were before there were teams, number for number.

``recorded_pairs.json`` was recorded by ``totals_of`` with the environment that knew only pairs.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import MatchmakingQueueVectorEnv

RECORDED = json.loads(Path(__file__).with_name("recorded_pairs.json").read_text(encoding="utf-8"))
COUNTS = ("tick", "queued", "matched_players", "abandoned", "waiting", "playing")
NUMBERS = ("mean_wait", "match_quality", "true_match_quality")


def totals_of(options: dict[str, Any], fixed: Any, share: float) -> dict[str, Any]:
    """Return the totals of 400 steps of two queues, and the last info.

    Args:
        options: of the environment.
        fixed: options of the reset.
        share: probability of playing a random candidate; otherwise the focal player waits.
    """
    env = MatchmakingQueueVectorEnv(2, **options)
    rng = np.random.default_rng(4)
    _, infos = env.reset(seed=11, options=fixed)
    reward = 0.0
    observations = 0.0
    allowed = 0
    for step in range(400):
        masks = env.action_masks()
        allowed += int(masks.sum())
        shares = rng.random((2, 2))
        candidates = 1 + (shares[1] * masks[:, 1:].sum(axis=1)).astype(np.int64)
        actions = np.where((shares[0] < share) & masks[:, 1], candidates, 0)
        observation, rewards, _, _, infos = env.step(actions)
        reward += float(rewards.sum())
        weights = np.cos(np.arange(observation.size) + step).reshape(observation.shape)
        observations += float((observation.astype(np.float64) * weights).sum())
    return {"reward": reward, "observations": observations, "allowed": allowed, **infos}


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: "-".join(recorded["options"]))
def test_pairs_are_as_recorded(recorded: dict[str, Any]) -> None:
    totals = totals_of(recorded["options"], recorded["fixed"], recorded["share"])
    for name in ("allowed", *COUNTS):
        np.testing.assert_array_equal(totals[name], recorded[name], err_msg=name)
    # Other processors can round the last digits of exponentials differently.
    for name in ("reward", "observations", *NUMBERS):
        np.testing.assert_allclose(totals[name], recorded[name], rtol=1e-9, err_msg=name)
