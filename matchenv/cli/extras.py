"""Extras of the package, as its metadata lists them."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version

# A requirement of an extra in the metadata, for example ``torch>=2.6; extra == "agents"``.
REQUIREMENT = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra == ['\"](?P<extra>[\w-]+)['\"]")


def packages_of(extra: str) -> list[str]:
    """Return the names of the packages that an extra installs.

    None are known for a source tree that is not installed.
    """
    try:
        requirements = requires("matchenv") or []
    except PackageNotFoundError:
        return []
    packages = []
    for requirement in requirements:
        match = REQUIREMENT.match(requirement)
        if match is not None and match["extra"] == extra:
            packages.append(match["package"])
    return packages


def missing_packages(extra: str) -> list[str]:
    """Return the names of the packages of an extra that are not installed."""
    return [package for package in packages_of(extra) if not is_installed(package)]


def is_installed(package: str) -> bool:
    """Return whether a package is installed."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def check_extras(command: str, *extras: str) -> None:
    """Check that extras of the package are installed, before any work begins.

    Raises:
        ImportError: if some are not; says how to install them.
    """
    missing: dict[str, None] = {}  # in order, each once
    incomplete = []
    for extra in extras:
        absent = missing_packages(extra)
        missing |= dict.fromkeys(absent)
        if absent:
            incomplete.append(extra)
    if missing:
        raise ImportError(
            f"matchenv {command} needs {', '.join(missing)}: "
            f'pip install "matchenv[{",".join(incomplete)}]"'
        )
