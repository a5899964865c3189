"""Compiled functions: Numba's ``njit`` with this package's options.

Numba compiles a function when it is first called. It keeps the result for later processes: in
``NUMBA_CACHE_DIR`` if that is set, else beside the source, else in the user's cache folder.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import parent_process
from typing import Any, cast

from numba import njit, typeof
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

NOTICE = "matchenv: compiling, once after an installation or a change; this takes some seconds"
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
    """Compile a function when it is first called, and keep the result for later processes.

    Args:
        function: of numbers, arrays and NamedTuples of them; None for ``@compiled(nogil=True)``.
        nogil: let other threads run meanwhile, for loops of seconds.
        refcounted: False for a function that makes no arrays: references to its arrays are not
            counted then, which costs a small function with many arrays more than its work.
        inline: make the function a part of all functions that call it. With arrays among its
            arguments say ``refcounted=False`` too, or they are counted all the same.
    """
    if function is None:
        return partial(compiled, nogil=nogil, refcounted=refcounted, inline=inline)
    options: dict[str, Any] = {
        "error_model": "numpy",
        "nogil": nogil,
        "_nrt": refcounted,
        "forceinline": inline,
    }
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        warnings.warn(NO_CACHE, stacklevel=1)  # Python shows it once, since it is one line
        return njit(**options)(function)


def code_for(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the code of a compiled function for arguments of the types of these.

    A call takes a third of the time, since nobody looks at the types of many arrays any more: they
    must be the same at all times, layouts included.
    """
    if not hasattr(function, "compile"):  # under NUMBA_DISABLE_JIT
        return cast(Callable[..., Any], function)
    code: Callable[..., Any] = function.compile(tuple(map(typeof, arguments)))
    return code


class _Notice(event.Listener):
    """Print one line when the first function of this package is compiled."""

    due = parent_process() is None  # one process of a command prints it

    def on_start(self, happened: event.Event) -> None:
        """Print the line."""
        module = getattr(happened.data["dispatcher"].py_func, "__module__", None) or ""
        if self.due and module.partition(".")[0] == "matchenv":
            self.due = False
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, happened: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Notice())

# A process that is forked while another thread compiles would wait for that thread for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
