"""Command lines: errors, exit statuses, lists of values, output and help."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import matchenv
from matchenv import Settings
from matchenv.agents.learned_names import CONFIG, POLICY_FILE, SHIPPED
from matchenv.benchmarks.compare import comparison
from matchenv.cli import COMMANDS, extras, parser_of
from matchenv.cli.options import RESUMES, parse_lists, problem_from, with_pairs
from matchenv.cli.train import configured
from matchenv.evaluation.protocols import ONE_PLAYER_PROTOCOL, QUEUE_PROTOCOL
from matchenv.evaluation.registry import candidates_of, expanded, runs_of
from matchenv.runtime.checks import printable
from matchenv.runtime.files import LOCK, folder_lock
from matchenv.runtime.parallel import WorkerEnded

ROOT = Path(__file__).resolve().parents[2]
QUEUE = "--env MatchmakingQueue-v0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("dance", "a command must be one of train, compare,"),
        ("trian", "perhaps you meant train"),
        ("compare --zebra 3", "unrecognized argument '--zebra' (see matchenv compare --help)"),
        ("compare --episode 3", "perhaps you meant --episodes"),
        ("compare --num_opponents 3", "perhaps you meant --num-opponents"),
        ("compare kg", "unrecognized argument 'kg'; perhaps you meant --policy kg"),
        ("warm-up now", "unrecognized argument 'now' (see"),
        ("compare --episodes many", "argument --episodes: invalid int value: 'many' (see"),
        ("compare --workers", "argument --workers: expected one argument"),
        ("compare --rank-by name", "argument --rank-by: invalid choice: 'name' (choose from"),
        (f"compare --policy {'n' * 300}", "cannot be loaded: "),
        ("compare --policy kgg", "got 'kgg'; perhaps you meant kg\n"),
        ("compare --policy kg:multiplyer=3", "got 'multiplyer'; perhaps you meant multiplier\n"),
        ("compare --env Matchmaking", "perhaps you meant Matchmaking-v0"),
        ("compare --env-kwargs horizn=3", "got 'horizn'; perhaps you meant horizon\n"),
        ("train --imitate gitins", "got 'gitins'; perhaps you meant gittins; "),
        ("train --hyperparams gama=0.9", "got 'gama'; perhaps you meant gamma\n"),
        ("train --algo pppo", "got 'pppo'; perhaps you meant ppo\n"),
        ("train --env-kwargs horizn=3", "got 'horizn'; perhaps you meant horizon\n"),
        ("train --config ppo_flatt", "got 'ppo_flatt'; perhaps you meant ppo_flat\n"),
        ("train --tune 1 --space gama=[0.9]", "got 'gama'; perhaps you meant gamma\n"),
        ("compare --against nobody", "policy must be one of pe, drawchance, kg"),
        ("compare --policy pe pe", "policies must name each policy once, got 'pe' twice"),
        ("compare --episodes 1", "episodes must be an integer of at least 2, got 1"),
        ("compare --seed -1", "seed must be an integer of at least 0, got -1"),
        ("compare --load thin", f"these options need {QUEUE}, got --load"),
        ("compare --bands", f"these options need {QUEUE}, got --bands"),
        (f"compare {QUEUE} --load [1,-1]", "load must be at least 0, got -1"),
        (f"compare {QUEUE} --rank top", "these options need --env Matchmaking-v0, got --rank"),
        (f"compare {QUEUE} --beta 2 --env-kwargs beta=1", "must not repeat other options"),
        (
            "compare --rank top --env-kwargs rank=bottom",
            "must not repeat other options, got --rank",
        ),
        (f"compare {QUEUE} --env-kwargs num_opponent=3", "got 'num_opponent'"),
        ("study", "the following arguments are required: --out"),
        ("replay no.csv", "no.csv"),
        ("bench", "policies (--policy) must be a list of at least one, got []"),
        ("report . --latex a\x00", "arguments must be UTF-8 without null characters, got"),
        ("train --hyperparams gamma:1", "key=value"),
        ("train --resume . --seed 0 --num-envs=3", "its other options, got --num-envs, --seed"),
        ("train --seed 1 --seeds 2", "seed must be left out where seeds is given"),
        ("train --space gamma=[1]", "these options need --tune, got --space"),
        ("train --imitate gittins --belief factorised", "choose --belief full"),
        ("train --imitate oracle", "teacher must choose from observations"),
        ("train --imitate kg --algo ppo", "algo must be left out where imitate is given"),
        ("train --seeds 0 0", "different numbers"),
        ("train --comparison-episodes 1", "comparison_episodes must be an integer of at least 2"),
        ("train --env-kwargs 'draw_margin=[0, 1]'", "must be 0 where draw_margin is a list"),
        (
            "train --imitate kg --comparison-episodes 0 --env-kwargs 'draw_margin=[0, 1]'",
            "not be a list where 'kg' teaches",
        ),
        ("train --device abacus", "device must be auto, cpu, cuda or cuda:N, got 'abacus'"),
        ("train --num-envs 1 --hyperparams n_steps=1", "hyperparameters must fit ppo"),
        ("train --threads 5000", "threads must be an integer in [1, 1024]"),
        ("train --seeds 4294967296", "seed must be less than or equal to 4294967295"),
        (f"train {QUEUE} --hyperparams policy=MlpPolicy", "got ppo with MlpPolicy"),
        ("train --env Ranking-v0 --imitate oracle", "'oracle' does not"),
        (
            "train --tune 2 --space gamma=[0.9] --space-file a",
            "space must be left out where space_file",
        ),
        ("train --tune 1 --space 'learning_rate=[0.1, 1.0e30]'", "a rate must be a number"),
        ("train --tune 1 --space gamma=[]", "bad entry for gamma"),
        ("train --tune 1 --space gamma=0.9", "bad entry for gamma"),
        ("train --tune 1 --space 'gamma={low: 0.0}'", "bad entry for gamma"),
        ("train --hyperparams 'policy_kwargs={net_arch: wide}'", "net_arch"),
        ("train --hyperparams 'policy_kwargs={net_arch: [0]}'", "net_arch.0 must be greater"),
        ("train --hyperparams learning_rate=lin_fast", "rate must be"),
        ("train --hyperparams learning_rate=null", "a rate must be a number"),
        ("train --hyperparams gamma=1.5", "gamma must be less than or equal to 1, got 1.5"),
        ("train --hyperparams gamma=.nan", "gamma must be a finite number"),
        ("train --hyperparams n_steps=1e30", "n_steps must be less than or equal to"),
        (
            "train --hyperparams normalize_advantage=1",
            "normalize_advantage must be a valid boolean",
        ),
        ("train --hyperparams use_sde=true", "use_sde must be False"),
        ("train --hyperparams max_grad_norm=0", "max_grad_norm must be greater than 0"),
        (
            "train --algo dqn --hyperparams 'train_freq=[4, step]'",
            "train_freq must be a valid integer",
        ),
        ("train --hyperparams 'gamma=&a [*a]'", "aliases (*name) are not allowed"),
        ("train --hyperparams gamma=2001-99-99", "must be YAML"),
        (f"train --hyperparams gamma={'[' * 5000}", "[[[[': maximum recursion depth exceeded"),
        ("limits nothing", "what must be one of bound, optimum, got 'nothing'"),
        ("limits --depth 0", "depth must"),
        ("limits --truths 3", "matchenv limits bound does not have these options, got --truths"),
        ("limits optimum --depth 3", "limits optimum does not have these options, got --depth"),
        ("limits optimum --rank 0 1", "rank must be one value here, got 0 1"),
        ("limits optimum --horizon 40", "horizon must be so small"),
        ("limits optimum --truths 0", "truths must be"),
        ("limits optimum --horizon 9 --num-opponents 4 --draw-margin 0.5", "must be so small"),
        ("watch --rank best", "or an integer in [0, 49], got 'best'"),
        ("watch --every 2 --games 2", "these options need --out FILE.gif, got --every, --games"),
        (f"watch {QUEUE} --load thin thick", "load must be one"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    words: str, message: str, tmp_path: Path, typed: Any
) -> None:
    ended = typed(shlex.split(words))
    assert message in ended.refusal
    assert ended == (2, "", f"error: {ended.refusal}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("beta must be positive, got -1"), 2, "beta must be positive, got -1"),
        (OSError(28, "No space left on device"), 1, "[Errno 28] No space left on device"),
        (WorkerEnded("a worker was killed"), 1, f"a worker was killed; {RESUMES}"),
        (BrokenPipeError(32, "Broken pipe"), 1, "[Errno 32] Broken pipe"),
        (KeyError("mu"), 1, "KeyError: 'mu' (see --debug)"),
        (SystemExit(0), 1, "SystemExit: 0 (see --debug)"),
        (RuntimeError("two\n  lines"), 1, "RuntimeError: two lines (see --debug)"),
    ],
)
@pytest.mark.parametrize("debug", ["", " --debug"])
def test_exit_statuses(
    error: Exception, status: int, message: str, debug: str, monkeypatch: Any, typed: Any
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(comparison, "run_comparison", fail)
    ended = typed(f"compare --out out{debug}")
    assert ended.status == status
    assert ended.error.endswith(f"error: {message}\n")
    assert ("Traceback" in ended.error) == bool(debug)


@pytest.mark.parametrize("quote", ["'", ""])
def test_values_of_a_list_add_up_and_work_in_plain_sh(quote: str) -> None:
    several = f"--policy=pe --policy kg {quote}kg:multiplier={{3,5}}{quote} --num-opponents=3"
    done = subprocess.run(["sh", "-c", f"echo {several}"], capture_output=True, text=True)
    given = parser_of("compare").parse(done.stdout.split())
    assert expanded(given.policy) == ["pe", "kg", "kg:multiplier=3", "kg:multiplier=5"]
    assert (given.num_opponents, given.explicit) == (3, {"policy", "num_opponents"})


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("train", "stable-baselines3", "agents"),
        ("train --imitate kg", "safetensors", "agents"),
        ("study --out study", "matplotlib", "benchmarks"),
        ("replay log.csv --out replay", "matplotlib", "benchmarks"),
        ("judge log.csv", "pandas", "benchmarks,logs"),
    ],
)
def test_a_missing_extra_is_named_before_any_work(
    words: str, package: str, extra: str, tmp_path: Path, monkeypatch: Any, typed: Any
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: name != package)
    assert f'needs {package}: pip install "matchenv[{extra}]"\n' in typed(words).refusal
    assert list(tmp_path.iterdir()) == []


def test_extras_are_those_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    del declared["all"]  # the other extras
    for extra, requirements in declared.items():
        names = [re.match(r"[\w.-]+", requirement)[0] for requirement in requirements]
        assert extras.packages_of(extra) == names


def processor_time(words: str, folder: Path) -> float:
    """Return the processor time of a command in seconds, of the user and the system."""
    process = started(words, folder, subprocess.DEVNULL)
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="Windows does not measure children so")
@pytest.mark.parametrize("words", ["--help", "compare --help"])
def test_help_takes_little_processor_time(words: str, tmp_path: Path) -> None:
    # The shortest, since other processes slow down a busy machine.
    assert min(processor_time(words, tmp_path) for _ in range(3)) < 0.7


def test_defaults_that_help_shows_are_those_of_the_comparison() -> None:
    default_of = parser_of("compare").get_default
    swept = {**ONE_PLAYER_PROTOCOL.swept, **QUEUE_PROTOCOL.swept}
    assert set(swept) == {"rank", "prior", "load"}
    for name, values in swept.items():
        assert default_of(name) == tuple(values)
    assert default_of("noise") == ONE_PLAYER_PROTOCOL.defaults["noise"]
    assert default_of("episodes") == comparison.DEFAULT_EPISODES


@pytest.mark.parametrize("values", ["{5,6}", "[5,6]", "[5, 6]", "{5, 6}"])
def test_lists_have_two_forms_in_all_commands(values: str) -> None:
    given = parser_of("compare").parse(["--policy", f"kg:multiplier={values}"])
    assert expanded(given.policy) == ["kg:multiplier=5", "kg:multiplier=6"]
    words = ["--env", "Ranking-v0", "--env-kwargs", f"num_items={values}", "horizon=9"]
    problem = problem_from(parser_of("tune").parse(words))
    assert problem["cells"] == {"num_items": (5, 6)}
    assert problem["env_kwargs"] == {"horizon": 9}
    assert with_pairs([f"num_opponents={values}"], {}) == {"num_opponents": [5, 6]}  # of train
    assert parse_lists("space", [f"n_steps={values}"]) == {"n_steps": [5, 6]}


@pytest.mark.parametrize("values", ["[.6,.3,.1]", "{.6,.3,.1}", "[0.6, 0.3, 0.1]"])
def test_an_option_that_is_a_list_gets_one(values: str) -> None:
    words = [*QUEUE.split(), "--env-kwargs", "side_size=3", f"party_sizes={values}"]
    problem = problem_from(parser_of("compare").parse(words))
    assert problem["env_kwargs"] == {"side_size": 3, "party_sizes": [0.6, 0.3, 0.1]}
    assert set(problem["cells"]) == {"load"}
    arguments = parser_of("train").parse(["--algo", "maskable_ppo", *words])
    assert configured(arguments).env_kwargs["party_sizes"] == [[0.6, 0.3, 0.1]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{low: 1, high: 8}", {"low": 1, "high": 8}),
        ("{net_arch: {pi: [64], vf: [64, 64]}}", {"net_arch": {"pi": [64], "vf": [64, 64]}}),
        ("{}", {}),
        ("[]", []),
        ("[[1, 2], [3]]", [[1, 2], [3]]),
        ("['a,b', c]", ["a,b", "c"]),
        ("{1e-3,1}", [0.001, 1]),
        ("[64,64]", [64, 64]),
    ],
)
def test_values_that_are_no_lists_of_words_are_yaml(text: str, value: Any) -> None:
    assert parse_lists("hyperparams", [f"x={text}"]) == {"x": value}


TINY = "--episodes 2 --horizon 2 --num-opponents 2 --out"


@pytest.fixture
def two_seeds(tmp_path: Path) -> tuple[str, str]:
    """Return two runs in ``runs/two``, as after ``matchenv train --seeds 9 10``."""
    names = ("runs/two/seed9", "runs/two/seed10")
    for name in names:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        shutil.copy(SHIPPED["ppo-gittins"], folder / POLICY_FILE)
        (folder / CONFIG).touch()
    (tmp_path / "runs/two/comparison").mkdir()
    return names


@pytest.mark.parametrize(
    "words", ["compare --policy runs/two", "compare --policy two", "tune --policy two",
              "study --policy two", "limits --policy two"]
)  # fmt: skip
def test_a_folder_of_several_seeds_stands_for_all_its_runs(
    words: str, two_seeds: tuple[str, str], typed: Any
) -> None:
    ended = typed(f"{words} --rank top --workers 1 {TINY} out")
    assert ended.status == 0
    assert ended.out.index(two_seeds[0]) < ended.out.index(two_seeds[1])


def test_a_folder_of_several_seeds_in_other_places(two_seeds: tuple[str, str], typed: Any) -> None:
    got = typed("watch --policy two two --out film.gif").refusal
    assert got.endswith(f"got {' '.join(two_seeds)} {' '.join(two_seeds)}\n")
    games = {"env_kwargs": {"num_opponents": 2, "horizon": 2}, "cells": {"rank": ["top"]}}
    for policies in ("two", [Path("runs/two")]):
        compared = matchenv.compare(policies, episodes=2, **games)
        assert compared.policies[:2] == two_seeds
    assert runs_of(["pe", "two/seed9"]) == ["pe", "two/seed9"]
    Path(two_seeds[0], POLICY_FILE).unlink()
    with pytest.raises(ValueError, match="has saved no policy yet"):
        candidates_of(["two"], Settings())


@pytest.mark.parametrize(
    "words",
    [f"compare {TINY}", f"study {TINY}", f"tune {TINY}", f"limits {TINY}",
     "train --timesteps 100000 --out", "train --resume"],
)  # fmt: skip
def test_a_second_process_in_a_folder_is_told_which_one_is_first(
    words: str, tmp_path: Path, typed: Any
) -> None:
    with folder_lock(tmp_path):
        refusal = typed(f"{words} {tmp_path} --quiet").refusal
        assert f"in use by process {os.getpid()} on " in refusal
        assert [file.name for file in tmp_path.iterdir()] == [LOCK]


def started(words: str, folder: Path, output: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "matchenv", *words.split()]
    return subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.PIPE)


def test_a_closed_pipe_ends_a_command_quietly(tmp_path: Path) -> None:
    process = started("--help", tmp_path, subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
@pytest.mark.parametrize("words", ["--help", "limits optimum --horizon 2 --episodes 2 --workers 1"])
def test_a_full_disk_is_one_line(words: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = started(words, tmp_path, full)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    line = b"error: [Errno 28] No space left on device: 'standard output'\n"
    assert error[error.index(b"error: ") :] == line  # after a progress bar


def test_names_cannot_control_the_terminal(typed: Any) -> None:
    Path("log.csv").write_text("game,player,score\n1,a\x1b[31m\x07,1\n1,b,0\n")
    assert "\na\\x1b[31m\\x07 " in typed("rank log.csv").out
    assert typed("rank log.csv --columns player=\x1b]0;x\x07").refusal.strip().isprintable()


@pytest.mark.parametrize(
    "text", ["a\x1b[2J", "\x07", "\x7f", "\x9b1m", "a\u202eb", "\u2028", "\ud800"]
)
def test_control_characters_are_escaped_and_letters_stay(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text).encode("ascii").decode("unicode_escape") == text
    for letters in ("Zoë", "李娜", "a b", "\U0001f469\u200d\U0001f52c", ""):
        assert printable(letters) == letters


ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, folder: Path = ROOT) -> str:
    """Return the output of a new Python process."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_complete_and_its_examples_work(name: str, typed: Any) -> None:
    status, text, error = typed(f"{name} --help")
    assert (status, error) == (0, "")
    assert max(map(len, text.splitlines())) <= 80
    for mistake in ("---", "--no-", "-\n", ": None", "False", "``", ". (default", "(default: )"):
        assert mistake not in text, text
    # Every option has a description, in a group with a title.
    for action in parser_of(name)._actions:
        assert len(action.help.split()) > 2, action
    assert re.findall(r"^\S.*:$", text, re.MULTILINE)[1:]
    examples = re.findall(rf"^    matchenv ({name}\b.*)$", text, re.MULTILINE)
    assert examples
    for example in examples:
        parser_of(name).parse(shlex.split(example)[1:])


def test_the_first_help_fits_one_screen_and_no_help_imports_slow_packages() -> None:
    code = (
        "import sys; from matchenv.cli import COMMANDS, run_command; run_command(['--help'])\n"
        "print('loaded', [name for name in ('numba', 'torch', 'scipy') if name in sys.modules], "
        "[name for name in sys.modules if name.startswith('matchenv.cli.')])\n"
        "print([run_command([name, '--help']) for name in COMMANDS])\n"
        "print([name for name in ('torch', 'matplotlib', 'pygame') if name in sys.modules])"
    )
    first, _, rest = python("-c", code).partition("loaded ")
    assert rest.startswith("[] []\n")
    assert rest.endswith(f"\n{[0] * len(COMMANDS)}\n[]\n")
    lines = first.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", first, re.MULTILINE)
    assert python("-m", "matchenv") == first


def test_version(typed: Any) -> None:
    assert typed("--version") == (0, f"matchenv {version('matchenv')}\n", "")


def test_train_py_is_matchenv_train(tmp_path: Path, typed: Any) -> None:
    ours = typed("train --help").out
    assert python(str(ROOT / "train.py"), "--help", folder=tmp_path) == ours
