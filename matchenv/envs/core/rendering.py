"""Render modes, and the construction of renderers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from matchenv.envs import part_of
from matchenv.runtime.checks import as_choice, as_flag

if TYPE_CHECKING:
    from matchenv.rendering.scene import Renderer

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Steps per second in videos and windows.
RENDER_FPS = 30

Pixels = NDArray[np.uint8]
Frame = Pixels | str


class MissingRenderPackage(DependencyNotInstalled, ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    It is also a ``TypeError``, the only error after which stable-baselines3, which tries
    ``"rgb_array"`` for every environment, continues without pictures.
    """


def make_renderer(
    simulator: Any, render_mode: str | None, count: int, render_true_skill: bool
) -> Renderer[Any] | None:
    """Return a renderer of a simulator's episodes, or None without a render mode.

    Args:
        simulator: of the episodes.
        render_mode: None or one of ``RENDER_MODES``.
        count: episodes in the batch.
        render_true_skill: whether to show true skills and numbers derived from them.

    Raises:
        ValueError: for an unknown mode, or a flag that is neither True nor False.
        MissingRenderPackage: for pictures without pygame.
    """
    as_flag("render_true_skill", render_true_skill)
    if render_mode is None:
        return None
    as_choice("render_mode", render_mode, RENDER_MODES)
    if render_mode in PICTURE_MODES and find_spec("pygame") is None:
        raise MissingRenderPackage(
            f"render_mode={render_mode!r} requires pygame, which is not installed: "
            'pip install "matchenv[render]"'
        )
    renderer: type[Renderer[Any]] = part_of(simulator.env_id, "renderer")
    return renderer(simulator, render_mode, count, render_true_skill)
