"""The files that a policy is read from: with their content, results are told apart."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from matchenv.agents.policies import RLLIB, learned_path, rllib_file
from matchenv.baselines.catalogue import POLICIES


def files_of(text: str) -> list[Path]:
    """The files that a policy is read from.

    Args:
        text: as ``matchenv.agents.policy_named`` takes it; a class of the user's own must have
            been made once.

    Returns:
        The weights of a learned policy; the module of a class, and the modules beside it that
        they import; none for a baseline, which is part of the package.
    """
    name = text.partition(":")[0]
    if name in POLICIES:
        return []
    if name == RLLIB:
        return [rllib_file(text)]
    path = learned_path(name)
    if path is not None:
        if path.is_file():
            return [path]
        # Without the packages for learning nobody can play it, but much else works.
        from matchenv.agents.run_folder import RunFolder

        file = RunFolder(path).policy_file
        return [file] if file.is_file() else []  # whoever plays it says that it is missing
    return module_files(text)


def module_files(text: str) -> list[Path]:
    """The files that a class of the user's own is read from; none for one of the package.

    Args:
        text: ``module:Class:key=value``, of a class that has been made once.
    """
    name = text.partition(":")[0]
    source = getattr(sys.modules.get(name), "__file__", None)
    if source is None or name.partition(".")[0] == "matchenv":
        return []
    return _with_imports(Path(source), name)


def _with_imports(source: Path, module: str) -> list[Path]:
    """The file of a module, or all of its package, and what they import from beside it."""
    top = source
    for _ in range(module.count(".") + (source.name == "__init__.py")):
        top = top.parent
    found: set[Path] = set()
    wanted = _files_at(top) or [source]
    # What is installed has a version, and imports half of what is installed.
    follow = top.parent.name not in ("site-packages", "dist-packages")
    while wanted:
        file = wanted.pop()
        if file not in found:
            found.add(file)
            for name in _imported(file) - {"matchenv"} if follow else ():
                wanted += _files_at(top.parent / name) or _files_at(top.parent / f"{name}.py")
    return sorted(found)


def _files_at(path: Path) -> list[Path]:
    if path.is_dir():
        return list(path.rglob("*.py")) if (path / "__init__.py").exists() else []
    return [path] if path.is_file() else []


def _imported(file: Path) -> set[str]:
    """First words of the modules that a file imports by their full names."""
    names: set[str] = set()
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except SyntaxError:  # it was not imported then
        return names
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names
