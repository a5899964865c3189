"""The commands that run for long, with the smallest possible work, and their inputs.

All tests of this folder run every command that is added here.
"""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fault_injection import FULL, KILL, Ended, Fault, content_of, with_fault
from joblib.externals.loky import get_reusable_executor

from matchenv.cli import run_command
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import Job, RunOptions

# A file system in memory; None for the usual folder of temporary files.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

LOG = str(Path(__file__).parent.parent / "logs" / "data" / "league.csv")
READ = (
    "league.csv: 80 rows, 80 games; rated 79 games of 5 players\n"
    "read as: a row for each game; sides 'home_team' and 'away_team', score 'home_score' and "
    "'away_score'\n"
    "first side: by 'home_team'\n"
    "time: 'date', read as iso, 1965-01-01 to 1965-05-17\n"
    "bad rows: 1; good rows left out with their game: 0\n  missing score: 1\n"
)
SIZES, EQUAL = "--num-opponents 3 --horizon 4", "--rank top --prior equal"
POLICIES = "--policy pe random"
SMALL_NETWORK = "--hyperparams n_steps=8 batch_size=16 n_epochs=1 'policy_kwargs={net_arch: [4]}'"
TRAIN = (
    f"train {SIZES} --rank top --num-envs 2 {SMALL_NETWORK} --evaluation-episodes 2 "
    "--comparison-episodes 2"
)


@dataclass(frozen=True)
class LongCommand:
    """A command that can be resumed.

    Attributes:
        words: name and options; ``OUT`` stands for the output, ``RUN`` for the folder of a training
            and ``FIT`` for that of a fit.
        title: name in tests; the command's own if empty.
        out: name of the folder or file that it writes.
        left_out: folders and files that hold times.
        repeats: whether a resumed run has the bytes of an undisturbed one; a training continues
            from its last checkpoint, with other episodes, so that only its files are the same.
        workers: whether it has the option ``--workers``.
        always_says: what it prints even with ``--quiet``.
        call: function of a folder to run instead of a command.
        tried: most operations on files that meet a fault, spread evenly.
    """

    words: str
    title: str = ""
    out: str = "out"
    left_out: tuple[str, ...] = ()
    repeats: bool = True
    workers: bool = True
    always_says: str = ""
    call: Callable[[Path], None] | None = None
    tried: int = 25

    @property
    def name(self) -> str:
        """Name in tests."""
        return self.title or self.words.split()[0]

    def typed(self) -> list[str]:
        """Return the command line."""
        more = ["--workers", "1"] if self.workers else []
        known = {"OUT": self.out}
        known |= {word: made_by(INPUTS[word]) for word in INPUTS if word in self.words.split()}
        return [*(known.get(word, word) for word in shlex.split(self.words)), "--quiet", *more]

    def error_of(self, ended: Ended) -> str:
        """Return the standard error without ``always_says``."""
        return ended.error.removeprefix(self.always_says)

    def is_well(self, ended: Ended) -> bool:
        """Return whether it ended like an undisturbed one."""
        return (ended.status, self.error_of(ended)) == (0, "")

    def work(self, folder: Path) -> Callable[[], int]:
        """Return a function that runs it in a folder and returns its exit status."""

        def run() -> int:
            os.chdir(folder)
            if self.call is None:
                return run_command(self.typed())
            try:
                self.call(folder)
            except OSError as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
            return 0

        return run


@cache
def made_by(command: str) -> str:
    """Return the output folder of a command, which runs once for this process and its forks."""
    folder, process = tempfile.mkdtemp(prefix="matchenv-faults-"), os.getpid()

    @atexit.register
    def remove() -> None:
        if os.getpid() == process:  # not at the end of a fork
            shutil.rmtree(folder, ignore_errors=True)

    assert run_command([*shlex.split(command), "--out", f"{folder}/made", "--quiet"]) == 0
    return f"{folder}/made"


class Undisturbed(NamedTuple):
    """An undisturbed run: its files, its seconds, and its number of operations for each fault."""

    content: dict[str, bytes]
    seconds: float
    operations: dict[str, int]


@cache
def undisturbed(command: LongCommand) -> Undisturbed:
    """Run a command in this process, which prepares its forks, and in two forks: equal bytes."""
    import torch

    # A fork cannot use the threads of its parent, nor the workers of earlier tests.
    torch.set_num_threads(1)
    get_reusable_executor().shutdown(wait=True)
    with tempfile.TemporaryDirectory(dir=MEMORY) as warm, chdir(warm):
        assert command.work(Path(warm))() == 0
        first = content_of(Path(warm), command.left_out)
    assert all(thread.daemon for thread in threading.enumerate()[1:])
    seconds, operations = [], {}
    for fault in (Fault(KILL), Fault(FULL)):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            ended = with_fault(command.work(Path(folder)), Path(folder), fault)
            assert command.is_well(ended), ended
            assert not differing_files(command, first, Path(folder))
        seconds.append(ended.seconds)
        operations[fault.kind] = fault.operations.value
    return Undisturbed(first, min(seconds), operations)


def differing(command: LongCommand, folder: Path) -> list[str]:
    """Return the files that differ from those of the undisturbed command."""
    return differing_files(command, undisturbed(command).content, folder)


def differing_files(command: LongCommand, expected: dict[str, bytes], folder: Path) -> list[str]:
    """Return the files below a folder that differ from the expected ones, or are only in one."""
    found = content_of(folder, command.left_out)
    if not command.repeats:
        return sorted(expected.keys() ^ found.keys())
    names = sorted(expected.keys() | found.keys())
    return [name for name in names if expected.get(name) != found.get(name)]


# Folders that commands read.
INPUTS = {"RUN": f"{TRAIN} --timesteps 32 --workers 1", "FIT": f"fit {LOG}"}


def squared(number: int) -> Arrays:
    """Square a number, as a job."""
    return {"value": np.array([number**2])}


def store(folder: Path) -> None:
    """Run two jobs and write a result, as commands with a store do."""
    options = RunOptions(folder / "new" / "out", workers=1, quiet=True)
    with options.store({"seed": 1}) as opened:
        jobs = [Job({"number": number}, 1, partial(squared, number)) for number in range(2)]
        found = opened.results(jobs)
        content = b"".join(arrays["value"].tobytes() for arrays in found)
        opened.finish(None, [("curves/top.csv", content)])


LONG_COMMANDS = (
    LongCommand(f"compare {SIZES} {POLICIES} --against pe --episodes 2 --rank top --out OUT"),
    LongCommand(
        f"study {SIZES} {POLICIES} --episodes 2 --prior-draws 2 --rank top bottom --prior equal "
        "--out OUT"
    ),
    LongCommand(f"tune {SIZES} --policy kg:multiplier=2 --episodes 2 {EQUAL} --out OUT"),
    LongCommand(f"limits {SIZES} --policy drawchance --episodes 2 {EQUAL} --out OUT"),
    LongCommand(
        "limits optimum --num-opponents 2 --horizon 3 --episodes 12 --policy drawchance --out OUT",
        title="limits optimum",
    ),
    LongCommand(
        f"{TRAIN} --timesteps 48 --evaluate-every 32 --checkpoint-every 16 --out OUT",
        left_out=("tensorboard", "blocks"),
        repeats=False,
    ),
    LongCommand(
        f"{TRAIN} --seeds 0 1 --timesteps 32 --evaluate-every 32 --checkpoint-every 16 --out OUT",
        title="train --seeds",
        left_out=("tensorboard", "blocks"),
        repeats=False,
    ),
    LongCommand(
        f"train --tune 2 --timesteps 32 --num-envs 2 --space gamma=[0.9,0.99] {SMALL_NETWORK} "
        "--env-kwargs num_opponents=3 horizon=4 rank=top --evaluation-episodes 2 --out OUT",
        title="train --tune",
        left_out=("tensorboard", "blocks"),
        repeats=False,
        workers=False,
    ),
    LongCommand(f"fit {LOG} --out OUT", workers=False, always_says=READ),
    LongCommand(f"smooth {LOG} --out OUT", workers=False, always_says=READ),
    LongCommand(
        f"judge {LOG} --fitted FIT --policy fcfs --rule window --arrival-rate 1 --game-minutes 5 "
        "--episodes 2 --horizon 10 --out OUT",
        always_says=READ,
    ),
    LongCommand(f"replay {LOG} --out OUT", workers=False, always_says=READ),
    LongCommand("report RUN --out OUT --latex report.tex", out="report.html", workers=False),
    LongCommand(f"watch {SIZES} --policy pe --rank top --out OUT", out="film.png", workers=False),
    LongCommand("bench --policy pe --only top_informative_9_50 --out OUT"),
)

# A sample of seconds.
QUICK = (
    LongCommand("store", call=store, tried=12),
    replace(LONG_COMMANDS[0], title="sample of compare", tried=4),
)
