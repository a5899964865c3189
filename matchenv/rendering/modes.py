"""Which render modes there are, and whether what they need is installed."""

from __future__ import annotations

from importlib.util import find_spec

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Moments of an episode shown in a second.
RENDER_FPS = 30


class MissingRenderPackage(ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    Also a ``TypeError``: stable-baselines3 asks every environment for ``"rgb_array"``, and
    goes on without pictures after that error and no other.
    """


def check_package(module: str, purpose: str) -> None:
    """Nothing, if a package of the extra ``render`` is there.

    Args:
        module: its import name.
        purpose: what it is needed for.

    Raises:
        MissingRenderPackage: if it is missing; it says how to install it.
    """
    if find_spec(module) is None:
        raise MissingRenderPackage(
            f'{purpose} needs {module}, which is missing: pip install "matchenv[render]"'
        )


def checked_render_mode(render_mode: str | None) -> str | None:
    """``render_mode`` if it is None or one of ``RENDER_MODES``.

    Raises:
        ValueError: if not.
        MissingRenderPackage: for a mode that draws pictures, where pygame is not installed.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        listed = ", ".join(repr(mode) for mode in RENDER_MODES)
        raise ValueError(f"render_mode must be None or {listed}, got {render_mode!r}")
    if render_mode in PICTURE_MODES:
        check_package("pygame", f"render_mode={render_mode!r}")
    return render_mode
