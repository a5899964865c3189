"""Arguments of environments, and the cells of one training: set-ups that share the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from matchenv.priors import Prior, prior_text
from matchenv.rewards import Reward, reward_text
from matchenv.settings import Settings

# Options that may be objects of the user's own, and how they are written.
OWN: dict[str, Callable[[Any], str]] = {"prior": prior_text, "reward": reward_text}

# All cells must agree on these, so that their observations fit one batch.
SHARED = ("num_opponents", "horizon", "beta", "belief", "availability", "mean_stay", "turnover")


def check_cells(cells: list[dict[str, Any]], env_kwargs: dict[str, Any]) -> list[Settings]:
    """The settings of every cell.

    Args:
        cells: keyword arguments of an environment each.
        env_kwargs: those of all of them.

    Raises:
        ValueError: for no cell, an argument of no environment or a bad value, or cells that
            differ in what makes the size of an observation.
    """
    settings = checked_env_kwargs(env_kwargs)
    if settings.pool_changes:
        raise ValueError(
            "availability must be 1 and turnover 0 where weights are cloned or searched for, got "
            f"{settings.availability!r} and {settings.turnover!r}; matchenv train --algo "
            "maskable_ppo trains where the pool changes"
        )
    if not cells:
        raise ValueError(f"cells must be a list of environments' arguments, got {cells!r}")
    for cell in cells:
        if set(SHARED) & set(cell):
            raise ValueError(
                f"cells must all have the same {', '.join(SHARED)}, which belong to env_kwargs; "
                f"got {cell!r}"
            )
    return [checked_env_kwargs({**env_kwargs, **cell}, "cells") for cell in cells]


def checked_env_kwargs(env_kwargs: dict[str, Any], name: str = "env_kwargs") -> Settings:
    """The settings of an environment with these keyword arguments.

    Args:
        env_kwargs: the arguments.
        name: what they are, for the message.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value, or an object
            that a file cannot hold, which ``as_texts`` has not replaced.
    """
    known = [each.name for each in fields(Settings)]
    for given in env_kwargs:
        if given not in known:
            raise ValueError(f"{name} must be among {', '.join(known)}; got {given!r}")
    settings = Settings.checked(**env_kwargs)
    for given, value in settings.changed().items():
        if value != settings.description()[given]:
            raise ValueError(
                f"{name} must be names and numbers, which the folder of a training can keep, "
                f"got {given}={value!r}"
            )
    return settings


def as_texts(env_kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an environment with objects as the texts that make them again.

    Args:
        env_kwargs: the arguments.

    Raises:
        ValueError: for a prior or reward that no text can make; it says why.
    """
    return {
        name: OWN[name](value) if name in OWN and isinstance(value, Prior | Reward) else value
        for name, value in env_kwargs.items()
    }
