"""The search and the training: uphill, from equal seeds to equal weights."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents.equivariant.evolution import Evolution, Generation, evolve
from matchenv.agents.equivariant.folder import EquivariantFolder, read_equivariant_config
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.selection import train_seeds, validation_report
from matchenv.agents.equivariant.training import (
    parameters_of,
    play_totals,
    standardised_gains,
    start_and_scales,
    train,
    validate,
)
from matchenv.baselines import DrawChance
from matchenv.commands import run_command
from matchenv.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"num_opponents": 4, "horizon": 15}


def small_config(**changes):
    small = {"generations": 2, "pairs": 2, "episodes": 2, "env_kwargs": SMALL}
    return replace(read_equivariant_config(), **{**small, **changes})


def test_the_search_climbs_a_noisy_hill():
    top = np.array([1.0, -2.0, 0.5, 3.0])
    noise = np.random.default_rng(1)

    def fitness(generation, centre, steps):
        def height(x):
            return -((x - top) ** 2 / np.array([1.0, 1.0, 1.0, 9.0])).sum(axis=1)

        luck = noise.normal(0.0, 0.3, len(steps))
        return height(centre + steps) - height(centre - steps) + luck

    scales = np.array([0.3, 0.3, 0.0, 0.9])
    generations = list(
        evolve(np.zeros(4), scales, fitness, Evolution(300, 8, 0.1), np.random.default_rng(0))
    )
    assert [each.number for each in generations] == list(range(1, 301))
    found = generations[-1].average
    np.testing.assert_allclose(found[[0, 1, 3]], top[[0, 1, 3]], atol=0.25)
    assert found[2] == 0.0


@pytest.mark.parametrize(
    ("name", "value"), [("generations", 0), ("pairs", 0), ("rate", 0.0), ("rate", float("nan"))]
)
def test_a_search_refuses(name, value):
    with pytest.raises(ValueError, match=name):
        Evolution(**{"generations": 2, "pairs": 2, "rate": 0.1, name: value})


def test_both_of_a_pair_play_the_same_games():
    network = agents.load("equivariant").network.mlp_extractor.network
    cells = [{**SMALL, "rank": "top"}, {**SMALL, "prior": "equal"}]
    seeds = [[5, 6, 7], [8, 9, 10]]
    np.testing.assert_array_equal(
        play_totals(network, cells, seeds), play_totals(network, cells, seeds)
    )


def test_totals_are_those_of_the_environment():
    class Even:
        """A network whose scores are DrawChance's."""

        def scores(self, opponents, state):
            variance = opponents[:, 1] + 5.0
            return (-0.5 * opponents[:, 0] ** 2 / variance) - 0.5 * variance.log()

    env = MatchmakingVectorEnv(3, belief="full", **SMALL)
    observation, _ = env.reset(seed=[5, 6, 7])
    policy, totals = DrawChance(belief="full"), np.zeros(3)
    for _ in range(15):
        observation, _, _, _, info = env.step(policy.predict(observation)[0])
        totals += info["true_draw_density"]
    np.testing.assert_allclose(play_totals(Even(), [SMALL], [[5, 6, 7]])[0], totals, rtol=1e-12)


def test_the_search_plays_with_the_beta_of_its_environments():
    network = agents.load("equivariant").network.mlp_extractor.network
    policy = agents.load("equivariant", settings=Settings.checked(beta=0.4))
    env = MatchmakingVectorEnv(3, belief="full", beta=0.4, **SMALL)
    observation, _ = env.reset(seed=[5, 6, 7])
    totals = np.zeros(3)
    for _ in range(15):
        observation, _, _, _, info = env.step(policy.predict(observation)[0])
        totals += info["true_draw_density"]
    found = play_totals(network, [{**SMALL, "beta": 0.4}], [[5, 6, 7]])
    np.testing.assert_allclose(found[0], totals, rtol=1e-12)


def test_every_training_starts_from_the_same_index():
    start = start_and_scales(small_config())[0]
    np.testing.assert_array_equal(start, parameters_of(EquivariantNetwork()))
    biases = np.exp(EquivariantNetwork().factors.bias.detach().numpy())
    np.testing.assert_allclose(biases, [0.1, 6.0], rtol=1e-6)


def test_equal_seeds_give_equal_weights_on_any_number_of_workers():
    found = []
    for workers, seed in ((1, 0), (2, 0), (1, 1)):
        with ThreadPoolExecutor(workers) as executor:
            found.append(parameters_of(train(small_config(), seed, executor)))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_what_nothing_would_hold_stays():
    config = small_config()
    start, scales = start_and_scales(config)
    with ThreadPoolExecutor(1) as executor:
        found = parameters_of(train(config, 0, executor))
    np.testing.assert_allclose(found[scales == 0.0], start[scales == 0.0])
    assert (found[scales > 0.0] != start[scales > 0.0].astype(np.float32)).all()


def quick(out, *seeds):
    return run_command(["search", "--quick", "--workers", "1", "--out", str(out), "--seed", *seeds])


def test_the_command(tmp_path, capsys):
    assert quick(tmp_path / "one", "3", "4") == 0
    assert quick(tmp_path / "two", "3") == 0
    report = json.loads((tmp_path / "one" / "validation.json").read_text())
    gains = {name: each["mean_gain"] for name, each in report["policies"].items()}
    assert set(gains) == {"start", "seed3", "seed4"}
    assert gains["start"] == 0.0
    kept = max(("seed3", "seed4"), key=lambda name: report["policies"][name]["standardised_gain"])
    assert report["kept"] == kept
    file = "policy-seed3.safetensors"
    assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    best = (tmp_path / "one" / f"policy-{kept}.safetensors").read_bytes()
    assert (tmp_path / "one" / "policy.safetensors").read_bytes() == best
    assert agents.load(tmp_path / "one" / "policy.safetensors").belief == "full"
    assert agents.load(tmp_path / "one" / "policy-start.safetensors").belief == "full"
    assert "seed 3, generation 2 of 2" in capsys.readouterr().out


def test_equal_searches_start_from_the_same_bytes(tmp_path):
    starts = []
    for number in range(2):
        torch.manual_seed(number)  # as two processes would find it
        assert quick(tmp_path / str(number)) == 0
        starts.append((tmp_path / str(number) / "policy-start.safetensors").read_bytes())
    assert starts[0] == starts[1]


def test_without_a_seed_there_is_the_start(tmp_path):
    assert quick(tmp_path) == 0
    files = {each.name for each in tmp_path.iterdir()}
    assert files == {"config.yml", "made_with.json", "policy-start.safetensors", "validation.npz"}


class Killed(BaseException):
    """Stands for a kill: nothing handles it."""


def test_a_training_that_was_killed_goes_on_to_the_same_weights(tmp_path):
    config = small_config(validation_episodes=3)
    told = []

    def trained(name, stop_after=None):
        def say(line):
            told.append((name, line))
            if stop_after and f"generation {stop_after} " in line:
                raise Killed

        folder = EquivariantFolder(tmp_path / name, config)
        folder.open()
        with ThreadPoolExecutor(1) as executor:
            train_seeds(folder, [5], executor, say)

    trained("whole")
    with pytest.raises(Killed):
        trained("killed", stop_after=1)
    assert not (tmp_path / "killed" / "policy-seed5.safetensors").exists()
    told.clear()
    trained("killed")
    assert [line.split(":")[0] for _, line in told] == ["seed 5, generation 2 of 2", "seed 5"]
    told.clear()
    trained("killed")
    assert [line.split(":")[0] for _, line in told] == ["seed 5"]
    for file in (
        "config.yml",
        "policy.safetensors",
        "policy-seed5.safetensors",
        "policy-start.safetensors",
        "search-seed5.json",
        "validation.json",
        "validation.npz",
    ):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_gains_are_in_standard_deviations_of_their_cell():
    differences = np.array([[1.0, 3.0], [10.0, 30.0], [0.0, 0.0], [-1.0, -3.0]])
    np.testing.assert_allclose(standardised_gains(differences), [2.0, 2.0, 0.0, -2.0])


def test_validation_does_not_depend_on_its_blocks(monkeypatch):
    config = small_config(validation_episodes=5)
    start, _ = start_and_scales(config)
    whole = validate(start, config, {"rank": "top"})
    monkeypatch.setattr("matchenv.agents.equivariant.training.BLOCK", 2)
    np.testing.assert_array_equal(validate(start, config, {"rank": "top"}), whole)
    assert whole.shape == (5,)


def test_other_settings_do_not_mix(tmp_path):
    EquivariantFolder(tmp_path, small_config(rate=0.25)).open()
    EquivariantFolder(tmp_path, small_config(rate=0.25)).open()
    with pytest.raises(ValueError, match=r"holds trainings with rate 0\.25, not 0\.5"):
        EquivariantFolder(tmp_path, small_config(rate=0.5)).open()


@pytest.mark.parametrize(
    "change",
    [
        {"number": 3},
        {"centre": ["a"]},
        {"scale": float("nan")},
        {"generator": {"bit_generator": "MT19937"}},
        {"more": 1},
    ],
)
def test_a_damaged_search_is_told(tmp_path, change):
    folder = EquivariantFolder(tmp_path, small_config())
    folder.open()
    assert folder.last_generation(5) is None
    rng = np.random.default_rng(5)
    row = np.array([0.1, 1.0 / 3.0])
    folder.save_generation(5, Generation(1, row, row, row, 0.5, 0.25, rng.bit_generator.state))
    found = folder.last_generation(5)
    np.testing.assert_array_equal(found.centre, row)
    file = tmp_path / "search-seed5.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(ValueError, match=r"search-seed5\.json is damaged"):
        folder.last_generation(5)


def test_damaged_totals_are_told(tmp_path):
    folder = EquivariantFolder(tmp_path, small_config())
    folder.open()
    folder.save_totals({"start": np.ones((6, 2))})
    file = tmp_path / "validation.npz"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"validation\.npz is damaged.*remove the file"):
        folder.totals()


def test_the_report_is_of_paired_differences():
    start = np.zeros((6, 2))
    better = np.tile([1.0, 3.0], (6, 1))
    worse = np.tile([0.0, 5.0], (6, 1))
    report = validation_report({"start": start, "seed1": worse, "seed7": better})
    assert report["kept"] == "seed7"
    found = report["policies"]["seed7"]
    # The other gains more, with more than its share of luck: 2.5 / 2.5 against 2 / 1.
    assert report["policies"]["seed1"]["mean_gain"] == 2.5
    assert report["policies"]["seed1"]["standardised_gain"] == pytest.approx(1.0)
    assert found["mean_gain"] == 2.0
    assert found["standardised_gain"] == pytest.approx(2.0)
    # 1 and 3: a standard deviation of sqrt(2), over the root of two episodes
    assert found["mean_gain_standard_error"] == pytest.approx(1.0)
    assert report["policies"]["start"]["standardised_gain"] == 0.0
    assert found["cells"]["top, equal"] == pytest.approx(
        {"total": 2.0, "gain": 2.0, "standard_error": 1.0}
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("episodes: 3", "entries"),
        ("- 1", "entries"),
        ("a: [", "YAML"),
    ],
)
def test_bad_configurations(tmp_path, capsys, text, names):
    file = tmp_path / "bad.yml"
    file.write_text(text)
    assert run_command(["search", "--config", str(file), "--out", str(tmp_path / "out")]) == 2
    assert names in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"episodes": 0},
        {"pairs": -1},
        {"rate": float("inf")},
        {"cells": []},
        {"cells": ["top"]},
        {"cells": [{"speed": 3}]},
        {"cells": [{"horizon": 3}]},
        {"start": {"worth": 0.1}},
        {"perturbations": {"bias": 0.1, "slope": -1.0, "missing_variance": 0.1}},
    ],
)
def test_bad_numbers(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        replace(read_equivariant_config(), **change)


def test_bad_arguments_of_a_cell():
    with pytest.raises(ValueError, match="rank must be"):
        small_config(cells=[{"rank": "best"}])
