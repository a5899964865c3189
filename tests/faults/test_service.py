"""A pool of players, killed or out of disk at every operation of its database."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from database_faults import can_install, install
from fault_injection import FULL, KILL, Ended, Fault, child

from matchenv.service import Game, Pool

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    pytest.mark.skipif(not can_install(), reason="this SQLite cannot be told what to call"),
]

PLAYERS, GAMES = 6, 12


def play(pool: Pool, until: int, told: Callable[[int], Any] = int) -> None:
    """What a client of the service does: players first, then games in turn."""
    if "p0" not in pool:
        pool.add_many([f"p{number}" for number in range(PLAYERS)])
    for number in range(pool.games, until):
        one, other = number % PLAYERS, (2 * number + 1) % PLAYERS
        sides = (one, other) if one != other else (0, 1)
        pool.rate(Game([[f"p{side}"] for side in sides], [0, number % 2]))
        told(number + 1)


def served(file: Path, fault: Fault) -> tuple[Ended, int]:
    """A process that plays to the end, and how many games it was told are kept."""
    acknowledged = file.with_suffix(".told")
    acknowledged.write_bytes(b"0")

    def work() -> int:
        install(fault)
        try:
            with Pool.open(file, recent=1) as pool:
                play(pool, GAMES, lambda number: acknowledged.write_text(f"{number:04d}"))
        except OSError as error:  # status 1, as the command has it
            print(error, file=sys.stderr)
            return 1
        return 0

    with child(work, lambda: fault.count) as running:
        ended = running.ended()
    return ended, int(acknowledged.read_bytes() or 0)


@pytest.mark.parametrize(
    ("kind", "status"), [(KILL, -signal.SIGKILL), (FULL, 1)], ids=["killed", "full"]
)
def test_what_was_acknowledged_is_kept(
    kind: str,
    status: int,
    tmp_path: Path,
    faults: Callable[..., None],
) -> None:
    """At most one game more, and the pool goes on to the same standings."""
    play(Pool(recent=1), GAMES)  # compiled before the forks
    (tmp_path / "whole").mkdir()
    whole, _ = served(tmp_path / "whole" / "pool.db", Fault(kind))
    assert (whole.status, whole.said) == (0, "")
    assert whole.operations > GAMES
    wrong: dict[int, str] = {}
    for at in range(1, whole.operations + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        ended, told = served(folder / "pool.db", Fault(kind, at))
        undisturbed = Pool(recent=1)
        with Pool.open(folder / "pool.db", recent=1) as pool:
            held = told <= pool.games <= told + 1
            if "p0" in pool:
                play(undisturbed, pool.games)
            held = held and pool.standings() == undisturbed.standings()
            play(pool, GAMES)
            play(undisturbed, GAMES)
            held = held and pool.standings() == undisturbed.standings()
        # Closing it needs no room.
        if not held or ended.status not in (status, 0 if kind == FULL else status):
            wrong[at] = f"status {ended.status}, {told} games acknowledged: {ended.said}"
        shutil.rmtree(folder)
    name = "SIGKILL" if kind == KILL else "full disk"
    count = whole.operations
    faults(f"{name} at every operation of its database", "serve", count, count - len(wrong))
    assert wrong == {}
