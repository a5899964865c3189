"""The scalar environment over any simulator, a batch of one, and its base class."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled, ResetNeeded
from numpy.typing import NDArray

from matchenv.envs import part_of, simulator_of
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.checks import as_choice, as_flag, as_integer
from matchenv.runtime.random import drawn_key

if TYPE_CHECKING:
    from matchenv.envs.core.settings import Options
    from matchenv.rendering.scene import Renderer

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Steps per second in videos and windows.
RENDER_FPS = 30

Pixels = NDArray[np.uint8]
Frame = Pixels | str

ROW = np.zeros(1, dtype=np.int64)
RUNS = np.ones(1, dtype=np.bool_)

# Header and last rows of the table of arguments.
ARGUMENTS = [
    "| Parameter | Default | Meaning |",
    "|-----------|---------|---------|",
    '| `render_mode` | `None` | `"rgb_array"`, `"human"` or `"ansi"`; see Rendering |',
    "| `render_true_skill` | `True` | whether pictures show true skills and related numbers |",
]

NEVER_RESET, RUNNING, OVER = "never reset", "running", "played to its end"


class MissingRenderPackage(DependencyNotInstalled, ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    It is also a ``TypeError``, the only error after which stable-baselines3, which tries
    ``"rgb_array"`` for every environment, continues without pictures.
    """


class SimulatorEnv:
    """Base of the scalar and the vector environment: episodes, action masks and rendering.

    Attributes:
        settings: the checked options.
        simulator: of the episodes.
        render_mode: None, ``"human"``, ``"rgb_array"`` or ``"ansi"``.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }
    _settings_type: ClassVar[type[Options]]

    def __init_subclass__(cls, settings: type[Options] | None = None, **keywords: Any) -> None:
        """Add the options of an environment to its signature and to its docstring.

        Args:
            settings: the options, which the constructor accepts as ``**options``. The line
                ``{options}`` of the docstring becomes a table with a row for each argument.
            keywords: of other bases.
        """
        super().__init_subclass__(**keywords)
        if settings is None:
            return
        cls._settings_type = settings
        signature, rows = inspect.signature(cls), ARGUMENTS[:2]
        listed = settings.listed()
        inherited = [entry.name for entry in listed]  # of an environment with fewer options
        own = [p for p in signature.parameters.values()
               if p.kind is not p.VAR_KEYWORD and p.name not in inherited]  # fmt: skip
        for entry in listed:
            only = inspect.Parameter.KEYWORD_ONLY
            own.append(
                inspect.Parameter(entry.name, only, default=entry.default, annotation=entry.type)
            )
            rows.append(f"| `{entry.name}` | `{entry.default!r}` | {entry.metadata['text']} |")
        cls.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        table = "\n".join([*rows, *ARGUMENTS[2:]])
        # Python 3.13 compiles docstrings without their indentation.
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "").replace("{options}", table)

    def _set_up(
        self, count: int, render_mode: str | None, render_true_skill: bool, options: dict[str, Any]
    ) -> None:
        """Create the state of ``count`` episodes that have not begun, and their renderer.

        Raises:
            ValueError: for a bad option or mode, or a flag that is neither True nor False.
            MissingRenderPackage: for pictures without pygame.
        """
        self.settings: Any = self._settings_type.checked(**options)
        self.simulator: Any = simulator_of(self.settings)
        self.render_mode = render_mode
        self._state = self.simulator.new_state(count)
        as_flag("render_true_skill", render_true_skill)
        self._renderer: Renderer[Any] | None = None
        if render_mode is not None:
            as_choice("render_mode", render_mode, RENDER_MODES)
            if render_mode in PICTURE_MODES and find_spec("pygame") is None:
                raise MissingRenderPackage(
                    f"render_mode={render_mode!r} requires pygame, which is not installed: "
                    'pip install "matchenv[render]"'
                )
            renderer = part_of(self.simulator.env_id, "renderer")
            self._renderer = renderer(self.simulator, render_mode, count, render_true_skill)
        self._masked = self.simulator.masks(self._state) is not None
        self._strict = self.settings.invalid_action == "error"
        self._invalid = np.zeros(count, dtype=np.bool_)

    @property
    def env_id(self) -> str:
        """A name of ``matchenv.envs.ENVIRONMENTS``."""
        return str(self.simulator.env_id)

    def _begin(self, rows: Integers, keys: Keys, given: Any = None) -> None:
        """Start episodes with these keys."""
        self._state = self.simulator.begin(self._state, rows, keys, given)
        self._invalid[rows] = False
        if self._renderer is not None:
            self._renderer.begin(self._state, rows)

    def _carry_out(self, actions: Integers, running: Masks) -> tuple[Floats, Masks, Masks]:
        """Carry out actions; return rewards, terminations and truncations."""
        if self._masked:
            actions, self._invalid = self.simulator.allowed_actions(
                self._state, actions, running, strict=self._strict
            )
        self._state, reward, terminated, truncated = self.simulator.step(
            self._state, actions, running
        )
        if self._renderer is not None:
            self._renderer.add(self._state, actions, reward, running)
        return reward, terminated, truncated

    def _show(self) -> None:
        if self._renderer is not None:
            self._renderer.show(self._state)

    def _masks(self) -> Masks:
        """Return a copy of the allowed actions, shape (count, A)."""
        masks = self.simulator.masks(self._state)
        if masks is None:
            return np.ones((self._invalid.size, self.simulator.num_actions), dtype=np.bool_)
        return np.array(masks, dtype=np.bool_)


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
        given = self.simulator.given(options, None)
        super().reset(seed=None if seed is None else as_integer("seed", seed, 0))
        self._begin(ROW, np.array([drawn_key(self.np_random)], np.uint64), given)
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
        reward, terminated, truncated = self._carry_out(self._actions, RUNS)
        ended, cut = terminated.item(0), truncated.item(0)
        if ended or cut:
            self._phase = OVER
        if self._renderer is not None:
            self._show()
        return self._observation(), reward.item(0), ended, cut, self._info()

    def action_masks(self) -> Masks:
        """Return the allowed actions, shape (A,); sb3-contrib's MaskablePPO calls this method."""
        return self._masks()[0]

    def render(self) -> Frame | None:
        """Return the current state as a picture or as text.

        Returns:
            An uint8 array of shape (height, width, 3) with ``"rgb_array"``, a string with
            ``"ansi"``; None with ``"human"``, which shows every state, and without a render mode.
        """
        if self._renderer is None:
            gym.logger.warn(
                "render() was called without a render mode; "
                f'use gym.make("{self.simulator.env_id}", render_mode="rgb_array").'
            )
            return None
        if self._phase == NEVER_RESET:
            raise ResetNeeded("Call reset() before render().")
        return None if self.render_mode == "human" else self._renderer.frame(self._state, 0)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._renderer is not None:
            self._renderer.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self)

    def __str__(self) -> str:
        return repr(self)

    def _observation(self) -> NDArray[np.float32]:
        return self.simulator.observe(self._state)[0].copy()

    def _info(self) -> dict[str, Any]:
        # NumPy numbers, and Python's bool: libraries infer the dtypes of vectors of these.
        info = self.simulator.info(self._state, 0)
        if self._masked:
            info["action_mask"] = self.action_masks().astype(np.int8)
            info["invalid_action"] = bool(self._invalid[0])
        return info
