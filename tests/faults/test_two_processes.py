"""The same command twice at the same time: one works, the other is refused or comes after it."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_injection import child
from long_commands import LONG_COMMANDS, LongCommand
from undisturbed import differing, undisturbed

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
]

TIMES = 10


@pytest.mark.parametrize("command", LONG_COMMANDS, ids=lambda each: each.name)
def test_two_at_the_same_time(
    command: LongCommand, tmp_path: Path, faults: Callable[..., None]
) -> None:
    whole = undisturbed(command)
    wrong: list[str] = []
    for number in range(TIMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        with child(command.work(folder)) as first:
            time.sleep(random.uniform(0.0, whole.seconds) if number % 2 else 0.0)
            with child(command.work(folder)) as second:
                ended = [first.ended(), second.ended()]
        for each in ended:
            refused = each.status == 2 and (
                " is in use by " in each.said or "holds a run: go on with it" in each.said
            )
            said = command.beyond(each.said)
            if (each.status, said) != (0, "") and not (refused and said.count("\n") == 1):
                wrong.append(f"status {each.status}: {each.said}")
        if all(each.status for each in ended):
            wrong.append("nobody did the work")
        if found := differing(command, folder):
            wrong.append(", ".join(found))
        shutil.rmtree(folder)
    faults("two processes in one folder", command.name, TIMES, max(0, TIMES - len(wrong)))
    assert wrong == []


def test_trainings_without_a_folder(tmp_path: Path, faults: Callable[..., None]) -> None:
    """Four at the same time have four folders, each with the same policy."""
    (train,) = (each for each in LONG_COMMANDS if each.name == "train")
    undisturbed(train)

    def work() -> int:
        from matchenv.commands import run_command

        os.chdir(tmp_path)
        words = train.next_words(tmp_path)
        place = words.index("--out")
        return run_command([*words[:place], *words[place + 2 :]])

    with child(work) as a, child(work) as b, child(work) as c, child(work) as d:
        ended = [each.ended() for each in (a, b, c, d)]
    held = sum((each.status, each.said) == (0, "") for each in ended)
    policies = [run / "policy.safetensors" for run in (tmp_path / "runs").iterdir()]
    faults("trainings without --out at the same time", "train", len(ended), held)
    assert held == len(policies) == 4
    assert len({policy.read_bytes() for policy in policies}) == 1
