"""Files of every kind, damaged in many ways: refused in one line or read right, nothing else."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.logs.reading import read_log
from matchenv.ratings.leaderboard import Leaderboard
from matchenv.runtime.files import npz_bytes, read_npz, write_bytes
from matchenv.runtime.jobs import Store

DAMAGES = 1500

Read = Callable[[Path], Any]


def flipped_bit(content: bytearray, rng: np.random.Generator) -> None:
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))


def other_byte(content: bytearray, rng: np.random.Generator) -> None:
    content[rng.integers(len(content))] = int(rng.integers(256))


def cut_off(content: bytearray, rng: np.random.Generator) -> None:
    del content[rng.integers(len(content)) :]


def cut_out(content: bytearray, rng: np.random.Generator) -> None:
    first = int(rng.integers(len(content)))
    del content[first : first + int(rng.integers(1, 65))]


def zeroed(content: bytearray, rng: np.random.Generator) -> None:
    first = int(rng.integers(len(content)))
    length = len(content[first : first + int(rng.integers(1, 513))])
    content[first : first + length] = bytes(length)


def swapped(content: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(1, 65))
    first, second = sorted(int(rng.integers(len(content))) for _ in range(2))
    size = min(size, second - first, len(content) - second)
    one, other = content[first : first + size], content[second : second + size]
    content[first : first + size], content[second : second + size] = other, one


def doubled(content: bytearray, rng: np.random.Generator) -> None:
    first = int(rng.integers(len(content)))
    content[first:first] = content[first : first + int(rng.integers(1, 65))]


def added(content: bytearray, rng: np.random.Generator) -> None:
    content += rng.bytes(int(rng.integers(1, 65)))


KINDS = (flipped_bit, flipped_bit, other_byte, cut_off, cut_out, zeroed, swapped, doubled, added)


def leaderboard(folder: Path) -> tuple[Path, Read]:
    board = Leaderboard()
    for number in range(30):
        board.update([[f"a{number % 7}"], [f"b{number % 5}"]], [number % 2, 1 - number % 2])
    board.save(folder / "board.json")
    return folder / "board.json", lambda path: (Leaderboard.load(path)._settings(),
                                                Leaderboard.load(path).standings())  # fmt: skip


def block(folder: Path) -> tuple[Path, Read]:
    (folder / "blocks").mkdir()
    store = Store(folder, "key")
    rng = np.random.default_rng(0)
    store.save("job", {"sums": rng.random((2, 3, 8)), "final": rng.random(8)})

    def read(path: Path) -> Any:
        return {name: array.tolist() for name, array in read_npz(path, ["key", "job"]).items()}

    return store.path("job"), read


def packed_log(folder: Path) -> tuple[Path, Read]:
    path = folder / "log.csv.gz"
    rows = [f"{game},{player},{game * 7 % 5 + k}" for game in range(99)
            for k, player in enumerate(f"ab{game % 9}"[-2:])]  # fmt: skip
    path.write_bytes(gzip.compress("\n".join(["game,player,score", *rows]).encode(), mtime=0))

    def read(path: Path) -> Any:
        log = read_log(path).log
        return log.players, log.player.tolist(), log.score.tolist(), log.rank.tolist()

    return path, read


def run_config(folder: Path) -> tuple[Path, Read]:
    from matchenv.agents import configured
    from matchenv.agents.run_folder import RunFolder

    run = RunFolder.create(folder / "run", configured("ppo", timesteps=1000, seed=12))
    return run.config_file, lambda _: asdict(run.read_config())


def policy(folder: Path) -> tuple[Path, Read]:
    from matchenv.agents.learned_names import SHIPPED
    from matchenv.agents.policy_file import read_policy

    path = folder / "policy.safetensors"
    path.write_bytes(SHIPPED["ppo-gittins"].read_bytes())

    def read(path: Path) -> Any:
        network, description = read_policy(path)
        weights = {name: each.tolist() for name, each in network.state_dict().items()}
        return weights, asdict(description)

    return path, read


def checkpoint(folder: Path) -> tuple[Path, Read]:
    from matchenv import agents
    from matchenv.agents.checkpoints import KIND
    from matchenv.agents.tensor_files import read_tensor_file

    config = agents.configured(
        "dqn", timesteps=64, num_envs=4, evaluation_episodes=2,
        hyperparameters={"buffer_size": 64, "learning_starts": 8, "batch_size": 4,
                         "policy_kwargs": {"net_arch": [4]}},
        env_kwargs={"num_opponents": 2, "horizon": 5},
    )  # fmt: skip
    run = agents.start_training(folder / "run", config, quiet=True)

    def read(path: Path) -> Any:
        found = read_tensor_file(path, KIND)
        if not found.checked:
            raise ValueError("it has no checksum")
        said = json.dumps(found.header, sort_keys=True)
        return said, {name: array.tobytes() for name, array in found.arrays.items()}

    return max(run.checkpoints.iterdir()), read


def pool(folder: Path) -> tuple[Path, Read]:
    from matchenv.service import Game, Pool

    path = folder / "pool.db"
    with Pool.open(path) as made:
        made.add_many([f"p{number}" for number in range(40)])
        for number in range(60):
            teams = [[f"p{number % 40}"], [f"p{(7 * number + 3) % 40}"]]
            made.rate(Game(teams, [0, number % 2]))

    def read(path: Path) -> Any:
        # Left by the one before; a pool that was closed has none.
        (folder / "pool.db-journal").unlink(missing_ok=True)
        with Pool.open(path) as found:
            return found.standings()

    return path, read


def state_of_a_fit_or_smoothing(folder: Path) -> tuple[Path, Read]:
    from matchenv.logs import MatchLog
    from matchenv.logs.checkpoint import Checkpoint

    path = folder / "smoothing.npz"
    rng = np.random.default_rng(0)
    log = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]])
    kept = Checkpoint(path, log, "settings")
    kept.keep({"messages": rng.random((30, 2)), "change": np.array(0.5)}, at_once=True)

    def read(path: Path) -> Any:
        arrays = Checkpoint(path, log, "settings").read()
        if not arrays:
            raise ValueError("begun anew")
        return {name: array.tolist() for name, array in arrays.items()}

    return path, read


def table_of_indices(folder: Path) -> tuple[Path, Read]:
    from matchenv.baselines import gittins_table as table

    grid = table.new_grid(8, 0.1, 0.5)
    path = folder / "gittins.npz"
    shape = (3, grid.variances, grid.gaps + 1)
    bonus = np.random.default_rng(0).random(shape).astype(np.float32)
    write_bytes(path, npz_bytes({"bonus": bonus}, "settings", compressed=False))

    def read(path: Path) -> Any:
        found = table.read_bonus(path, "settings", grid)
        if found is None:
            raise ValueError("computed anew")
        return found.tolist()

    return path, read


FILES = (leaderboard, block, packed_log, run_config, policy, checkpoint, pool,
         table_of_indices, state_of_a_fit_or_smoothing)  # fmt: skip


def damaged(make: Any, folder: Path, count: int, note: Any) -> None:
    path, read = make(folder)
    whole, right = path.read_bytes(), read(path)
    rng = np.random.default_rng(0)
    wrong = []
    for number in range(count):
        content = bytearray(whole)
        KINDS[number % len(KINDS)](content, rng)
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                held = read(path) == right or any("checksum" in str(w.message) for w in caught)
            except ValueError:
                held = True
            except Exception as error:
                held = False
                wrong.append(f"{type(error).__name__}: {error}")
            else:
                if not held:
                    wrong.append("read as something else")
        if not held:
            wrong[-1] += f" (damage {number}, {KINDS[number % len(KINDS)].__name__})"
    note("damaged file", make.__name__.replace("_", " "), count, count - len(wrong))
    assert not wrong, wrong[:5]


@pytest.mark.faults
@pytest.mark.parametrize("make", FILES)
def test_damaged_files(make: Any, tmp_path: Path, faults: Any) -> None:
    damaged(make, tmp_path, DAMAGES, faults)


@pytest.mark.parametrize(
    "make",
    [leaderboard, block, packed_log, pool, state_of_a_fit_or_smoothing],
)
def test_some_damaged_files(make: Any, tmp_path: Path, faults: Any) -> None:
    damaged(make, tmp_path, 150, faults)
