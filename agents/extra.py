"""Imports of what needs the extra ``agents``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def with_extra(module: str, name: str) -> Any:
    """An object of one of our modules that may need packages of the extra ``agents``.

    Args:
        module: the module's full name.
        name: of the object.

    Raises:
        ImportError: if a package of the extra is missing; it says how to install it.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "matchenv"):
            raise
        raise ImportError(
            f'{name} needs the package {package}: pip install "matchenv[agents]"', name=package
        ) from error
