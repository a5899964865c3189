"""The example whose agent approves the lobbies of a planner."""

import sys

import numpy as np
import pytest

from examples import approve_plans
from examples.approve_plans import Approvals, Approver, Proposals
from matchenv.agents import MatchmakingVecEnv
from matchenv.envs.queue import QueueSettings
from matchenv.evaluation.rollout import rollout

TEAMS = {"side_size": 2, "party_sizes": (0.7, 0.3), "horizon": 60}
SETTINGS = QueueSettings(**TEAMS)
SEEDS = [0, 1, 2]


class Always:
    """A model that gives the same answer wherever it is allowed."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, observations, action_masks, deterministic):
        assert action_masks.any(axis=1).all()
        allowed = action_masks[:, self.answer]
        return np.where(allowed, self.answer, 1 - self.answer), None


def approver_with(model):
    approver = Approver.__new__(Approver)
    approver.model = model
    approver.proposals = Proposals()
    return approver


def test_approval_of_all_proposals_is_the_planner():
    ours = rollout(approver_with(Always(1)), SETTINGS, SEEDS)
    planner = rollout(Proposals(), SETTINGS, SEEDS)
    assert (ours["queued"] - ours["abandoned"]).min() > 20
    for name in ("true_reward", "wait", "queued"):
        np.testing.assert_array_equal(ours[name], planner[name])


def test_refusal_of_all_proposals_begins_no_game():
    totals = rollout(approver_with(Always(0)), SETTINGS, SEEDS)
    np.testing.assert_array_equal(totals["left"], 1.0)


def test_a_lobby_with_parties_who_joined_must_be_filled():
    queues = MatchmakingVecEnv(4, environment="MatchmakingQueue-v0", **TEAMS)
    environment = Approvals(queues, Proposals())
    environment.seed(3)
    rng = np.random.default_rng(0)
    observation = environment.reset()
    joined = 0
    for _ in range(400):
        assert environment.observation_space.contains(observation[0])
        masks = np.stack(environment.env_method("action_masks"))
        view = queues.natives[0].episodes.view()
        for row in range(4):
            parties = view[row].lobby.size
            forced = parties > 1
            joined += forced
            assert masks[row, 0] == (not forced)
            if forced:
                assert masks[row, 1]
        actions = np.where(masks.all(axis=1), rng.integers(0, 2, 4), masks[:, 1])
        observation, _, _, _ = environment.step(actions)
    assert joined > 50


def test_a_trained_agent_plays_from_its_file(tmp_path, monkeypatch):
    file = tmp_path / "approver.zip"
    words = ["approve_plans", "--timesteps", "1", "--arrival-rate", "1", "--out", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    approve_plans.main()
    totals = rollout(Approver(str(file)), SETTINGS, SEEDS)
    assert np.isfinite(totals["true_reward"]).all()


def test_the_quality_of_a_proposal_is_that_of_its_game():
    queues = MatchmakingVecEnv(
        1, environment="MatchmakingQueue-v0", info_keywords=("match_quality",), **TEAMS
    )
    environment = Approvals(queues, Proposals())
    environment.seed(5)
    observation = environment.reset()
    proposed = np.nan
    games = 0
    for _ in range(300):
        (mask,) = environment.env_method("action_masks")
        if mask.all():
            proposed = (observation[0, 1] + 2.0) / 4.0
        observation, _, _, (info,) = environment.step(np.array([int(mask[1])]))
        if info["match_quality"] > 0.0:
            games += 1
            assert info["match_quality"] == pytest.approx(proposed, abs=1e-6)
    assert games > 20
