"""The scalar environment over any simulator: a batch of one episode."""

from __future__ import annotations

from typing import Any, TypedDict

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from matchenv.envs.core.environment import SimulatorEnv
from matchenv.envs.core.rendering import Frame
from matchenv.runtime.arrays import Masks
from matchenv.runtime.checks import as_integer
from matchenv.runtime.random import drawn_key

ROW = np.zeros(1, dtype=np.int64)

# Phases of an environment, as in error messages.
NEVER_RESET = "never reset"
RUNNING = "running"
OVER = "played to its end"


class ScalarArguments(TypedDict, total=False):
    """The arguments of every scalar environment, beside its options, for type checkers."""

    render_mode: str | None
    render_true_skill: bool


class ScalarEnv(SimulatorEnv, gym.Env[NDArray[np.float32], np.int64]):
    """A Gymnasium environment with one episode at a time.

    Args:
        render_mode: None, ``"human"``, ``"rgb_array"`` or ``"ansi"``.
        render_true_skill: whether pictures show true skills and numbers derived from them.
        options: fields of the environment's settings.

    Raises:
        ValueError: for a bad value; it names the argument and the allowed values.
        TypeError: for an unknown option.
    """

    def __init__(
        self, *, render_mode: str | None = None, render_true_skill: bool = True, **options: Any
    ) -> None:
        self._set_up(1, render_mode, render_true_skill, options)
        self.observation_space = self.simulator.observation_space
        self.action_space: spaces.Discrete = spaces.Discrete(self.simulator.num_actions)
        self._actions = np.zeros(1, dtype=np.int64)
        self._phase = NEVER_RESET

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: reseeds the environment's generator; None continues with it.
            options: fix all or part of the starting state; see the class.

        Returns:
            The observation and the information.

        Raises:
            ValueError: for a seed that is no integer >= 0, or options with an unknown name, a wrong
                shape or bad numbers. The environment is unchanged then.
        """
        fixed = self.simulator.reset_options(options, None)
        if seed is not None:
            seed = as_integer("seed", seed, 0)
        super().reset(seed=seed)
        self.episodes.begin(ROW, np.array([drawn_key(self.np_random)], np.uint64), fixed)
        self._phase = RUNNING
        self._show()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Carry out an action.

        Args:
            action: an integer in [0, A). An action that ``action_masks`` forbids is replaced (see
                the class), or refused with ``invalid_action="error"``.

        Returns:
            Observation, reward, termination, truncation and information; see the class.

        Raises:
            ValueError: for an action that is no integer, out of range or refused. The environment
                is unchanged then.
            gymnasium.error.ResetNeeded: before the first reset or after the end of an episode.
        """
        if self._phase != RUNNING:
            raise ResetNeeded(f"Call reset() before step(): this environment was {self._phase}.")
        self._actions[0] = as_integer("action", action, 0, self.simulator.num_actions - 1)
        _, rewards, terminations, truncations = self.episodes.carry_out(self._actions, self._strict)
        terminated = terminations.item(0)
        truncated = truncations.item(0)
        if terminated or truncated:
            self.episodes.end(terminations | truncations)
            self._phase = OVER
        if self._renderer is not None:
            self._show()
        return self._observation(), rewards.item(0), terminated, truncated, self._info()

    def action_masks(self) -> Masks:
        """Return the allowed actions, shape (A,); sb3-contrib's MaskablePPO calls this method."""
        masks: Masks = self.episodes.masks()[0]
        return masks

    def render(self) -> Frame | None:
        """Return the current state as a picture or as text.

        Returns:
            An uint8 array of shape (height, width, 3) with ``"rgb_array"``, a string with
            ``"ansi"``; None with ``"human"``, which shows every state, and without a render mode.
        """
        if self._renderer is None:
            gym.logger.warn(
                "render() was called without a render mode; "
                f'use gym.make("{self.env_id}", render_mode="rgb_array").'
            )
            return None
        if self._phase == NEVER_RESET:
            raise ResetNeeded("Call reset() before render().")
        if self.render_mode == "human":
            return None
        return self._renderer.frame(self._state, 0)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._renderer is not None:
            self._renderer.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self)

    def __str__(self) -> str:
        # Gymnasium's wrappers print <NAME followed by this text and >.
        return f"<{self!r}>"

    def _observation(self) -> NDArray[np.float32]:
        return self.simulator.observe(self.episodes.state)[0].copy()

    def _info(self) -> dict[str, Any]:
        info = self.simulator.info(self.episodes.state, 0)
        if self.episodes.has_masks:
            info["action_mask"] = self.action_masks().astype(np.int8)
            info["invalid_action"] = bool(self.episodes.invalid_action[0])
        return info
