"""Find learned policies by name, folder or file; torch is imported when one is loaded."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from matchenv.agents import with_extra
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.checks import errors_named
from matchenv.runtime.object_spec import is_object_spec

# Packaged policies; their names take precedence over folders.
WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {"ppo-gittins": WEIGHTS / "ppo-gittins.safetensors"}

# The policy, the configuration and the evaluations in the folder of a run.
POLICY_FILE = "policy.safetensors"
CONFIG = "config.yml"
EVALUATIONS = "evaluations.json"

# Default folder of training runs, in which their names are looked up.
RUNS = Path("runs")

# The file in a checkpoint of RLlib that is read.
RLLIB_FILE = "matchenv_policy.safetensors"


def learned_file(name: str) -> Path | None:
    """Return the file of a learned policy; None if there is none of this name.

    Args:
        name: a packaged name, a file, the folder of a run, its name in ``runs/``, or the folder of
            an RLlib checkpoint with our network.

    Raises:
        ValueError: for a folder without a policy or with several.
    """
    if not name:
        return None
    for path in (SHIPPED.get(name, Path(name)), RUNS / name):
        if path.is_file():
            return path
        if path.is_dir():
            return _file_in(path)
    return None


def runs_in(name: str) -> list[str]:
    """Return the runs in a folder with several seeds of a training, ordered by seed.

    Args:
        name: the folder, or its name in ``runs/``; anything else has no runs.
    """
    for path in (Path(name), RUNS / name):
        if not name or not path.is_dir():
            continue
        if (path / POLICY_FILE).is_file() or (path / CONFIG).is_file():
            return []  # a single run
        seeds = []
        for folder in path.glob("seed*"):
            number = folder.name.removeprefix("seed")
            if number.isdecimal() and (folder / CONFIG).is_file():
                seeds.append(int(number))
        return [str(path / f"seed{seed}") for seed in sorted(seeds)]
    return []


def _file_in(folder: Path) -> Path:
    """Return the file of the policy in the folder of a run or of an RLlib checkpoint."""
    if (folder / POLICY_FILE).is_file():
        return folder / POLICY_FILE
    if (folder / CONFIG).is_file():
        raise ValueError(
            f"the run {folder} has saved no policy yet; continue it: matchenv train --resume "
            f"{folder}"
        )
    everywhere = list(folder.rglob(RLLIB_FILE))
    # The env runner's copy of the network can be older than the learner's.
    learners = [file for file in everywhere if "learner" in file.relative_to(folder).parts]
    candidates = learners or everywhere
    if len(candidates) != 1:
        raise ValueError(
            f"{folder} holds no run: it has neither {CONFIG} nor {POLICY_FILE}; as a checkpoint of "
            f"RLlib it must have one file {RLLIB_FILE}, and has {len(candidates)}"
        )
    return candidates[0]


def learned_policy(text: str) -> Any:
    """Return the learned policy that a text names; None if it names none.

    Each process loads a file once, and again after it changed.

    Args:
        text: as for ``learned_file``.

    Raises:
        ValueError: for options, or a file that cannot be read.
    """
    name, colon, _ = text.partition(":")
    with errors_named(f"policy {text!r} cannot be loaded"):
        file = learned_file(text)
        if file is not None:
            return _loaded(text, hashlib.sha256(file.read_bytes()).hexdigest())
        if colon and not is_object_spec(text) and learned_file(name) is not None:
            raise ValueError("a learned policy has no options")
        return None


@lru_cache(maxsize=8)
def _loaded(name: str, _: str) -> Any:
    """Load a policy; the digest tells versions of its file apart."""
    return with_extra("matchenv.agents.policy_file", "load")(name)


class LearnedPolicies:
    """Learned policies for ``matchenv.evaluation.registry.policy_named``."""

    def names(self, env_id: str) -> tuple[str, ...]:
        """Return the names of the packaged policies of an environment."""
        return tuple(SHIPPED) if env_id == Settings.env_id else ()

    def runs_in(self, text: str) -> list[str]:
        """Return the runs in a folder of several seeds, see ``runs_in``."""
        with errors_named(f"policy {text!r} cannot be loaded"):
            return runs_in(text)

    def file_of(self, text: str) -> Path | None:
        """Return the file of a policy, see ``learned_file``."""
        return learned_file(text)

    def policy_of(self, text: str) -> Any:
        """Return a policy, see ``learned_policy``."""
        return learned_policy(text)


LEARNED_POLICIES = LearnedPolicies()
