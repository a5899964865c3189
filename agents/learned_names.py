"""Learned policies by name, folder or file; torch is imported once one is loaded."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from matchenv.agents import with_extra

# Learned policies that come with the package; these names go before folders.
WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {name: WEIGHTS / f"{name}.safetensors" for name in ("ppo-gittins",)}

# The policy and the configuration in the folder of a run.
POLICY_FILE, CONFIG = "policy.safetensors", "config.yml"

# Where training runs go that were given no folder, and where their names are looked up.
RUNS = Path("runs")

# The file in a checkpoint of RLlib that is read.
RLLIB_FILE = "matchenv_policy.safetensors"


def learned_file(name: str) -> Path | None:
    """Return the file of a learned policy; None if there is nothing of this name.

    Args:
        name: a shipped name, a file, the folder of a run, its name in ``runs/``, or the folder of
            a checkpoint of RLlib with our network.

    Raises:
        ValueError: for a folder without a policy, or with several.
    """
    places = (SHIPPED.get(name, Path(name)), RUNS / name)
    # A device may have no end.
    path = next((each for each in places if name and (each.is_file() or each.is_dir())), None)
    if path is None or not path.is_dir():
        return path
    if (path / POLICY_FILE).is_file():
        return path / POLICY_FILE
    if (path / CONFIG).is_file():
        raise ValueError(
            f"the run {path} has saved no policy yet; go on with it: matchenv train --resume {path}"
        )
    files = list(path.rglob(RLLIB_FILE))
    # The runner's copy of the network may lie beside the learner's, which is the newer one.
    files = [file for file in files if "learner" in file.relative_to(path).parts] or files
    if len(files) != 1:
        raise ValueError(
            f"{path} holds no run: it has neither {CONFIG} nor {POLICY_FILE}; a checkpoint of "
            f"RLlib has one file {RLLIB_FILE}, and here are {len(files)}"
        )
    return files[0]


def learned_policy(text: str) -> Any:
    """Return the learned policy of a text; None where it names none.

    It is read once in each process while its file stays the same.

    Args:
        text: as ``learned_file``.

    Raises:
        ValueError: for an option, or a file that cannot be read.
    """
    name, colon, _ = text.partition(":")
    try:
        file = learned_file(text)
        if file is None:
            if colon and learned_file(name) is not None:
                raise ValueError("a learned policy has no options")
            return None
        stat = file.stat()
        return _loaded(text, file.resolve(), stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"policy {text!r} cannot be loaded: {error}") from None


@lru_cache(maxsize=8)
def _loaded(name: str, *_: Any) -> Any:
    """Return a learned policy; errors are not kept."""
    return with_extra("matchenv.agents.policy_file", "load")(name)
