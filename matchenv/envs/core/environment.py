"""The common base of the scalar and the vector environment over a simulator."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any, ClassVar

from matchenv.envs.core.episodes import Episodes
from matchenv.envs.core.registration import environment_of
from matchenv.envs.core.rendering import (
    PICTURE_MODES,
    RENDER_FPS,
    RENDER_MODES,
    MissingRenderPackage,
    Renderer,
)
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import Simulator
from matchenv.runtime.checks import as_choice, as_flag

# Header and last rows of the table of arguments.
ARGUMENTS_HEADER = [
    "| Parameter | Default | Meaning |",
    "|-----------|---------|---------|",
]
SHARED_ARGUMENTS = [
    '| `render_mode` | `None` | `"rgb_array"`, `"human"` or `"ansi"`; see Rendering |',
    "| `render_true_skill` | `True` | whether pictures show true skills and related numbers |",
]


class SimulatorEnv:
    """Base of the scalar and the vector environment: settings, episodes and rendering.

    A class names its settings and its simulator:
    ``class MatchmakingEnv(ScalarEnv, settings=Settings, simulator=OnePlayer)``. A subclass inherits
    what it does not name, so ``class MyEnv(MatchmakingEnv, settings=MySettings)`` is an environment
    with the options of ``MySettings``.

    Attributes:
        settings_type: class of the settings.
        simulator_type: class of the simulator.
        settings: the checked options.
        simulator: of the episodes.
        episodes: the episodes that the environment plays.
        render_mode: None, ``"human"``, ``"rgb_array"`` or ``"ansi"``.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }
    settings_type: ClassVar[type[Options]]
    simulator_type: ClassVar[type[Simulator[Any]]]

    def __init_subclass__(
        cls,
        settings: type[Options] | None = None,
        simulator: type[Simulator[Any]] | None = None,
        **keywords: Any,
    ) -> None:
        """Set the classes of the settings and of the simulator.

        Args:
            settings: the options, which the constructor accepts as ``**options``. They are added to
                its signature, and the line ``{options}`` of the docstring becomes a table of them.
            simulator: built from the settings.
            keywords: of other bases.
        """
        super().__init_subclass__(**keywords)
        if simulator is not None:
            cls.simulator_type = simulator
        if settings is not None:
            cls.settings_type = settings
            cls.__signature__ = _signature_with(cls, settings)  # type: ignore[attr-defined]
            # Python 3.13 compiles docstrings without their indentation.
            docstring = inspect.cleandoc(cls.__doc__ or "")
            cls.__doc__ = docstring.replace("{options}", _table_of(settings))

    def _set_up(
        self, count: int, render_mode: str | None, render_true_skill: bool, options: dict[str, Any]
    ) -> None:
        """Check the options, and create ``count`` episodes that have not begun.

        Raises:
            ValueError: for a bad option or mode, or a flag that is neither True nor False.
            MissingRenderPackage: for pictures without pygame.
        """
        self.settings: Any = self.settings_type.checked(**options)
        simulator_type: Any = self.simulator_type
        self.simulator: Any = simulator_type(self.settings)
        self.render_mode = render_mode
        as_flag("render_true_skill", render_true_skill)
        self._renderer: Renderer[Any] | None = None
        if render_mode is not None:
            self._renderer = self._new_renderer(render_mode, count, render_true_skill)
        self.episodes: Episodes[Any] = Episodes(self.simulator, count, self._renderer)
        self._strict = self.settings.invalid_action == "error"

    def _new_renderer(self, render_mode: str, count: int, render_true_skill: bool) -> Renderer[Any]:
        as_choice("render_mode", render_mode, RENDER_MODES)
        if render_mode in PICTURE_MODES and find_spec("pygame") is None:
            raise MissingRenderPackage(
                f"render_mode={render_mode!r} requires pygame, which is not installed: "
                'pip install "matchenv[render]"'
            )
        renderer_type = environment_of(self.settings).part("renderer")
        if renderer_type is None:
            raise ValueError(f"render_mode must be None, since {self.env_id} has no renderer")
        renderer: Renderer[Any] = renderer_type(
            self.simulator, render_mode, count, render_true_skill
        )
        return renderer

    @property
    def env_id(self) -> str:
        """The environment's name in Gymnasium."""
        return str(self.settings.env_id)

    @property
    def _state(self) -> Any:
        """The state of the episodes."""
        return self.episodes.state

    def _show(self) -> None:
        if self._renderer is not None:
            self._renderer.show(self._state)


def _signature_with(cls: type, settings: type[Options]) -> inspect.Signature:
    """Return the signature of a class with the options of its settings."""
    options = settings.listed()
    names = {option.name for option in options}
    signature = inspect.signature(cls)
    parameters = []
    for parameter in signature.parameters.values():
        is_option = parameter.name in names  # of an environment with fewer options
        if parameter.kind is not parameter.VAR_KEYWORD and not is_option:
            parameters.append(parameter)
    for option in options:
        parameters.append(
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=option.type,
            )
        )
    return signature.replace(parameters=parameters)


def _table_of(settings: type[Options]) -> str:
    """Return a table with a row for each option."""
    rows = list(ARGUMENTS_HEADER)
    for option in settings.listed():
        description = option.metadata["description"]
        rows.append(f"| `{option.name}` | `{option.default!r}` | {description} |")
    return "\n".join(rows + SHARED_ARGUMENTS)
