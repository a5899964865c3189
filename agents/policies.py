"""Policies by name: baselines, learned policies and classes of the user's own; without torch.

torch is imported once a learned policy is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from matchenv.agents.extra import with_extra
from matchenv.baselines import POLICIES
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import adapted
from matchenv.runtime.object_spec import (
    build_object,
    is_object_spec,
    object_from_spec,
    parsed_options,
)

# Learned policies that come with the package; these names go before folders.
WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {name: WEIGHTS / f"{name}.safetensors" for name in ("ppo-gittins",)}

# Where training runs go that were given no folder, and where their names are looked up.
RUNS = Path("runs")

# What a policy may be told about the environment. A class is given those that it takes.
TOLD = ("num_opponents", "horizon", "beta", "draw_margin", "tau", "belief")

# Before the path of a checkpoint of RLlib, and the file in it that is read.
RLLIB, RLLIB_FILE = "rllib", "matchenv_policy.safetensors"

BRACES = re.compile(r"\{([^{}]*)\}")


def known_policies() -> tuple[str, ...]:
    """Names of all policies that come with the package, the baselines first."""
    return (*POLICIES, *SHIPPED)


def policy_named(
    text: str, settings: Settings, true_skill: Callable[[], ArrayLike] | None = None
) -> Any:
    """The policy that a text names, made for an environment.

    Args:
        text: one of

            * a baseline with or without options: ``"kg"``, ``"kg:multiplier=20,belief=full"``;
            * a learned policy that comes with the package: ``"ppo-gittins"``;
            * a checkpoint of RLlib with our network: ``"rllib:PATH"``; only the file in it that
              holds no pickled objects is read;
            * a training run (its folder, or its name in ``runs/``), a ``.safetensors`` file, or
              a zip file of stable-baselines3 (``"model.zip:algorithm=ppo"``);
            * a class of the user's own: ``"module:Class"``, ``"module:Class:key=value"``. The
              module is looked for where Python looks, and in the working folder.
        settings: of the environment. A baseline or a class is given those of ``TOLD`` that its
            constructor takes (a baseline the belief that it prefers); an option of the text
            goes before. A policy with a method
            ``for_settings(settings)`` is replaced by what that returns. Which belief a policy
            reads is said by its attribute ``belief``.
        true_skill: gives the true skills at the time of a choice, for the oracle.

    Returns:
        An object with stable-baselines3's ``predict``; a baseline (``matchenv.baselines.Policy``)
        or a learned policy (``matchenv.agents.LearnedPolicy``) has more.

    Raises:
        ValueError: for a name that is not known (the known ones are listed), a bad option, or a
            policy that cannot play with these settings.
    """
    name, _, options = text.partition(":")
    told = {**{key: getattr(settings, key) for key in TOLD}, "true_skill": true_skill}
    if name in POLICIES:
        preferred = POLICIES[name].preferred_belief(settings)
        made = build_object("policy", text, POLICIES[name], options, {**told, "belief": preferred})
        return adapted(made, settings)
    if name == RLLIB:
        policy = learned_policy(text, str(rllib_file(text)), "")
    elif name in SHIPPED or learned_path(name) is not None:
        policy = learned_policy(text, name, options)
    elif is_object_spec(text):
        policy = object_from_spec("policy", text, told, known_policies())
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy {text!r} must have a method predict, {policy!r} has none")
    else:
        raise ValueError(
            f"policy must be one of {', '.join(known_policies())}, the folder of a training run, "
            f"a .safetensors file, or module:Class for a class of your own; got {text!r}"
        )
    return adapted(policy, settings)


def expanded(texts: Iterable[str]) -> list[str]:
    """The texts with braces expanded, as bash does it: one text for each word in them.

    ``"kg:multiplier={3,5}"`` gives ``"kg:multiplier=3"`` and ``"kg:multiplier=5"``.

    Raises:
        ValueError: for a brace without its partner.
    """
    found: list[str] = []
    for text in texts:
        listed = BRACES.search(text)
        if listed is None:
            if "{" in text or "}" in text:
                raise ValueError(f"braces must come in pairs, as in kg:multiplier={{3,5}}: {text}")
            found.append(text)
            continue
        before, after = text[: listed.start()], text[listed.end() :]
        found += expanded(f"{before}{word}{after}" for word in listed[1].split(","))
    return found


def learned_path(name: str) -> Path | None:
    """The file or folder that the name of a learned policy stands for, None if there is none."""
    for path in (SHIPPED.get(name, Path(name)), RUNS / name):
        if name and path.exists():
            return path
    return None


def rllib_file(text: str) -> Path:
    """The file of a checkpoint of RLlib that a policy is read from.

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


def learned_policy(text: str, name: str, options: str) -> Any:
    """The learned policy of a name, read once in each process while its file stays the same.

    Raises:
        ValueError: for a bad option, or a file that cannot be read.
    """
    given = parsed_options("policy", text, options)
    if not set(given) <= {"algorithm"}:
        raise ValueError(
            f"the only option of a learned policy is algorithm, for a zip file; got {text!r}"
        )
    path = learned_path(name)
    assert path is not None
    try:
        return _loaded(name, given.get("algorithm"), _stamp(path))
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"policy {text!r} cannot be loaded: {error}") from None


@lru_cache(maxsize=8)
def _loaded(name: str, algorithm: str | None, stamp: tuple[tuple[str, int, int], ...]) -> Any:
    """A learned policy, read once in each process while its file stays the same."""
    del stamp
    return with_extra("matchenv.agents.policy_file", "load")(name, algorithm=algorithm)


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(path.glob("*")) if path.is_dir() else [path]
    stats = [(str(file.resolve()), file.stat()) for file in files]
    return tuple((file, each.st_mtime_ns, each.st_size) for file, each in stats)
