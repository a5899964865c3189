"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import all_suffixes
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from matchenv.runtime import PACKAGE, source_files

# Folders that cannot change a number in a result.
NO_NUMBERS = {"cli", "rendering", "report"}


def provenance() -> dict[str, str]:
    """Return the versions that results depend on, and a digest of this package's code."""
    return {
        "python": platform.python_version(),
        **versions("gymnasium", "scipy"),
        "code of matchenv": code_digest(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this package, NumPy, Numba and further packages."""
    return {name: version(name) for name in ("matchenv", "numpy", "numba", *packages)}


@cache
def code_digest() -> str:
    """Return a digest of the package's code, read once in a process."""
    files = [
        file
        for file in source_files()
        if not NO_NUMBERS.intersection(file.relative_to(PACKAGE).parts)
    ]
    # Sorted by content, so that the digest does not depend on where the package is installed.
    return digest_of(sorted(files, key=Path.read_bytes))[:16]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the contents of files, in the given order.

    Raises:
        OSError: if a file cannot be read.
    """
    # Of digests of equal length, so that moving bytes from one file to the next changes it.
    digests = (hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def module_digest(spec: str) -> str:
    """Return a digest of the files that define a third-party class, see ``module_files``.

    It is empty for a class of ``__main__`` and for one without files, as in a notebook: these
    depend on values that are set at run time, so no later run may use their results.

    Raises:
        ValueError: if a file was changed after its import, as far as can be seen, and not reloaded.
    """
    module, files = spec.partition(":")[0], module_files(spec)
    modules = {getattr(each, "__file__", None): each for each in [*sys.modules.values()]}
    for file in files:
        if (origin := modules.get(str(file))) is not None:
            found = origin.__spec__, digest_of([file])
            before = _digests.setdefault(file, found)
            just_loaded = before is found or before[0] is not found[0]
            if not (_has_code_of_file(origin) if just_loaded else before[1] == found[1]):
                raise ValueError(
                    f"{file} must stay as it is after its import, and was changed: reload its "
                    "module with importlib.reload, or delete its __pycache__ and restart Python"
                )
            _digests[file] = found
    # In a spawned worker, __main__ has a second name.
    in_main = sys.modules.get(module) is sys.modules["__main__"]
    lasting = _is_own(module) or (files and not in_main)
    return digest_of(files) if lasting else ""


def _has_code_of_file(module: ModuleType) -> bool:
    """Return whether the functions of a module are those of its file; True where none can be read.

    Names outside functions may differ all the same.
    """
    spec: Any = module.__spec__
    loader: Any = getattr(spec, "loader", None)
    if not hasattr(loader, "source_to_code"):  # an extension module, or bytecode alone
        return True
    present = loader.source_to_code(Path(module.__file__ or "").read_bytes(), module.__file__)
    # Python imports old bytecode for a new file of equal time and size.
    if loader.get_code(spec.name) != present:
        return False
    pending = [present]
    known: dict[str, list[CodeType]] = {}
    while pending:
        code = pending.pop()
        known.setdefault(code.co_qualname, []).append(code)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    values = list(vars(module).values())
    for kind in [each for each in values if isinstance(each, type)]:
        values += vars(kind).values()
    codes = [each.__code__ for each in values if isinstance(each, FunctionType)]
    # Decorators leave functions of other files, and a reload those that were deleted.
    ours = [each for each in codes if each.co_filename == module.__file__]
    return all(each in known.get(each.co_qualname, [each]) for each in ours)


# The specification of the module of each file, and its digest at that time.
_digests: dict[Path, tuple[Any, str]] = {}


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "matchenv"


def module_files(spec: str) -> list[Path]:
    """Return the files that define a third-party class: sources, extension modules, bytecode.

    These are its module and what that imports by statements from the same folder or from folders
    below, directly or not; of an installed package, only its own modules. A class of this package
    has no files.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    module = spec.partition(":")[0]
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    # With ``python -m``, the main module has another name.
    module = getattr(getattr(sys.modules.get(module), "__spec__", None), "name", module)
    if not file.is_file() or _is_own(module):
        return []
    is_package = file.name.startswith("__init__.")
    folder = file.parents[module.count(".") + is_package]
    installed, top = any(folder.glob("*.dist-info")), module.partition(".")[0]
    package = module.split(".")[: None if is_package else -1]
    files, seen, pending = {file}, set[str](), [module, *_imports(file, package)]
    while pending:
        name = pending.pop()
        parts = name.split(".")
        if not name or name in seen or _is_own(name) or (installed and parts[0] != top):
            continue
        seen.add(name)
        path, above = folder.joinpath(*parts), parts[:-1]
        pending += [".".join(above)] if above else []  # importing a module imports its packages
        for stem, package in ((path / "__init__", parts), (path, above)):
            for source in [stem.with_name(stem.name + suffix) for suffix in all_suffixes()]:
                if source.is_file():
                    files.add(source)
                    pending += _imports(source, package)
    return sorted(files)


def _imports(file: Path, package: list[str]) -> Iterator[str]:
    """Yield the names of modules, perhaps of other things too, that a file of a package imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # not source code, or of a file that Python did not import
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (base, *(f"{base}.{alias.name}".strip(".") for alias in node.names))
