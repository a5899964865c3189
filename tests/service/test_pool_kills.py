"""SIGKILL at any moment: every game that was acknowledged is in the file."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from matchenv.service import Game, Pool

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")

# Counts each game once it is acknowledged.
CHILD = """
import sys
from matchenv.service import Game, Pool
pool = Pool.open(sys.argv[1], recent=1)
if "p0" not in pool:
    pool.add_many([f"p{i}" for i in range(200)])
print("ready", pool.games, flush=True)
number = pool.games
while True:
    pool.rate(Game([[f"p{number % 200}"], [f"p{(number * 7 + 3) % 200}"]], [0, 1])
              if (number * 6 + 3) % 200 else
              Game([["p0"], ["p1"]], [0, 1]))
    number += 1
    print(number, flush=True)
"""


def game(number: int) -> Game:
    one, other = number % 200, (number * 7 + 3) % 200
    pair = (one, other) if (number * 6 + 3) % 200 else (0, 1)
    return Game([[f"p{pair[0]}"], [f"p{pair[1]}"]], [0, 1])


def kill_again_and_again(file: Path, times: int, seed: int) -> None:
    rng = random.Random(seed)
    # Nobody kills this one; it plays on from kill to kill.
    undisturbed = Pool(recent=1)
    undisturbed.add_many([f"p{i}" for i in range(200)])
    for _ in range(times):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(file)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline().startswith("ready")
        said = [child.stdout.readline() for _ in range(rng.randrange(60))]
        child.kill()
        said += child.stdout.read().split("\n")[:-1]
        child.wait()
        with Pool.open(file) as pool:
            acknowledged = int(said[-1]) if said else 0
            assert acknowledged <= pool.games
            assert not said or pool.games <= acknowledged + 1
            assert pool.games >= undisturbed.games
            played = [game(number) for number in range(undisturbed.games, pool.games)]
            if played:
                undisturbed.rate(played)
            assert pool.standings() == undisturbed.standings()


def test_a_few_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path / "pool.db", 2, 1)


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path / "pool.db", 60, 2)
