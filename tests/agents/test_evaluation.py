"""How a training is watched: held-out games beside KG, in the files and in TensorBoard."""

import json

import numpy as np
import pytest
from scipy import stats
from stable_baselines3.common.evaluation import evaluate_policy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents.environments import ONE_PLAYER, evaluate, played
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.evaluation.seeds import evaluation_seed


def totals(policy, episodes, seed, **env_kwargs):
    """Sums of true draw densities, by the vector environment."""
    env = MatchmakingVectorEnv(episodes, **env_kwargs)
    observation, _ = env.reset(seed=seed)
    found = np.zeros(episodes)
    for _ in range(env.settings.horizon):
        observation, _, _, _, info = env.step(policy.predict(observation)[0])
        found += info["true_draw_density"]
    return found


def test_evaluation_equals_evaluate_policy(small_config):
    config = small_config(env_kwargs={"num_opponents": 3, "horizon": 20, "reward": "draw_density"})
    env = MatchmakingVecEnv(8, **config.env_kwargs)
    env.seed(7)
    returns, _ = evaluate_policy(DrawChance(horizon=20), env, 8, return_episode_rewards=True)
    ours = evaluate(DrawChance(horizon=20), ONE_PLAYER, config.env_kwargs, 8, 7)
    assert ours["mean_return"] == pytest.approx(np.mean(returns), rel=1e-5)
    assert ours["standard_error"] == pytest.approx(np.std(returns, ddof=1) / 8**0.5, rel=1e-4)
    assert ours["draw_density"] == pytest.approx(ours["mean_return"])


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_the_difference_to_kg_is_of_the_same_games(belief):
    env_kwargs = {"num_opponents": 4, "horizon": 15, "beta": 1.0, "draw_margin": 0.3}
    theirs = totals(KnowledgeGradient(beta=1.0, draw_margin=0.3), 6, 9, **env_kwargs)
    env_kwargs["belief"] = belief
    policy = DrawChance(beta=1.0, belief=belief)
    ours = totals(policy, 6, 9, **env_kwargs)
    games = (ONE_PLAYER, env_kwargs, 6, 9)
    found = evaluate(policy, *games, {"kg": played("kg", *games)})
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert found["true_q_less_kg"] == pytest.approx((ours - theirs).mean())
    assert found["true_q_less_kg_low"] == pytest.approx(interval.low)
    assert found["true_q_less_kg_high"] == pytest.approx(interval.high)


def test_tensorboard_has_every_evaluation(trained, small_config):
    config, folder = small_config(), trained()
    recorded = json.loads(folder.evaluations_file.read_text())["evaluations"]
    logged = EventAccumulator(str(folder.tensorboard))
    logged.Reload()
    for name in set(recorded[0]) - {"timesteps"}:
        scalars = logged.Scalars(f"evaluation/{name}")
        assert [each.step for each in scalars] == [each["timesteps"] for each in recorded]
        np.testing.assert_allclose(
            [each.value for each in scalars], [each[name] for each in recorded], rtol=1e-6
        )
    # The policy at the end is the one of the last evaluation.
    games = (4, evaluation_seed(config.seed))
    ours = totals(agents.load(folder.path), *games, **config.env_kwargs)
    theirs = totals(KnowledgeGradient(), *games, **config.env_kwargs)
    assert recorded[-1]["true_q_less_kg"] == pytest.approx((ours - theirs).mean())


def test_evaluations_need_two_episodes(small_config):
    with pytest.raises(ValueError, match="episodes must be an integer of at least 2"):
        evaluate(DrawChance(), ONE_PLAYER, {}, 1, 0)
    with pytest.raises(ValueError, match="evaluation_episodes must be greater than or equal to 2"):
        small_config(evaluation_episodes=1)
