"""From words to a command and an exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from matchenv.benchmarks.compare import comparison
from matchenv.cli import run_command
from matchenv.cli.compare import Compare
from matchenv.cli.running import parsed

TINY = ["--episodes", "2", "--horizon", "2", "--num-opponents", "2", "--rank", "top",
        "--workers", "1"]  # fmt: skip


def said_in_one_line(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dance"], "a command must be one of train, compare,"),
        (["compare", "--speed", "3"], "Unrecognized options: --speed, 3"),
        (["compare", "--episode", "3"], "Perhaps you meant --episodes."),
        (["compare", "kg"], "Unrecognized options: kg"),
        (["compare", "--episodes", "many"], "--episodes: invalid literal for int()"),
        (["compare", "--beta", "wide"], "--beta"),
        (["compare", "--workers"], "Missing value for argument '--workers'"),
        (["compare", "--rank-by", "name"], "('prior_mean', 'true_skill')"),
        (["compare", "--beta", "nan"], "beta must"),
        (["compare", "--policy", "nobody"], "policy must be one of pe, drawchance, kg"),
        (["study"], "--out"),
        (["replay"], "the log, a .csv or .csv.gz file"),
        (["replay", "no.csv"], "no.csv"),
        (["replay", "no.csv", "--bins", "0"], "bins must be an integer in [1, 1000], got 0"),
        (["replay", "no.csv", "--encoding", "\udcff"], "--encoding must be UTF-8, got '\\udcff'"),
        (["bench", "pe", "--method", "\udcff"], "--method must be UTF-8, got '\\udcff'"),
        (["report", ".", "--latex", "a\x00"], "--latex must be a path, got 'a\\x00'"),
        (["train", "--hyperparams", "gamma:1"], "key=value"),
        (["train", "--env-kwargs", "rank:top"], "key=value"),
        (["train", "--rank", "top", "--env-kwargs", "rank=top"], "must not repeat other options"),
        (["train", "--env-kwargs", "rank=topp"], "rank must be"),
        (["train", "--resume", "runs", "--seed", "0", "--num_envs=3"], "--num-envs, --seed"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(words) == 2
    assert message in said_in_one_line(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("beta must be positive, got -1"), 2, "beta must be positive, got -1"),
        (OSError(28, "No space left on device"), 1, "[Errno 28] No space left on device"),
        (KeyError("mu"), 1, "KeyError: 'mu' (see --debug)"),
        (RuntimeError("two\n  lines"), 1, "RuntimeError: two lines (see --debug)"),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_exit_statuses(
    error: Exception,
    status: int,
    message: str,
    debug: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(comparison, "run_comparison", fail)
    assert run_command(["compare", *(["--debug"] if debug else [])]) == status
    said = capsys.readouterr().err
    assert said.endswith(f"error: {message}\n")
    assert ("Traceback" in said) == debug


def test_ctrl_c_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "run_comparison", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_command(["compare"])


@pytest.mark.parametrize(
    "words",
    [
        ["--policy", "kg", "pe", "--seed", "3"],
        ["--policy", "kg", "--seed", "3", "--policy", "pe"],
        ["--policy=kg", "--policy=pe", "--seed=3"],
        ["--seed", "3", "--policy=kg", "pe"],
    ],
)
def test_values_of_a_list_are_kept_wherever_they_stand(words: list[str]) -> None:
    command = parsed("compare", Compare, words)
    assert command.policy == ("kg", "pe")
    assert command.seed == 3


def test_underscores_are_as_good_as_hyphens() -> None:
    assert parsed("compare", Compare, ["--num_opponents", "4"]).num_opponents == 4


@pytest.mark.parametrize("quote", ["'", ""])
def test_lists_work_in_plain_sh(quote: str) -> None:
    several = f"--policy pe {quote}kg:multiplier={{3,5}},belief=factorised{quote} --prior equal"
    line = f"{sys.executable} -m matchenv compare {several} {' '.join(TINY)}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    for policy in ("pe", "kg:multiplier=3,belief=factorised", "kg:multiplier=5,belief=factorised"):
        assert policy in done.stdout


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["train"], "stable_baselines3", "agents"),
        (["train", "--seed", "1"], "torch", "agents"),
        (["train", "--imitate", "kg"], "safetensors", "agents"),
        (["study", "--out", "study"], "matplotlib", "benchmarks"),
        (["replay", "log.csv", "--out", "replay"], "matplotlib", "benchmarks"),
        (["watch"], "pygame", "render"),
    ],
)
def test_a_missing_extra_is_named_before_any_work(
    words: list[str],
    package: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    assert run_command(words) == 2
    said = said_in_one_line(capsys)
    assert f'needs the package {package}: pip install "matchenv[{extra}]"' in said
    assert list(tmp_path.iterdir()) == []


def test_a_learned_policy_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    code = (
        "import sys; from matchenv.cli import run_command\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError('no torch', name=name)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "sys.exit(run_command(['compare', '--policy', 'ppo-gittins', '--out', 'results']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert 'needs the package torch: pip install "matchenv[agents]"' in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
