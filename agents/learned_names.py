"""Learned policies by name, folder or file; torch is imported once one is loaded."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from matchenv.agents import with_extra

# Learned policies that come with the package; these names go before folders.
WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {name: WEIGHTS / f"{name}.safetensors" for name in ("ppo-gittins",)}

# The policy in the folder of a run.
POLICY_FILE = "policy.safetensors"

# Where training runs go that were given no folder, and where their names are looked up.
RUNS = Path("runs")

# Before the path of a checkpoint of RLlib, and the file in it that is read.
RLLIB, RLLIB_FILE = "rllib", "matchenv_policy.safetensors"


def learned_path(name: str) -> Path | None:
    """Return the file or folder of a learned policy's name; None if there is none."""
    for path in (SHIPPED.get(name, Path(name)), RUNS / name):
        if name and path.exists():
            return path
    return None


def rllib_file(text: str) -> Path:
    """Return the file of a checkpoint of RLlib that a policy is read from.

    Args:
        text: ``"rllib:PATH"``.

    Raises:
        ValueError: for a checkpoint without such a file, or with several.
    """
    folder = Path(text.partition(":")[2])
    files = sorted(folder.rglob(RLLIB_FILE)) if folder.is_dir() else []
    # The runner's copy of the network may lie beside the learner's, which is the newer one.
    learners = [file for file in files if "learner" in file.relative_to(folder).parts]
    files = learners or files
    if len(files) != 1:
        raise ValueError(
            f"policy {text!r} must name a checkpoint with one file {RLLIB_FILE}, as those of "
            f"matchenv.agents.rllib have it, and {folder} has {len(files)}; other files of "
            "RLlib hold pickled objects and are not read"
        )
    return files[0]


def learned_files(text: str) -> list[Path] | None:
    """Return the files of the learned policy of a text; None where it names none."""
    name = text.partition(":")[0]
    if name == RLLIB:
        return [rllib_file(text)]
    path = learned_path(name)
    if path is None:
        return None
    file = path / POLICY_FILE if path.is_dir() else path
    return [file] if file.is_file() else []


def learned_policy(text: str) -> Any:
    """Return the learned policy of a text; None where it names none.

    It is read once in each process while its file stays the same.

    Args:
        text: a shipped name, a run, a file, or ``"rllib:PATH"``.

    Raises:
        ValueError: for an option, or a file that cannot be read.
    """
    files = learned_files(text)
    if files is None:
        return None
    name, _, options = text.partition(":")
    if name == RLLIB:
        name, options = str(files[0]), ""
    if options:
        raise ValueError(f"a learned policy has no options, got {text!r}")
    try:
        stats = [(str(file.resolve()), file.stat()) for file in files]
        stamp = tuple((file, each.st_mtime_ns, each.st_size) for file, each in stats)
        return _loaded(name, stamp)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"policy {text!r} cannot be loaded: {error}") from None


@lru_cache(maxsize=8)
def _loaded(name: str, stamp: tuple[tuple[str, int, int], ...]) -> Any:
    """Return a learned policy; errors are not kept."""
    del stamp
    return with_extra("matchenv.agents.policy_file", "load")(name)
