"""Files of every kind, damaged in many ways, are refused in one line or read correctly."""

import gzip
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.agents.learned_names import SHIPPED
from matchenv.agents.policy_file import read_policy
from matchenv.agents.run_config import RunFolder, configured
from matchenv.logs.reading import read_log
from matchenv.runtime.files import npz_bytes, read_npz, write_bytes

DAMAGES = 400

Read = Callable[[Path], Any]

KINDS = ("flipped bit", "other byte", "cut off", "cut out", "zeroed", "swapped", "doubled", "added")


def damaged(content: bytes, kind: str, rng: np.random.Generator) -> bytes:
    """Damage a content at one random place."""
    first, second = sorted(rng.integers(len(content), size=2).tolist())
    size = min(int(rng.integers(1, 65)), second - first, len(content) - second)
    byte = rng.bytes(1) if kind == "other byte" else bytes([content[first] ^ 1 << rng.integers(8)])
    part, end = content[first : first + size], first + size
    changed = {
        "flipped bit": byte + content[first + 1 :],
        "other byte": byte + content[first + 1 :],
        "cut off": b"",
        "cut out": content[end:],
        "zeroed": bytes(8 * size) + content[first + 8 * size :],
        "swapped": content[second : second + size] + content[end:second] + part
        + content[second + size :],
        "doubled": part + content[first:],
        "added": content[first:] + rng.bytes(size),
    }  # fmt: skip
    return content[:first] + changed[kind]


def block(folder: Path) -> tuple[Path, Read]:
    path = folder / "job.npz"
    rng = np.random.default_rng(0)
    arrays = {"sums": rng.random((2, 3, 8)), "final": rng.random(8)}
    write_bytes(path, npz_bytes(arrays, ["key", "job"]))

    def read(path: Path) -> Any:
        return {name: array.tolist() for name, array in read_npz(path, ["key", "job"]).items()}

    return path, read


def packed_log(folder: Path) -> tuple[Path, Read]:
    path = folder / "log.csv.gz"
    rows = [f"{game},{player},{game * 7 % 5 + k}" for game in range(99)
            for k, player in enumerate(f"ab{game % 9}"[-2:])]  # fmt: skip
    path.write_bytes(gzip.compress("\n".join(["game,player,score", *rows]).encode(), mtime=0))

    def read(path: Path) -> Any:
        log = read_log(path).log
        return log.players, log.player.tolist(), log.rank.tolist()

    return path, read


def run_config(folder: Path) -> tuple[Path, Read]:
    run = RunFolder.create(folder / "run", configured("ppo", timesteps=1000, seed=12))
    return run.config_file, lambda _: asdict(run.read_config())


def policy(folder: Path) -> tuple[Path, Read]:
    path = folder / "policy.safetensors"
    path.write_bytes(SHIPPED["ppo-gittins"].read_bytes())

    def read(path: Path) -> Any:
        network, description = read_policy(path)
        weights = {name: array.tolist() for name, array in network.state_dict().items()}
        return weights, asdict(description)

    return path, read


FILES = (block, packed_log, run_config, policy)


@pytest.mark.parametrize(
    ("make", "count"),
    [*(pytest.param(make, DAMAGES, marks=pytest.mark.faults) for make in FILES),
     *((make, 150) for make in FILES)],
)  # fmt: skip
def test_damaged_files(make: Any, count: int, tmp_path: Path) -> None:
    path, read = make(tmp_path)
    whole, right = path.read_bytes(), read(path)
    rng = np.random.default_rng(0)
    wrong = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        path.write_bytes(damaged(whole, kind, rng))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if read(path) != right and not any("checksum" in str(w.message) for w in caught):
                    wrong.append(f"read as something else (damage {number}, {kind})")
            except ValueError:
                pass
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error} (damage {number}, {kind})")
    assert not wrong, wrong[:5]
