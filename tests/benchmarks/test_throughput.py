"""What the throughput benchmark reports; never how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from matchenv import KnowledgeState
from matchenv.benchmarks.throughput import environment, policies, training
from matchenv.benchmarks.throughput import sections as sections_module
from matchenv.benchmarks.throughput.kept_ratios import (
    KEPT,
    Ratio,
    beside,
    keep_ratios,
    kept_ratios,
    key_of,
)
from matchenv.benchmarks.throughput.report import as_json, line, reached
from matchenv.benchmarks.throughput.sections import sections
from matchenv.benchmarks.throughput.timing import Contest, Measurement, contest
from matchenv.commands import run_command


class TestReport:
    def test_ratio_is_the_median_of_the_turns(self):
        result = Contest("s", "n", "steps/s", "a", "b", [6.0, 2.0, 9.0], [2.0, 2.0, 1.0], 3.0)
        assert result.ratios == [3.0, 1.0, 9.0]
        assert result.ratio == 3.0
        assert reached(result)
        assert "3 (1 to 9) times [target: at least 3; reached]" in line(result)

    @pytest.mark.parametrize(
        ("values", "verdict"), [([1.0, 1.4, 9.0], "reached"), ([1.6, 1.5, 0.1], "MISSED")]
    )
    def test_reading_stays_below_its_target(self, values, verdict):
        assert f"target: below 1.5; {verdict}]" in line(Measurement("s", "n", "s", values, 1.5))

    def test_without_a_target_there_is_no_verdict(self):
        measurement = Measurement("s", "n", "s", [1.0])
        assert reached(measurement) is None
        assert "target" not in line(measurement)

    def test_json_holds_every_turn(self):
        results = [
            Contest("s", "n", "u", "a", "b", [4.0], [2.0]),
            Measurement("s", "m", "s", [5.0]),
        ]
        data = json.loads(json.dumps(as_json(results, 1)))
        assert data["contests"][0]["our_rates"] == [4.0]
        assert data["contests"][0]["ratio"] == 2.0
        assert data["measurements"][0]["median"] == 5.0


class TestKeptRatios:
    def test_a_run_is_kept_over_the_one_before_and_printed_beside_the_next(self, tmp_path: Path):
        path = tmp_path / "ratios.json"
        fast = Contest("s", "n", "u", "a", "b", [4.0, 6.0, 5.0], [1.0, 1.0, 1.0])
        other = Contest("s", "m", "u", "a", "b", [1.0], [3.0])
        keep_ratios(path, [fast, Measurement("s", "m", "s", [5.0])])
        keep_ratios(path, [other])
        kept = kept_ratios(path)
        assert kept == {"s: n, b": Ratio(4.0, 5.0, 6.0), "s: m, b": Ratio(0.333, 0.333, 0.333)}
        slow = Contest("s", "n", "u", "a", "b", [3.9], [1.0])
        assert beside(fast, kept) == " [kept: 5 (4 to 6)]"
        assert beside(slow, kept) == " [kept: 5 (4 to 6); SLOWER]"
        assert line(slow, beside(slow, kept)).splitlines()[0].endswith("SLOWER]")
        assert beside(slow, {}) == beside(Measurement("s", "n", "s", [5.0]), kept) == ""

    @pytest.mark.parametrize("text", ["{", "[1]", '{"a": [1]}', '{"a": ["x", 1, 2]}', '{"a": 1}'])
    def test_another_file_is_refused_before_anything_runs(self, text, tmp_path: Path, capsys):
        path = tmp_path / "ratios.json"
        path.write_text(text)
        assert run_command(["throughput", "--only", "queue", "--keep", str(path)]) == 2
        assert "must be a file of ratios" in capsys.readouterr().err
        assert path.read_text() == text

    def test_the_package_has_some_of_every_kind_that_was_hard_won(self):
        names = " ".join(kept_ratios())
        assert KEPT.is_file()
        for part in (
            "one call of rate, 2 against 2",
            "one call of win_probability",
            "draws and drift",
            "on the full belief",
            "gittins, 49 opponents",
            "ppo-gittins, 49 opponents",
            "proposals by drawchance",
            "proposals by kg",
        ):
            assert part in names
        assert key_of(Contest("s", "n", "u", "a", "b", [1.0], [1.0])) == "s: n, b"


def test_contest_alternates_and_does_not_count_the_first_turns():
    order: list[str] = []

    def busy(seconds: float) -> None:
        start = time.process_time()
        while time.process_time() - start < seconds:
            pass

    def ours() -> None:
        order.append("ours")
        busy(0.002)

    def rival() -> None:
        order.append("rival")
        busy(0.02)

    result = contest("s", "n", "u", ("a", ours, 2.0), ("b", rival, 2.0), turns=3)
    assert order == ["ours", "rival"] * 4
    assert len(result.our_rates) == len(result.rival_rates) == 3
    assert all(0.0 < rate <= 2.0 / 0.002 for rate in result.our_rates)
    assert all(0.0 < rate <= 2.0 / 0.02 for rate in result.rival_rates)


class TestSections:
    def test_every_module_that_measures_is_one(self):
        found = sections()
        assert {"environment", "policies"} <= set(found)
        assert not {"timing", "report", "sections"} & set(found)

    def test_command_runs_those_asked_for(self, monkeypatch, tmp_path: Path, capsys):
        def one(turns: int) -> list[Measurement]:
            return [Measurement("one", "turns asked for", "turns", [float(turns)])]

        def two(turns: int) -> list[Measurement]:
            raise AssertionError("not asked for")

        monkeypatch.setattr(sections_module, "sections", lambda: {"one": one, "two": two})
        assert (
            run_command(["throughput", "--only", "one", "--turns", "4", "--out", str(tmp_path)])
            == 0
        )
        assert "turns asked for: 4 (4 to 4) turns" in capsys.readouterr().out
        data = json.loads((tmp_path / "throughput.json").read_text())
        assert data["turns"] == 4
        assert data["measurements"][0]["values"] == [4.0]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--turns", "0"], "turns must be an integer of at least 1, got 0"),
            (["--only", "nothing"], "environment"),
        ],
    )
    def test_bad_input_is_refused(self, arguments, message, capsys):
        assert run_command(["throughput", *arguments]) == 2
        assert message in capsys.readouterr().err


class TestContestants:
    def test_turns_do_the_work_that_they_count(self, monkeypatch):
        monkeypatch.setattr(environment, "NUM_ENVS", 3)
        monkeypatch.setattr(environment, "VECTOR_STEPS", 5)
        stepped: list[np.ndarray] = []

        class Counting:
            def reset(self) -> None:
                stepped.clear()

            def step(self, actions: np.ndarray) -> None:
                stepped.append(actions)

        _, turn, units = environment._vector_side("x", Counting(), 2, np.int32, 5)
        turn()
        assert units == sum(map(len, stepped)) == 15
        assert all(row.dtype == np.int32 and row.max() < 2 for row in stepped)

    @pytest.mark.parametrize("make", [environment.vector_matchmaking, environment.vector_cartpole])
    def test_native_sides_run(self, make, monkeypatch):
        monkeypatch.setattr(environment, "NUM_ENVS", 3)
        monkeypatch.setattr(environment, "VECTOR_STEPS", 5)
        label, turn, units = make()
        turn()
        assert units == 15
        assert label

    def test_threads_share_as_many_environments(self, monkeypatch):
        monkeypatch.setattr(environment, "VECTOR_STEPS", 2)
        label, turn, units = environment.vector_matchmaking(130, 2)
        turn()
        assert (label, units) == ("Matchmaking-v0, 2 threads", 260)

    def test_a_training_is_timed_by_whole_rounds(self, monkeypatch, tmp_path: Path):
        file = tmp_path / "small.yml"
        file.write_text(
            "Matchmaking-v0: {policy: MlpPolicy, n_envs: 2, n_steps: 8, batch_size: 16,\n"
            "  n_timesteps: 16, env_kwargs: {num_opponents: 3}}\n"
        )
        monkeypatch.setattr(training, "TRAININGS", ((str(file), "small", 2, 1.0),))
        (found,) = training.measure(2)
        assert found.unit == "microseconds a game"
        assert len(found.values) == 2
        assert min(found.values) > 0.0

    def test_scalar_side_restarts_at_ends(self, monkeypatch):
        monkeypatch.setattr(environment, "SCALAR_STEPS", 300)
        _, turn, units = environment.scalar("CartPole-v1")
        turn()
        assert units == 300

    def test_a_fresh_process_says_how_long_it_took(self):
        assert environment.said_by("print(0.25)", None) == 0.25
        with pytest.raises(subprocess.CalledProcessError):
            environment.said_by("import sys; sys.exit(3)", None)
        compile(environment.IMPORT, "import", "exec")

    def test_first_uses_fill_the_cache_that_they_are_given(self, tmp_path: Path):
        code = (
            "import os, sys; from numba import config; "
            "print(float(config.CACHE_DIR == os.environ['NUMBA_CACHE_DIR']))"
        )
        assert environment.said_by(code, str(tmp_path)) == 1.0
        for snippet in environment.FIRST_USES.values():
            done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, check=True)
            assert float(done.stdout) > 0.0

    def test_times_of_decisions(self):
        env, _ = policies.mid_episode(5, 4)
        states = env.knowledge_state
        assert states.mu.shape == env.true_skill.shape == (4, 6)
        assert not np.array_equal(states.sigma, states.sigma.max() * np.ones((4, 6)))
        values = policies.decision_times("oracle", env, 3)
        assert len(values) == 3
        assert min(values) > 0.0

    @pytest.mark.parametrize("name", ["ppo-gittins", "drawchance"])
    def test_a_policy_is_timed_against_kg(self, name, monkeypatch):
        monkeypatch.setattr(policies, "MANY", 30)
        few, many = (list(policies.beside_kg(name, count, 4, 1, 1.0)) for count in (9, 30))
        assert [each.name for each in few] == [f"{name}, 9 opponents, batches of 4"]
        assert (few[0].ours, few[0].rival) == (name, "kg")
        assert all(rate > 0.0 for each in few for rate in each.our_rates + each.rival_rates)
        assert many[1].name == f"{name}, 30 opponents"
        assert many[1].values == [1e3 / rate for rate in many[0].our_rates]

    @pytest.mark.parametrize("belief", ["factorised", "full"])
    def test_observations_are_of_games_under_way(self, belief):
        _, seen = policies.mid_episode(5, 4, belief)
        state = KnowledgeState.from_observation(seen, belief)
        assert state.mu.shape == (4, 6)
        assert (state.sigma[:, 0] < 0.9).all()  # 50 games; no prior deviation is below 1.41
