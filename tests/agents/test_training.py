"""Training: run folders, held-out evaluations, exact resumption and imitation."""

import re
import shutil
import sys
from contextlib import nullcontext
from functools import partial
from importlib import reload
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from scipy import stats
from stable_baselines3.common.evaluation import evaluate_policy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from matchenv import MatchmakingVectorEnv, Settings, agents
from matchenv.agents import checkpoints
from matchenv.agents.environments import ONE_PLAYER, HeldOutGames
from matchenv.agents.run_config import ALGORITHMS, RunFolder
from matchenv.agents.training import Keeper
from matchenv.agents.tuning import tune_agent
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines import DrawChance, Gittins, KnowledgeGradient
from matchenv.belief import BELIEFS
from matchenv.benchmarks.compare.training import compare_runs
from matchenv.evaluation import protocols
from matchenv.evaluation.registry import QUEUE, candidates_of
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
    config, folder = small_config(), trained()
    assert folder.read_config() == config
    said = yaml.safe_load(folder.config_file.read_text())
    assert {"python", "matchenv", "numpy", "stable-baselines3", "torch"} <= set(said["versions"])
    evaluations = folder.read_evaluations()
    assert [each["timesteps"] for each in evaluations] == [0, 256, 512]
    assert len(list(folder.checkpoints.iterdir())) == 2
    logged = EventAccumulator(str(folder.tensorboard))
    logged.Reload()
    for name in set(evaluations[0]) - {"timesteps"}:
        expected = [(each["timesteps"], pytest.approx(each[name])) for each in evaluations]
        scalars = logged.Scalars(f"evaluation/{name}")
        assert [(each.step, each.value) for each in scalars] == expected
    best = max(evaluations, key=lambda each: each["mean_return"])
    games = HeldOutGames(ONE_PLAYER, config.env_kwargs, 4, evaluation_seed(1))
    for file, recorded in ((folder.best_policy_file, best), (folder.path, evaluations[-1])):
        policy = agents.load(file)
        assert policy.training[-1]["games"] == recorded["timesteps"]
        assert games.evaluate(policy)["mean_return"] == recorded["mean_return"]


def test_a_run_is_compared_with_its_own_options(tmp_path, trained):
    folder, options = trained(), RunOptions(workers=1, quiet=True)
    for episodes in (2, 3):  # the second replaces the first
        found, _ = compare_runs([folder.path], folder.path, episodes=episodes, run=options)
        assert found.rows.seeds.size == episodes
    assert found.rows.policies == (str(folder.path), *protocols.ONE_PLAYER.policies)
    assert [cell.labels["rank"] for cell in found.rows.cells] == ["top", "middle", "bottom"]
    assert (found.settings.num_opponents, found.settings.horizon) == (3, 20)
    assert (folder.comparison / "comparison.txt").exists()
    with pytest.raises(ValueError, match="damaged config"):
        compare_runs([tmp_path / "none"], tmp_path)


@pytest.mark.parametrize("algo", [*ALGORITHMS, "queue"])
def test_an_interrupted_training_continues_bit_for_bit(
    tmp_path, trained, small_config, interrupted, algo
):
    path = tmp_path / "run"
    interrupted(lambda: agents.start_training(path, small_config(algo), quiet=True), 300)
    assert agents.load(path).num_opponents == (6 if algo == "queue" else 3)
    agents.continue_training(path, quiet=True)
    assert results(path) == results(trained(algo).path)
    if algo == "ppo":  # before its first checkpoint
        early = tmp_path / "early"
        interrupted(lambda: agents.start_training(early, small_config(), quiet=True), 60)
        with pytest.raises(ValueError, match="no policy yet"):
            agents.load(early)
        agents.continue_training(early, quiet=True)
        assert results(early) == results(trained().path)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("algo", ["ppo", "dqn"])
def test_a_training_on_a_gpu_continues_there_and_on_the_cpu(
    tmp_path, small_config, interrupted, algo
):
    config, whole, part = small_config(algo), tmp_path / "whole", tmp_path / "part"
    agents.start_training(whole, config, device="cuda", quiet=True)
    interrupted(lambda: agents.start_training(part, config, device="cuda", quiet=True), 300)
    moved = shutil.copytree(part, tmp_path / "moved")
    agents.continue_training(part, device="cuda", quiet=True)
    assert results(part) == results(whole)
    agents.continue_training(moved, quiet=True)
    assert len(RunFolder(moved).read_evaluations()) == len(RunFolder(whole).read_evaluations())
    observations, _ = MatchmakingVectorEnv(200, num_opponents=3, horizon=20).reset(seed=0)
    first, second = (
        agents.load(moved, device=device).predict(observations)[0] for device in ("cpu", "cuda")
    )
    assert (first == second).mean() > 0.98  # the sums of the two devices are rounded differently


def test_a_damaged_checkpoint_is_skipped(tmp_path, trained, small_config, interrupted):
    path, config = tmp_path / "run", small_config()
    interrupted(lambda: agents.start_training(path, config, quiet=True), 300)
    _, newest = sorted((path / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:1000])
    # Stopped again once the damaged one has been replaced.
    with pytest.warns(UserWarning, match="skipping the damaged checkpoint"):
        interrupted(lambda: agents.continue_training(path, quiet=True), 300)
    assert checkpoints.read_checkpoint(newest, config)["counters"]["num_timesteps"] >= 250
    with pytest.raises(ValueError, match="does not fit the file and the run"):
        checkpoints.read_checkpoint(newest, small_config(seed=2))
    agents.continue_training(path, quiet=True)
    assert results(path) == results(trained().path)
    for place in (path / "checkpoints").iterdir():
        assert not place.name.startswith(".")
        place.write_bytes(b"")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(ValueError, match="all damaged"):
        agents.continue_training(path, quiet=True)


def test_the_same_training_continues_and_a_finished_one_is_kept_or_extended(
    tmp_path, trained, small_config, monkeypatch, interrupted
):
    monkeypatch.chdir(tmp_path)
    path = Path("runs/ppo-seed1")
    interrupted(lambda: agents.start_training(None, small_config(), quiet=True), 300)
    assert agents.start_training(None, small_config(), quiet=True).path == path
    agents.continue_training(path, quiet=True)
    assert results(path) == results(trained().path)
    with pytest.raises(ValueError, match=r"differs in .*n_timesteps: continue it with --resume"):
        agents.start_training(None, small_config(timesteps=1024), quiet=True)
    with pytest.raises(ValueError, match=r"timesteps must be at least 512, .*, got 256"):
        agents.continue_training(path, timesteps=256, quiet=True)
    folder = agents.continue_training(path, timesteps=640, quiet=True)
    assert folder.read_config().timesteps == 640
    assert folder.read_evaluations()[-1]["timesteps"] == 640


def test_a_run_imports_foreign_classes_only_with_permission(
    tmp_path, small_config, monkeypatch, typed
):
    code = tmp_path / "leagues.py"
    code.write_text("from matchenv import NormalPrior\nclass Leagues(NormalPrior): pass\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    env_kwargs = {"num_opponents": 3, "horizon": 20, "prior": "leagues:Leagues"}
    config = small_config(timesteps=100, env_kwargs=env_kwargs)
    with pytest.warns(UserWarning, match="every 128 games, and so plays 128 .* falling"):
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
    config = small_config(timesteps=128, env_kwargs=env_kwargs)
    with pytest.warns(UserWarning, match="every 128 games"):
        agents.start_training(tmp_path / "run", config, quiet=True)
    forget()
    words = f"compare --policy run kg:belief={belief} --num-opponents 3 --horizon 20 --rank any"
    words += " --episodes 4 --quiet --out"
    refused = typed(f"{words.replace(f' kg:belief={belief}', '')} one").refusal
    assert re.search("^(?!.*damaged).*give --allow-code", refused)
    with pytest.raises(ValueError, match="or in Python call"):
        agents.load(tmp_path / "run")
    assert "forgetting" not in sys.modules
    for _ in range(2):  # the second time nothing has changed
        assert typed(f"{words} one --workers 1 --allow-code").status == 0
    assert typed(f"{words} two --workers 2").status == 0
    one, two = ((tmp_path / name / "comparison.csv").read_bytes() for name in ("one", "two"))
    assert one == two
    assert agents.load(tmp_path / "run").belief == belief
    settings = Settings(num_opponents=3, horizon=20, belief=belief)
    (before,) = candidates_of(["drawchance"], settings)
    code.write_text(FORGETTING.replace("self.factor * sigma", "1.0 + sigma"))
    forget()
    (after,) = candidates_of(["drawchance"], settings)
    assert after.identity != before.identity  # as in the study
    assert f"kg:belief={belief} was" in typed(f"{words} one --allow-code").refusal


def test_evaluation_equals_evaluate_policy(trained):
    env_kwargs = {"num_opponents": 3, "horizon": 20, "reward": "draw_density"}
    env, policy = MatchmakingVecEnv(8, **env_kwargs), agents.load(trained().path)
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
    policy, means = DrawChance(beta=1.0, belief=belief), []
    for player in (policy, KnowledgeGradient(**game)):
        cells = [Settings.checked(**sizes, prior=prior) for prior in priors]
        found = [rollout(lambda *_, player=player: player, cell, range(9, 15)) for cell in cells]
        means.append(np.mean([each["true_draw_density"] for each in found], axis=0))
    interval = stats.ttest_rel(*means).confidence_interval(0.95)
    options = {**sizes, "belief": belief, "prior": priors}
    found = HeldOutGames(ONE_PLAYER, options, 6, 9).evaluate(policy)
    assert found["true_q_less_kg"] == pytest.approx((means[0] - means[1]).mean())
    assert found["true_q_less_kg_low"] == pytest.approx(interval.low)
    assert found["true_q_less_kg_high"] == pytest.approx(interval.high)


def test_returns_of_the_queue_are_relative_true_rewards():
    loads = {"arrival_rate": [0.02, 1.0], "game_length": [5, 10], "horizon": 60, "capacity": 5}
    games = HeldOutGames(QUEUE, loads, 4, 3)
    same, other = games.evaluate("matching"), games.evaluate("fcfs")
    assert same["mean_return"] == pytest.approx(1.0)
    ours, theirs = (each["true_reward"].mean(axis=1)
                    for each in (games.played("fcfs"), games.rivals["matching"]))  # fmt: skip
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
    found, _ = compare_runs([run.path], run.path, episodes=2, run=options)
    assert found.rows.policies[0] == "./thompson"


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
    paths, out = [folder.path for folder in seeds], seeds[0].path.parent
    found, summary = compare_runs(paths, out, episodes=6, run=RunOptions(workers=1, quiet=True))
    ours, kg, drawchance = (
        np.array([found.values("true_draw_density", 0, str(name)).mean() for name in names])
        for names in (paths, ["kg"], ["drawchance"])
    )
    lines = summary.splitlines()
    line = next(each for each in lines if f"{ours.mean():.2f}" in each)
    assert f"{ours.std(ddof=1):.2f}" in line
    for other in (kg, drawchance):
        less = ours - other
        assert f"{less.mean():+.2f} ({less.min():+.2f} to {less.max():+.2f})" in line
    assert (out / "summary.txt").read_text().splitlines() == lines
    compare_runs([seeds[0].path], out, episodes=2, run=RunOptions(workers=1, quiet=True))
    assert not (out / "summary.txt").exists()


@pytest.mark.parametrize("option", ["start_from", "teacher", "prior"])
def test_changed_files_and_code_of_options_are_another_training(
    tmp_path, trained, small_config, monkeypatch, option
):
    code, weights = tmp_path / f"source_of_{option}.py", tmp_path / "policy.safetensors"
    base = "baselines.PointEstimate" if option == "teacher" else "NormalPrior"
    text = f"import matchenv.baselines\nclass Mine(matchenv.{base}): pass\n"
    code.write_text(text)
    shutil.copy(trained().policy_file, weights)
    monkeypatch.syspath_prepend(tmp_path)
    spec = str(weights) if option == "start_from" else f"{code.stem}:Mine"
    algo, changes = {
        "start_from": ("ppo", {"start_from": spec}),
        "teacher": (
            "imitation",
            {"hyperparameters": {"n_steps": 16, "batch_size": 64, "teacher": spec}},
        ),
        "prior": ("ppo", {"env_kwargs": {"num_opponents": 3, "horizon": 20, "prior": spec}}),
    }[option]
    for changed in (False, False, True):
        if changed:
            agents.start_training(tmp_path / "other", small_config(seed=2), quiet=True)
            shutil.copy(tmp_path / "other" / "policy.safetensors", weights)
            code.write_text(f"{text}\n")
            if option != "start_from":
                reload(sys.modules[code.stem])
        config = small_config(algo, **changes)
        for train in (
            partial(agents.start_training, tmp_path / "run", config),
            partial(agents.train_seeds, tmp_path / "seeds", config, [1], workers=1),
            partial(tune_agent, tmp_path / "search", config, {"gamma": [0.9]}, 1),
        ):
            with (
                pytest.raises(ValueError, match=f"differs in {spec}: ")
                if changed
                else nullcontext()
            ):
                train(quiet=True)
    weights.unlink()
    if option == "start_from":  # the weights are in the checkpoint
        agents.train_seeds(tmp_path / "seeds", small_config(algo, **changes), [1], quiet=True)


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
            "teacher": "gittins", "n_steps": 30, "batch_size": 160, "learning_rate": "lin_1e-2",
            "policy_kwargs": {"net_arch": {"pi": [16], "vf": [16]}},
        },
        env_kwargs={**CELL, "prior": ["informative", "equal"]},
        evaluate_every=100_000,
    )  # fmt: skip
    folder = agents.start_training(tmp_path / "run", config, quiet=True)
    policy, teacher = agents.load(folder.path), Gittins(horizon=30)
    assert agreement(policy, teacher) > 0.85
    (training,) = policy.training
    assert (training["algorithm"], training["teacher"]) == ("imitation", "gittins")
    # PPO goes on from its weights, and the file says both.
    after = small_config(
        "ppo",
        timesteps=128,
        hyperparameters={
            "n_steps": 16, "batch_size": 64, "learning_rate": 1e-5,
            "policy_kwargs": config.hyperparameters["policy_kwargs"],
        },
        env_kwargs=CELL,
        start_from=str(folder.path),
    )  # fmt: skip
    kwargs = {**after.hyperparameters["policy_kwargs"], "activation_fn": "relu"}
    other = after.replaced(hyperparameters={**after.hyperparameters, "policy_kwargs": kwargs})
    with pytest.raises(ValueError, match=r"start_from must have the network .* activations differ"):
        agents.start_training(tmp_path / "other", other, quiet=True)
    agents.start_training(tmp_path / "fine", after, quiet=True)
    fine = agents.load(tmp_path / "fine")
    assert [each["algorithm"] for each in fine.training] == ["imitation", "ppo"]
    assert agreement(fine, policy) > 0.95
    shutil.rmtree(folder.path)  # what a training started from is not needed to go on
    agents.continue_training(tmp_path / "fine", timesteps=256, quiet=True)
    assert [each["games"] for each in agents.load(tmp_path / "fine").training] == [6240, 256]
