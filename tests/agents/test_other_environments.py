"""Training in the queue and in ``Ranking-v0``."""

import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from matchenv import agents
from matchenv.agents.environments import (
    HeldOutGames,
    portable_options,
    settings_of,
    training_of,
)
from matchenv.agents.network import PairReader, spaces_of
from matchenv.agents.policy_file import LearnedPolicy, PolicyDescription
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines.ranking import Shrinkage
from matchenv.benchmarks.compare.training import compare_runs
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import QUEUE, RANKING, policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.runtime.jobs import RunOptions

ALONE = RunOptions(workers=1, quiet=True)


def test_a_queue_policy_plays_its_loads_and_any_capacity(trained):
    run = trained("queue").path
    comparison, _ = compare_runs([run], run, episodes=2, run=ALONE)
    assert [load.options["arrival_rate"] for load in comparison.cells] == [0.5, 2.0]
    assert comparison.rows.policies == (str(run), *training_of(QUEUE).opponents)
    policy = policy_named(str(run), QueueSettings(capacity=9, arrival_rate=3.0))
    assert policy.num_opponents == 9
    observation = np.zeros(policy.observation_shape, dtype=np.float32)
    observation[27] = 1.0  # the focal player is there, nobody else
    assert policy.predict(observation)[0] == 0
    with pytest.raises(ValueError, match="only plays MatchmakingQueue-v0"):
        policy.for_settings(Settings())


@pytest.mark.parametrize("algo", ["queue", "maskable_ppo"])
def test_policies_of_lobbies_train_and_play_other_teams(tmp_path, small_config, typed, algo):
    options = {"side_size": 2, "party_sizes": [[0.7, 0.3]], "horizon": 20, "capacity": 6}
    changes = {"environment": QUEUE, "env_kwargs": options, "timesteps": 256}
    run = agents.start_training(tmp_path / "run", small_config(algo, **changes), quiet=True).path
    compared, _ = compare_runs([run], run, episodes=2, run=ALONE)
    assert compared.settings.party_sizes == (0.7, 0.3)
    words = f"compare --env {QUEUE} --policy {run} fcfs --against fcfs --load thick --episodes 2"
    words += " --workers 1 --env-kwargs side_size=5 party_sizes=[.6,.2,.1,.05,.05]"
    ended = typed(f"{words} capacity=6 horizon=20")
    assert ended.status == 0
    assert "party_sizes (0.6, 0.2, 0.1, 0.05, 0.05)" in ended.out
    policy = agents.load(run)
    settings = QueueSettings(side_size=2, party_sizes=(0.7, 0.3), horizon=40, capacity=6)
    queues = MatchmakingVecEnv(4, environment=QUEUE, **settings.changed())
    observation = queues.reset()
    for _ in range(40):
        actions = policy.predict(observation)[0]
        assert queues.env_method("action_masks")[0][actions[0]]
        observation = queues.step(actions)[0]
    with pytest.raises(ValueError, match="cannot play"):
        policy.for_settings(QueueSettings(capacity=6))


def test_a_training_on_a_load_and_a_day_is_evaluated_compared_and_resumed(typed):
    sizes = "horizon=20 capacity=6"
    words = f"train --env {QUEUE} --timesteps 256 --num-envs 8 --evaluation-episodes 2 --workers 1"
    words += " --comparison-episodes 2 --hyperparams n_steps=16 batch_size=32 --out run"
    ended = typed(f"{words} --env-kwargs arrival_rate=[1,[0.5,0.5,2]] {sizes}")
    assert ended.status == 0
    file = json.loads(Path("run/evaluations.json").read_text())
    evaluation = file["evaluations"][-1]
    names = [name for name in evaluation if name.startswith("less_matching_day")]
    assert [name.removeprefix(names[0]) for name in names] == ["", "_low", "_high"]
    policy = agents.load("run")
    assert policy.settings.arrival_rate == 1.0
    day = {"arrival_rate": [[0.5, 0.5, 2.0]], "horizon": 20, "capacity": 6}
    for options, name in (({**day, "arrival_rate": 1.0}, "less_matching_rate_1"), (day, names[0])):
        alone = HeldOutGames(QUEUE, options, 2, file["first_environment_seed"]).evaluate(policy)
        assert alone[name] == pytest.approx(evaluation[name])
    cells = json.loads(Path("run/comparison/comparison.json").read_text())["cells"]
    rates = [cell["options"]["arrival_rate"] for cell in cells.values()]
    assert rates == [1.0, "(0.5, 0.5, 2.0)"]
    with pytest.warns(UserWarning, match="learning_rate rises"):
        ended = typed("train --resume run --timesteps 384 --comparison-episodes 2 --workers 1")
    assert ended.status == 0
    words = f"compare --env {QUEUE} --policy run fcfs --against fcfs --load [.5,.5,2] --episodes 2"
    ended = typed(f"{words} --workers 1 --env-kwargs {sizes} --out compared")
    assert ended.status == 0
    again = json.loads(Path("compared/comparison.json").read_text())
    assert list(again["cells"]) == list(cells)[1:]


@pytest.mark.parametrize(
    ("rates", "loads"),
    [
        (None, ["middle"]),
        ([0.2, 0.5], ["thin", 0.5]),
        ([[0.2, 4]], [(0.2, 4.0)]),
        ([[0.2, 4], 4, [4, 0.2]], [(0.2, 4.0), "thick", (4.0, 0.2)]),
    ],
)
def test_the_loads_of_a_training_are_those_of_its_comparison(small_config, rates, loads):
    options = {"horizon": 20, "capacity": 6, "party_sizes": [[1.0]]}
    if rates is not None:
        options["arrival_rate"] = rates
    config = small_config("maskable_ppo", environment=QUEUE, env_kwargs=options)
    problem = config.comparison()
    assert problem["cells"] == {"load": loads}
    assert problem["env_kwargs"]["party_sizes"] == [1.0]
    assert type(config).from_text(config.to_text()) == config


def test_a_training_has_teams_of_one_size():
    with pytest.raises(ValueError, match="side_size must be the same in all environments"):
        settings_of(QUEUE, {"side_size": [2, 3]})


def test_a_policy_needs_no_file_of_its_training(tmp_path, small_config):
    """The file of ratings is gone."""
    for algo, name in (("queue", "population"), ("ppo", "skills")):
        ratings = tmp_path / f"{name}.csv"
        ratings.write_text("mu,sigma,mean,games\n20,2,1,90\n30,6,2,90\n25,1,0,90\n")
        options = {"population": str(ratings), "capacity": 6, "horizon": 20}
        changes = {"env_kwargs": options, "timesteps": 256}
        if algo == "ppo":
            changes["environment"] = RANKING
            changes["env_kwargs"] = {"skills": str(ratings), "num_items": 3, "horizon": 20}
        run = agents.start_training(tmp_path / name, small_config(algo, **changes), quiet=True)
        rng = np.random.default_rng(0)
        settings = agents.load(run.path).settings
        size = spaces_of(settings)[0].shape[0]
        observations = rng.random((40, size), dtype=np.float32)
        expected = agents.load(run.path).predict(observations)[0]
        if algo == "queue":
            whole = QueueSettings(population=ratings).population
            assert settings.population.mean == whole.mean
            assert settings.population.deviation == pytest.approx(whole.deviation, rel=1e-15)
        ratings.unlink()
        np.testing.assert_array_equal(agents.load(run.path).predict(observations)[0], expected)


def test_a_policy_needs_no_code_of_its_population():
    spec = "matchenv.envs.queue.population:NormalPopulation:deviation=2"
    kept = portable_options(QUEUE, {"capacity": 6, "population": spec})
    assert kept == {"capacity": 6, "population": [[[0.0], [2.0]]]}


def test_the_command_trains_a_ranking_policy_for_any_number_of_items(typed):
    words = f"train --env {RANKING} --timesteps 256 --num-envs 8 --evaluation-episodes 2"
    words += " --workers 1 --hyperparams n_steps=16 batch_size=32 --env-kwargs num_items=5"
    words += " --horizon 16 --comparison-episodes 4"
    ended = typed(f"{words} --imitate kg --seeds 0 1 --out run")
    assert ended.status == 0
    assert "over 2 seeds" in ended.out
    assert "minus information" in ended.out
    with pytest.warns(UserWarning, match="run/comparison may be of an earlier policy"):
        typed(f"{words} --imitate kg --seeds 0 1 --out run --comparison-episodes 0")
    with pytest.warns(UserWarning, match=r"run/summary\.txt may be of an earlier policy"):
        typed("train --resume run/seed0 --comparison-episodes 0")
    policy = agents.load("run/seed0")
    assert policy.settings == RankingSettings(num_items=5, horizon=16)
    barred = RankingSettings(num_items=7, horizon=9, max_games_per_pair=1, goal="top", k=2)
    # Pairs that met are refused.
    totals = rollout(policy.for_settings(barred), barred, [1, 2, 3])
    assert (totals["true_loss"] >= 0.0).all()
    assert typed(f"{words} --start-from run/seed0 --out fine").status == 0
    trainings = agents.load("fine").training
    assert [training["algorithm"] for training in trainings] == ["imitation", "ppo"]


def ranked(settings, count=16, games=20):
    """Return observations in the middle of episodes."""
    env = gym.make_vec(RANKING, count, **settings.changed())
    observation, _ = env.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(games):
        observation = env.step(rng.integers(settings.num_pairs, size=count))[0]
    return observation


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"goal": "top", "k": 2},
        {"first_advantage": 0.5},
        {"first_advantage": 0.5, "max_games_per_pair": 20},
    ],
)
def test_initial_weights_for_pairs_follow_the_shrinkage_rule(options):
    settings = RankingSettings(num_items=6, horizon=100, beta=0.5, **options)
    torch.manual_seed(0)
    description = PolicyDescription(
        "ppo", "SharedPolicy", {}, settings.changed(), environment=RANKING
    )
    observation = ranked(settings)
    policy = LearnedPolicy("fresh", description.network(), "factorised", settings)
    rule = Shrinkage().for_settings(settings)
    np.testing.assert_array_equal(policy.predict(observation)[0], rule.predict(observation)[0])


def test_pairs_are_invariant_to_order_and_scale():
    settings = RankingSettings(num_items=6, horizon=100)
    observation = ranked(settings)
    i, j = settings.pairs.T

    def read(moved, beta=1.0):
        reader = PairReader(spaces_of(replace(settings, beta=beta))[0])
        return reader.split(reader(torch.from_numpy(moved.astype(np.float32))))

    rows, _, context = read(observation)
    order = np.array([3, 0, 4, 1, 5, 2])
    pair_of = np.full((6, 6), -1)
    pair_of[i, j] = np.arange(15)
    pair_of[j, i] = np.arange(15)
    pairs = pair_of[order[i], order[j]]
    sign = np.where(order[i] < order[j], 1.0, -1.0)
    means, deviations, gaps, spreads, others = np.split(observation, [6, 12, 27, 42], axis=1)
    permuted = np.hstack(
        [means[:, order], deviations[:, order], sign * gaps[:, pairs], spreads[:, pairs], others]
    )
    mirrored = observation.copy()
    mirrored[:, :6] = 3.0 - mirrored[:, :6]
    mirrored[:, 12:27] *= -1.0
    scaled = observation.copy()
    scaled[:, :-1] *= 2.0
    for changed, beta, expected in (
        (permuted, 1.0, rows[:, :, pairs]),
        (mirrored, 1.0, rows),
        (scaled, 2.0, rows),
    ):
        again, _, same = read(changed, beta)
        torch.testing.assert_close(again, expected, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(same, context, atol=1e-3, rtol=1e-3)
