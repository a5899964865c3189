"""Compiled functions: Numba's ``njit`` with this package's options.

Numba compiles a function at its first call and caches the result on disk. It notices changes of the
function's own file, but not of constants and functions that the function takes from other files. So
the folder of the cache is named after a digest of all sources of this package: changed sources have
a new folder. It lies in ``NUMBA_CACHE_DIR`` if that is set, else in the package's own folder, else
in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from threading import Lock
from typing import Any

import numba
from numba import njit, typeof
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from matchenv.runtime import PACKAGE, cache_folder, source_files

NOTICE = "matchenv: compiling, which takes some seconds; later runs like this one do not"
NO_CACHE = (
    "matchenv finds no folder to keep compiled code in, so every process compiles again, which "
    "takes some seconds; set NUMBA_CACHE_DIR to a folder that can be written"
)

# Read from the environment when Numba is imported.
numba_settings: Any = numba.config

# Sources change back and forth while somebody works on them: the caches of this many are kept.
KEPT_CACHES = 3


def digest_of_sources() -> str:
    """Return a digest of the names and contents of this package's Python files."""
    digest = hashlib.sha256()
    for file in source_files():
        content = file.read_bytes()
        digest.update(f"{file.relative_to(PACKAGE)} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def folder_of_compiled_code() -> Path | None:
    """Create and return the folder of the cache; None if no folder can be written.

    Folders of earlier sources of the same installation are removed, except for the newest ones.
    """
    if numba_settings.CACHE_DIR:
        parents = [Path(numba_settings.CACHE_DIR)]
    else:
        parents = [PACKAGE / "__pycache__", cache_folder()]
    installation = hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:8]
    name = f"matchenv-{installation}-{digest_of_sources()}"
    for parent in parents:
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)  # now the newest; fails in a folder that cannot be written
        except OSError:
            continue
        _remove_all_but_the_newest(parent.glob(f"matchenv-{installation}-*"))
        return folder
    return None


def _remove_all_but_the_newest(folders: Iterable[Path]) -> None:
    with suppress(OSError):  # another process may remove them too
        newest_first = sorted(folders, key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in newest_first[KEPT_CACHES:]:
            shutil.rmtree(folder, ignore_errors=True)


_cache = folder_of_compiled_code()
_decorating = Lock()


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    nogil: bool = False,
    refcounted: bool = True,
    inline: bool = False,
) -> Any:
    """Compile a function at its first call, and cache the result for later processes.

    Args:
        function: a function of numbers, arrays and NamedTuples of them; None for
            ``@compiled(nogil=True)``.
        nogil: release the GIL during the call, for loops of seconds.
        refcounted: False for a function that creates no arrays. Counting references to its array
            arguments can cost a small function more than its work.
        inline: inline the function into its callers. With array arguments also pass
            ``refcounted=False``, or their references are counted all the same.
    """
    if function is None:
        return partial(compiled, nogil=nogil, refcounted=refcounted, inline=inline)
    options: dict[str, Any] = {
        "error_model": "numpy",
        "nogil": nogil,
        "_nrt": refcounted,
        "forceinline": inline,
    }
    if _cache is None:
        warnings.warn(NO_CACHE, stacklevel=1)  # on this line, so that Python shows it once
        return njit(**options)(function)
    return _with_cache(_cache, function, options)


def _with_cache(folder: Path, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the compiled function, which keeps its code in a folder.

    Numba reads the setting when a function is decorated. It is reset at once, since it would apply
    to functions of other packages too.
    """
    with _decorating:
        before = numba_settings.CACHE_DIR
        numba_settings.CACHE_DIR = str(folder)
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return njit(**options)(function)  # it has no source file
        finally:
            numba_settings.CACHE_DIR = before


def code_for(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a compiled function for the types of these arguments.

    A call takes a third of the time, since no argument types are looked up. All later arguments
    must have the same types, array layouts included.
    """
    if not hasattr(function, "compile"):  # under NUMBA_DISABLE_JIT
        return function
    return function.compile(tuple(map(typeof, arguments)))


class _Notice(event.Listener):
    """Print one line when the first function of this package is compiled."""

    due = parent_process() is None  # workers print nothing

    def on_start(self, event: event.Event) -> None:
        """Print the line."""
        module = getattr(event.data["dispatcher"].py_func, "__module__", None) or ""
        if self.due and module.partition(".")[0] == "matchenv":
            self.due = False
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Notice())

# A child forked while another thread compiles would wait forever for the lock of that thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
