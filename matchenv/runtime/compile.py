"""Compiled functions: Numba's ``njit`` with this package's options.

Numba compiles a function at its first call and caches the result: in ``NUMBA_CACHE_DIR`` if that is
set, else beside the source, else in the user's cache folder. It notices changes of the function's
own file, but not of the functions that it calls, as after ``git pull``; code in the first two
places is therefore deleted here if any source has changed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

# "" is Numba's default. Set, it overrides a .numba_config.yaml of the working folder, which could
# name a folder of somebody's code.
os.environ.setdefault("NUMBA_CACHE_DIR", "")
os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

from numba import njit, typeof
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from matchenv.runtime import source_files

NOTICE = "matchenv: compiling, which takes some seconds; later runs like this one do not"
NO_CACHE = (
    "matchenv finds no folder to keep compiled code in, so every process compiles again, which "
    "takes some seconds; set NUMBA_CACHE_DIR to a folder that can be written"
)


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
        "error_model": "numpy", "nogil": nogil, "_nrt": refcounted, "forceinline": inline
    }  # fmt: skip
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        warnings.warn(NO_CACHE, stacklevel=1)  # on this line, so that Python shows it once
        return njit(**options)(function)


def forget_old_code() -> None:
    """Delete compiled code if the sources differ from those that it was made of."""
    folders, digest = set[Path](), hashlib.sha256()
    for file in source_files():
        if b"@compiled" in (content := file.read_bytes()):
            digest.update(content)
            folders.add(file.parent)
    stamp = _cache_of(Path(__file__).parent) / "compiled_sources.txt"
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        stamp.parent.mkdir(parents=True, exist_ok=True)
        for old in [file for folder in folders for file in _cache_of(folder).glob("*.nb[ci]")]:
            old.unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest())


def _cache_of(folder: Path) -> Path:
    """Return where Numba keeps the compiled code of the sources in a folder."""
    name = f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
    cache = os.environ.get("NUMBA_CACHE_DIR")
    return Path(cache, name) if cache else folder / "__pycache__"


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

if parent_process() is None:
    forget_old_code()
