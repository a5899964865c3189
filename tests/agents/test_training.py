"""Training: run folders, held-out evaluations, resumption and imitation."""

import re
import shutil
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from scipy import stats
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from matchenv import MatchmakingVectorEnv, Settings, agents
from matchenv.agents.checkpoints import timesteps_of
from matchenv.agents.environments import HeldOutGames
from matchenv.agents.run_config import ALGORITHMS, RunFolder
from matchenv.agents.training import Keeper, Recorder, new_model
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines import DrawChance, Gittins, KnowledgeGradient
from matchenv.belief import BELIEFS
from matchenv.benchmarks.compare.training import compare_runs
from matchenv.evaluation import protocols
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE
from matchenv.evaluation.rollout import rollout
from matchenv.evaluation.seeds import evaluation_seed
from matchenv.runtime.jobs import RunOptions

RESULTS = ("policy.safetensors", "best_policy.safetensors", "evaluations.json", "config.yml")


def results(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture
def interrupted(monkeypatch):
    """A function that interrupts a training at a timestep."""

    def run(train, timesteps):
        def step(callback):
            if callback.model.num_timesteps >= timesteps:
                raise KeyboardInterrupt
            return True

        with monkeypatch.context() as patch:
            patch.setattr(Keeper, "_on_step", step)
            with pytest.raises(KeyboardInterrupt):
                train()

    return run


def test_contents_of_a_run_folder(trained, small_config):
    config = small_config()
    folder = trained()
    assert folder.read_config() == config
    content = yaml.safe_load(folder.config_file.read_text())
    packages = {"python", "matchenv", "numpy", "stable-baselines3", "torch"}
    assert packages <= set(content["versions"])
    evaluations = folder.read_evaluations()
    assert [evaluation["timesteps"] for evaluation in evaluations] == [0, 256, 512]
    logged = EventAccumulator(str(folder.tensorboard))
    logged.Reload()
    for name in set(evaluations[0]) - {"timesteps"}:
        scalars = logged.Scalars(f"evaluation/{name}")
        assert [scalar.step for scalar in scalars] == [0, 256, 512]
        expected = [evaluation[name] for evaluation in evaluations]
        assert [scalar.value for scalar in scalars] == pytest.approx(expected)
    best = max(evaluations, key=lambda evaluation: evaluation["mean_return"])
    games = HeldOutGames(ONE_PLAYER, config.env_kwargs, 4, evaluation_seed(1))
    for file, recorded in ((folder.best_policy_file, best), (folder.path, evaluations[-1])):
        policy = agents.load(file)
        assert policy.training[-1]["games"] == recorded["timesteps"]
        assert games.evaluate(policy)["mean_return"] == recorded["mean_return"]


def test_equal_seeds_give_equal_results(tmp_path, trained, small_config):
    agents.start_training(tmp_path / "run", small_config(), quiet=True)
    assert results(tmp_path / "run") == results(trained().path)
    agents.start_training(tmp_path / "other", small_config(seed=2), quiet=True)
    assert results(tmp_path / "other") != results(trained().path)


def test_a_run_is_compared_with_its_own_options(tmp_path, trained):
    folder = trained()
    options = RunOptions(workers=1, quiet=True)
    for episodes in (2, 3):  # the second replaces the first
        comparison, _ = compare_runs([folder.path], folder.path, episodes=episodes, run=options)
        assert comparison.rows.seeds.size == episodes
    assert comparison.rows.policies == (str(folder.path), *protocols.ONE_PLAYER_PROTOCOL.policies)
    ranks = [cell.labels["rank"] for cell in comparison.rows.cells]
    assert ranks == ["top", "middle", "bottom"]
    assert comparison.settings.num_opponents == 3
    assert comparison.settings.horizon == 20
    assert (folder.comparison / "comparison.txt").exists()
    with pytest.raises(ValueError, match="damaged config"):
        compare_runs([tmp_path / "none"], tmp_path)


@pytest.mark.parametrize("algo", [*ALGORITHMS, "queue"])
def test_an_interrupted_training_continues_from_its_checkpoint(
    tmp_path, small_config, interrupted, algo
):
    path = tmp_path / "run"
    config = small_config(algo)
    interrupted(lambda: agents.start_training(path, config, quiet=True), 300)
    folder = RunFolder(path)
    played = timesteps_of(folder.checkpoint_file)
    assert 200 <= played < 512
    # Weights and optimiser are those of the checkpoint.
    policy = agents.load(path)
    model = new_model(config, "cpu")
    model.set_parameters(str(folder.checkpoint_file))
    for name, tensor in policy.network.state_dict().items():
        assert torch.equal(tensor, model.policy.state_dict()[name])
    steps = []
    recorder = Recorder(lambda numbers, step: steps.append(step))
    agents.continue_training(path, quiet=True, writers=[recorder])
    assert min(steps) > played
    assert timesteps_of(folder.checkpoint_file) >= 512
    timesteps = [evaluation["timesteps"] for evaluation in folder.read_evaluations()]
    assert timesteps == sorted(set(timesteps))
    assert timesteps[-1] >= 512
    last = agents.load(path)
    assert last.training[-1]["games"] == timesteps[-1]


def test_an_interrupt_that_leaves_the_lock_of_the_log_taken_ends_the_training(
    tmp_path, small_config
):
    """It can arrive between the lock of TensorBoard's queue and the block that releases it."""
    earlier = set(threading.enumerate())
    waited = threading.Event()

    def interrupt(numbers, step):
        (writer,) = set(threading.enumerate()) - earlier
        mutex = writer._queue.mutex
        mutex.acquire()

        def release():
            waited.set()
            mutex.release()

        timer = threading.Timer(20.0, release)
        timer.daemon = True
        timer.start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        agents.start_training(
            tmp_path / "run", small_config(), quiet=True, writers=[Recorder(interrupt)]
        )
    assert not waited.is_set()


def test_the_optimiser_and_the_rate_go_on(tmp_path, small_config, interrupted):
    """Of 8 rollouts of 128 games, each with 8 updates, 3 are before the interruption."""
    path = tmp_path / "run"
    config = small_config(timesteps=1024)
    interrupted(lambda: agents.start_training(path, config, quiet=True), 400)
    file = RunFolder(path).checkpoint_file
    assert timesteps_of(file) == 384
    rates = {}

    def record(numbers, step):
        if "train/learning_rate" in numbers:
            rates[step] = numbers["train/learning_rate"]

    agents.continue_training(path, quiet=True, writers=[Recorder(record)])
    start = float(config.hyperparameters["learning_rate"].removeprefix("lin_"))
    assert sorted(rates) == [640, 768, 896, 1024]
    for step, rate in rates.items():
        learned = step - 128  # logged after the next rollout
        assert rate == pytest.approx(start * (1.0 - learned / 1024))
    optimiser = PPO.load(file).policy.optimizer.state_dict()
    assert {int(state["step"]) for state in optimiser["state"].values()} == {8 * 8}


def test_a_training_before_its_first_checkpoint_begins_again(
    tmp_path, trained, small_config, interrupted
):
    path = tmp_path / "run"
    interrupted(lambda: agents.start_training(path, small_config(), quiet=True), 60)
    with pytest.raises(ValueError, match="no policy yet"):
        agents.load(path)
    agents.continue_training(path, quiet=True)
    assert results(path) == results(trained().path)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("algo", ["ppo", "dqn"])
def test_a_training_on_a_gpu_continues_there_and_on_the_cpu(
    tmp_path, small_config, interrupted, algo
):
    config = small_config(algo)
    path = tmp_path / "run"
    interrupted(lambda: agents.start_training(path, config, device="cuda", quiet=True), 300)
    moved = shutil.copytree(path, tmp_path / "moved")
    agents.continue_training(path, device="cuda", quiet=True)
    agents.continue_training(moved, quiet=True)
    assert RunFolder(moved).read_evaluations()[-1]["timesteps"] >= 512
    observations, _ = MatchmakingVectorEnv(200, num_opponents=3, horizon=20).reset(seed=0)
    first = agents.load(moved).predict(observations)[0]
    second = agents.load(moved, device="cuda").predict(observations)[0]
    assert (first == second).mean() > 0.98  # the sums of the two devices are rounded differently


def test_bad_checkpoints_are_named(tmp_path, small_config, interrupted):
    path = tmp_path / "run"
    interrupted(lambda: agents.start_training(path, small_config(), quiet=True), 300)
    file = RunFolder(path).checkpoint_file
    content = file.read_bytes()
    file.write_bytes(content[:1000])
    with pytest.raises(ValueError, match=r"checkpoint\.zip cannot be read: .*; remove it"):
        agents.continue_training(path, quiet=True)
    other = small_config(hyperparameters={"n_steps": 16, "policy_kwargs": {"net_arch": [9]}})
    agents.start_training(tmp_path / "other", other, quiet=True)
    shutil.copy(RunFolder(tmp_path / "other").checkpoint_file, file)
    with pytest.raises(ValueError, match=r"checkpoint\.zip cannot be read: .*size mismatch"):
        agents.continue_training(path, quiet=True)


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_checkpoint_of_others_runs_no_code(tmp_path, small_config, interrupted):
    path = tmp_path / "run"
    interrupted(lambda: agents.start_training(path, small_config(), quiet=True), 300)
    file = RunFolder(path).checkpoint_file
    with zipfile.ZipFile(file) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(file, "w") as packed:
        for name, data in content.items():
            if name == "policy.optimizer.pth":
                with packed.open(name, "w") as entry:
                    torch.save(Trap(tmp_path / "sprung"), entry)
            else:
                packed.writestr(name, data)
    with pytest.raises(ValueError, match=r"checkpoint\.zip cannot be read"):
        agents.continue_training(path, quiet=True)
    assert not (tmp_path / "sprung").exists()


def test_the_same_training_continues_and_a_finished_one_is_kept_or_extended(
    tmp_path, small_config, monkeypatch, interrupted
):
    monkeypatch.chdir(tmp_path)
    path = Path("runs/ppo-seed1")
    interrupted(lambda: agents.start_training(None, small_config(), quiet=True), 300)
    assert agents.start_training(None, small_config(), quiet=True).path == path
    finished = results(path)
    agents.continue_training(path, quiet=True)
    assert results(path) == finished
    with pytest.raises(ValueError, match=r"differs in .*n_timesteps: continue it with --resume"):
        agents.start_training(None, small_config(timesteps=1024), quiet=True)
    with pytest.raises(ValueError, match=r"timesteps must be at least 512, .*, got 256"):
        agents.continue_training(path, timesteps=256, quiet=True)
    with pytest.warns(UserWarning, match="learning_rate rises from 0 to 0.0015 after 512 games"):
        folder = agents.continue_training(path, timesteps=1024, quiet=True)
    assert folder.read_config().timesteps == 1024
    assert folder.read_evaluations()[-1]["timesteps"] == 1024


def test_other_versions_are_named_and_no_obstacle(tmp_path, small_config, interrupted):
    path = tmp_path / "run"
    config = small_config()
    older = config.replaced(versions={**config.versions, "torch": "0.1"})
    interrupted(lambda: agents.start_training(path, older, quiet=True), 300)
    with pytest.warns(UserWarning, match=r"was started with other versions: torch 0\.1"):
        folder = agents.start_training(path, config, quiet=True)
    assert folder.read_evaluations()[-1]["timesteps"] == 512


@pytest.mark.parametrize(
    ("algo", "changes", "message"),
    [
        # 8 environments learn after 32 games of DQN, 128 of the others.
        ("dqn", {"learning_starts": 600}, "at least 609, since dqn first learns after 608 games"),
        ("dqn", {"learning_starts": 600, "learning_rate": 1e-3}, "at least 577, since .* 608"),
        ("dqn", {"gradient_steps": 0}, "gradient_steps must not be 0"),
        ("ppo", {"n_steps": 64}, "at least 513, since ppo first learns after 512 games, and its"),
        ("a2c", {"n_steps": 80}, "at least 641, since a2c"),
    ],
)
def test_a_training_that_cannot_learn_is_refused(tmp_path, small_config, algo, changes, message):
    config = small_config(algo)
    config = config.replaced(hyperparameters={**config.hyperparameters, **changes})
    with pytest.raises(ValueError, match=message):
        agents.start_training(tmp_path / "run", config, quiet=True)
    assert not (tmp_path / "run").exists()


def test_the_least_number_of_timesteps_changes_the_weights(tmp_path, small_config):
    """So the message of a refusal is right."""
    for algo, timesteps in (("dqn", 97), ("ppo", 129)):
        config = small_config(algo, timesteps=timesteps)
        before = new_model(config, "cpu").policy.state_dict()
        agents.start_training(tmp_path / algo, config, quiet=True)
        after = agents.load(tmp_path / algo).network.state_dict()
        assert any(not torch.equal(tensor, after[name]) for name, tensor in before.items())
        shorter = small_config(algo, timesteps=timesteps - 1)
        with pytest.raises(ValueError, match=f"timesteps must be at least {timesteps}"):
            agents.start_training(tmp_path / "shorter", shorter, quiet=True)


def test_a_run_imports_foreign_classes_only_with_permission(
    tmp_path, small_config, monkeypatch, typed
):
    code = tmp_path / "leagues.py"
    code.write_text("from matchenv import NormalPrior\nclass Leagues(NormalPrior): pass\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    env_kwargs = {"num_opponents": 3, "horizon": 20, "prior": "leagues:Leagues"}
    config = small_config(timesteps=130, env_kwargs=env_kwargs)
    with pytest.warns(UserWarning, match="every 128 games, and so plays 256 for timesteps=130"):
        agents.start_training(tmp_path / "run", config, quiet=True)
    code.write_text("raise RuntimeError('imported')")
    sys.modules.pop("leagues")
    assert RunFolder.open(tmp_path / "run").read_config() == config
    agents.load(tmp_path / "run")
    for words in ("train --resume run --timesteps 256 --quiet", "report run --quiet"):
        assert "give --allow-code" in typed(words).refusal
        ended = typed(f"{words} --allow-code")
        assert (ended.status, "imported" in ended.error) == (1, True)
    assert not list(tmp_path.glob("*.html"))


FORGETTING = """
from matchenv.belief import IndependentBelief

class Forgetting(IndependentBelief):
    def __init__(self, factor=1.0):
        self.factor = factor

    def widened(self, sigma, constants):
        return self.factor * sigma
"""


def test_a_third_party_belief_trains_and_plays_in_other_processes(
    tmp_path, small_config, monkeypatch, typed
):
    code, belief = tmp_path / "forgetting.py", "forgetting:Forgetting:factor=1.2"
    code.write_text(FORGETTING)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(BELIEFS, belief, BELIEFS["full"])  # removed at the end

    def forget():
        sys.modules.pop("forgetting", None)
        BELIEFS.pop(belief)

    BELIEFS.pop(belief)
    env_kwargs = {"num_opponents": 3, "horizon": 20, "belief": belief}
    config = small_config(timesteps=256, env_kwargs=env_kwargs)
    agents.start_training(tmp_path / "run", config, quiet=True)
    forget()
    words = f"compare --policy run kg:belief={belief} --num-opponents 3 --horizon 20 --rank any"
    words += " --episodes 4 --quiet --out"
    refused = typed(f"{words.replace(f' kg:belief={belief}', '')} one").refusal
    assert re.search("^(?!.*damaged).*give --allow-code", refused)
    with pytest.raises(ValueError, match="or in Python call"):
        agents.load(tmp_path / "run")
    assert "forgetting" not in sys.modules
    assert typed(f"{words} one --workers 1 --allow-code").status == 0
    assert typed(f"{words} two --workers 2").status == 0
    one = (tmp_path / "one" / "comparison.csv").read_bytes()
    assert one == (tmp_path / "two" / "comparison.csv").read_bytes()
    assert agents.load(tmp_path / "run").belief == belief


def test_evaluation_equals_evaluate_policy(trained):
    env_kwargs = {"num_opponents": 3, "horizon": 20, "reward": "draw_density"}
    env = MatchmakingVecEnv(8, **env_kwargs)
    policy = agents.load(trained().path)
    env.seed(7)
    returns, _ = evaluate_policy(policy, env, 8, return_episode_rewards=True)
    ours = HeldOutGames(ONE_PLAYER, env_kwargs, 8, 7).evaluate(policy)
    assert ours["mean_return"] == pytest.approx(np.mean(returns), rel=1e-5)
    assert ours["standard_error"] == pytest.approx(np.std(returns, ddof=1) / 8**0.5, rel=1e-4)
    assert ours["draw_density"] == pytest.approx(ours["mean_return"])


@pytest.mark.parametrize(
    ("belief", "priors"),
    [("factorised", ["equal"]), ("full", ["equal"]), ("factorised", ["informative", "equal"])],
)
def test_the_difference_to_kg_is_paired_and_an_episode_counts_once(belief, priors):
    """Against SciPy on the means over the priors, which share players and luck."""
    game = {"beta": 1.0, "draw_margin": 0.3}
    sizes = {"num_opponents": 4, "horizon": 15, **game}
    policy = DrawChance(beta=1.0, belief=belief)
    means = []
    for player in (policy, KnowledgeGradient(**game)):
        densities = []
        for prior in priors:
            cell = Settings.checked(**sizes, prior=prior)
            densities.append(rollout(player, cell, range(9, 15))["true_draw_density"])
        means.append(np.mean(densities, axis=0))
    interval = stats.ttest_rel(*means).confidence_interval(0.95)
    options = {**sizes, "belief": belief, "prior": priors}
    found = HeldOutGames(ONE_PLAYER, options, 6, 9).evaluate(policy)
    assert found["true_q_less_kg"] == pytest.approx((means[0] - means[1]).mean())
    assert found["true_q_less_kg_low"] == pytest.approx(interval.low)
    assert found["true_q_less_kg_high"] == pytest.approx(interval.high)


def test_returns_of_the_queue_are_relative_true_rewards():
    loads = {"arrival_rate": [0.02, 1.0], "game_length": [5, 10], "horizon": 60, "capacity": 5}
    games = HeldOutGames(QUEUE, loads, 4, 3)
    same = games.evaluate("matching")
    other = games.evaluate("fcfs")
    assert same["mean_return"] == pytest.approx(1.0)
    ours = games.played("fcfs")["true_reward"].mean(axis=1)
    theirs = games.rivals["matching"]["true_reward"].mean(axis=1)
    assert theirs[0] < 0.0
    gains = (ours - theirs) / abs(theirs)
    assert other["mean_return"] == pytest.approx(1.0 + np.mean(gains))
    # Environments with equal rates are reported together.
    assert same["true_reward_rate_0.02"] == pytest.approx(np.mean(theirs[:2]))
    assert same["true_reward_rate_1"] == pytest.approx(np.mean(theirs[2:]))


def test_a_run_can_have_the_name_of_a_policy(tmp_path, small_config, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = agents.start_training(Path("thompson"), small_config(), quiet=True)
    options = RunOptions(workers=1, quiet=True)
    comparison, _ = compare_runs([run.path], run.path, episodes=2, run=options)
    assert comparison.rows.policies[0] == "./thompson"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory, small_config):
    """Folders of two runs in one folder."""
    path = tmp_path_factory.mktemp("seeds")
    return agents.train_seeds(path, small_config(), [2, 1], workers=1, quiet=True)


def test_each_seed_equals_a_single_run_and_finished_runs_are_kept(seeds, trained, small_config):
    assert [folder.path.name for folder in seeds] == ["seed2", "seed1"]
    before = [results(folder.path) for folder in seeds]
    assert before[1] == results(trained().path)
    assert before[0] != before[1]
    out = seeds[0].path.parent
    agents.train_seeds(out, small_config(), [2, 1], workers=1, quiet=True)
    assert before == [results(folder.path) for folder in seeds]
    with pytest.raises(ValueError, match=r"differs in .*n_timesteps"):
        agents.train_seeds(out, small_config(timesteps=256), [1], workers=1, quiet=True)
    with pytest.raises(ValueError, match="holds a single run"):
        agents.train_seeds(seeds[0].path, small_config(), [1])
    with pytest.raises(ValueError, match="holds several seeds"):
        agents.start_training(out, small_config())


def test_the_summary_over_seeds_is_paired(seeds):
    paths = [folder.path for folder in seeds]
    out = seeds[0].path.parent
    comparison, summary = compare_runs(
        paths, out, episodes=6, run=RunOptions(workers=1, quiet=True)
    )

    def mean_of(name):
        return comparison.values("true_draw_density", 0, str(name)).mean()

    ours = np.array([mean_of(path) for path in paths])
    kg = mean_of("kg")
    drawchance = mean_of("drawchance")
    lines = summary.splitlines()
    line = next(line for line in lines if f"{ours.mean():.2f}" in line)
    assert f"{ours.std(ddof=1):.2f}" in line
    for other in (kg, drawchance):
        less = ours - other
        assert f"{less.mean():+.2f} ({less.min():+.2f} to {less.max():+.2f})" in line
    assert (out / "summary.txt").read_text().splitlines() == lines
    compare_runs([seeds[0].path], out, episodes=2, run=RunOptions(workers=1, quiet=True))
    assert not (out / "summary.txt").exists()


CELL = {"num_opponents": 6, "horizon": 30, "belief": "full"}


def agreement(policy, teacher, games=30):
    env = MatchmakingVectorEnv(64, **CELL)
    observation, _ = env.reset(seed=5)
    same = []
    for _ in range(games):
        chosen = policy.predict(observation)[0]
        same.append((chosen == teacher.predict(observation)[0]).mean())
        observation = env.step(chosen)[0]
    return float(np.mean(same))


def test_imitation_learns_the_teachers_choices_and_records_its_provenance(tmp_path, small_config):
    config = small_config(
        "imitation",
        timesteps=6_000,
        num_envs=16,
        hyperparameters={
            "teacher": "gittins",
            "n_steps": 30,
            "batch_size": 160,
            "learning_rate": "lin_1e-2",
            "policy_kwargs": {"net_arch": {"pi": [16], "vf": [16]}},
        },
        env_kwargs={**CELL, "prior": ["informative", "equal"]},
        evaluate_every=100_000,
    )
    folder = agents.start_training(tmp_path / "run", config, quiet=True)
    policy = agents.load(folder.path)
    teacher = Gittins(horizon=30)
    assert agreement(policy, teacher) > 0.85
    (training,) = policy.training
    assert training["algorithm"] == "imitation"
    assert training["teacher"] == "gittins"
    # PPO goes on from its weights, and the file says both.
    after = small_config(
        "ppo",
        timesteps=128,
        hyperparameters={
            "n_steps": 16,
            "batch_size": 64,
            "learning_rate": 1e-5,
            "policy_kwargs": config.hyperparameters["policy_kwargs"],
        },
        env_kwargs=CELL,
        start_from=str(folder.path),
    )
    kwargs = {**after.hyperparameters["policy_kwargs"], "activation_fn": "relu"}
    other = after.replaced(hyperparameters={**after.hyperparameters, "policy_kwargs": kwargs})
    with pytest.raises(ValueError, match=r"start_from must have the network .* activations differ"):
        agents.start_training(tmp_path / "other", other, quiet=True)
    agents.start_training(tmp_path / "fine", after, quiet=True)
    fine = agents.load(tmp_path / "fine")
    assert [training["algorithm"] for training in fine.training] == ["imitation", "ppo"]
    assert agreement(fine, policy) > 0.95
    shutil.rmtree(folder.path)  # what a training started from is not needed to go on
    agents.continue_training(tmp_path / "fine", timesteps=256, quiet=True)
    games = [training["games"] for training in agents.load(tmp_path / "fine").training]
    assert games == [6240, 256]
