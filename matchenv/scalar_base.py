"""What the environments of one episode share: resets, ends, pictures and their names."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, RENDER_MODES, Frame
from matchenv.options import Options
from matchenv.queue.rendered_batch import RenderedBatch
from matchenv.runtime.checks import as_integer

# The one row of a batch of one, and that it is not left alone.
ROW = np.zeros(1, dtype=np.int64)
NOBODY_WAITS = np.zeros(1, dtype=np.bool_)

NEVER_RESET, RUNNING, OVER = "never reset", "running", "played to its end"


class ScalarEnv(gym.Env[NDArray[np.float32], np.int64]):
    """One environment: a batch of one.

    A subclass says how it begins (``_begin``) and what is seen then (``_first_seen``), and has its
    own ``step``.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    settings: Options
    _rendered: RenderedBatch
    _state = NEVER_RESET

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: reseeds the environment's own generator; None goes on with it.
            options: fix all or part of the start, as the class describes.

        Returns:
            The observation, and the information that is there after a reset.

        Raises:
            ValueError: for a seed that is negative or no integer, or options of an unknown
                name, wrong shape or bad numbers; nothing is changed then.
        """
        given = self._given(options)
        super().reset(seed=None if seed is None else as_integer("seed", seed, 0))
        self._begin(given)
        self._state = RUNNING
        self._rendered.begin(ROW)
        self._rendered.show()
        return self._first_seen()

    def render(self) -> Frame | None:
        """The state as a picture or as text, as ``render_mode`` says.

        Returns:
            With ``"rgb_array"`` uint8 of shape (height, width, 3), with ``"ansi"`` a text; None
            with ``"human"``, which shows every state by itself, and without a render mode.
        """
        if self.render_mode is None:
            gym.logger.warn(
                "render() was called without a render mode; "
                f'use gym.make("{self._rendered.title}", render_mode="rgb_array").'
            )
            return None
        if self._state == NEVER_RESET:
            raise ResetNeeded("Call reset() before render().")
        return None if self.render_mode == "human" else self._rendered.frame(0)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._rendered.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self)

    def __str__(self) -> str:
        return repr(self)

    @abstractmethod
    def _given(self, options: dict[str, Any] | None) -> Any:
        """The checked options of a reset."""

    @abstractmethod
    def _begin(self, given: Any) -> None:
        """Start an episode with what ``_given`` gave."""

    @abstractmethod
    def _first_seen(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """What a reset returns."""

    def _reset_needed(self) -> ResetNeeded:
        """The error of a step that cannot be."""
        return ResetNeeded(f"Call reset() before step(): this environment was {self._state}.")
