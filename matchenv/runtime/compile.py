"""How functions are compiled, where the results are kept, and who compiles them.

Numba compiles a function when it is first called, and keeps the result in a folder for all
later processes. Of several processes that find that folder empty one compiles, and the others
wait for it.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config, float32, njit
from numba.extending import overload

from matchenv.runtime.compiled_files import guard

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_NAME = "matchenv.lock"

NOTICE = (
    "matchenv: compiling, once after an installation or a change; this takes some seconds "
    "(matchenv warm-up does it beforehand)"
)

# False where NUMBA_DISABLE_JIT asks for plain Python: then there are no ``matchenv.instructions``.
COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]

_said: set[str] = set()


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    nogil: bool = False,
    makes_arrays: bool = True,
    woven: bool = False,
    contracted: bool = False,
) -> Any:
    """Compile a function when it is first called; the result is kept for later processes.

    Where there is no folder to keep it in, it is compiled in every process.

    Args:
        function: what Numba can compile: numbers and arrays, no Python objects; None to be
            told later, as ``@compiled(nogil=True)`` does.
        nogil: let other threads run meanwhile, for loops of seconds.
        makes_arrays: False for a function that only reads and writes arrays that it is given. It
            does not count who holds them then, which costs a small function with many
            arrays more than its work.
        woven: True for a part of a larger function, which becomes part of all that call it: no
            arguments are passed. With arrays among them say ``makes_arrays=False`` too, or they
            are counted all the same.
        contracted: let a product and a sum be one operation, rounded once, where the processor
            has it. Last digits then differ from machine to machine: only for what is checked
            against a bound of its error.
    """
    if function is None:
        return partial(
            compiled, nogil=nogil, makes_arrays=makes_arrays, woven=woven, contracted=contracted
        )
    options: dict[str, Any] = {
        "error_model": "numpy",
        "nogil": nogil,
        "_nrt": makes_arrays,
        "forceinline": woven,
        "fastmath": {"contract"} if contracted else False,
    }
    try:
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        _warn_of_no_cache()
        return njit(**options)(function)
    if COMPILES:
        _let_one_process_compile(dispatcher)
    return dispatcher


def by_precision(single: Any, double: Any) -> Any:
    """One function for compiled code that takes numbers of either precision.

    Args:
        single: compiled, what it is where the first argument is a float32.
        double: compiled, what it is elsewhere.
    """

    def chosen(*numbers: Any) -> Any:
        return (single if isinstance(numbers[0], np.float32) else double)(*numbers)

    def by_type(*types: Any) -> Any:
        function = single if types[0] == float32 else double

        def call(*types: Any) -> Any:
            return function(*types)

        return call

    overload(chosen, jit_options={"forceinline": True})(by_type)
    return chosen


class _Compiling(threading.local):
    """Whether this thread compiles just now, and its hold on the lock."""

    depth = 0
    lock: BaseFileLock | None = None

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0 and self.lock is not None:
            self.lock.release()
            self.lock = None

    def wait(self, folder: str) -> bool:
        """Wait until no other process compiles; False if that was done before."""
        if self.depth == 0 or self.lock is not None:
            return False
        from filelock import FileLock  # only where something is to be compiled

        try:
            os.makedirs(folder, exist_ok=True)
            lock = FileLock(os.path.join(folder, LOCK_NAME))
            lock.acquire()
        except (OSError, NotImplementedError):  # no locks there: every process compiles
            return False
        self.lock = lock
        return True


_compiling = _Compiling()


def _let_one_process_compile(dispatcher: Any) -> None:
    """Hold a lock while a function is compiled, and look again once it is got.

    Numba has no hook between looking for a result and compiling, so the two steps of this
    dispatcher are wrapped.
    """
    cache = dispatcher._cache
    guard(cache, _warn_of_trouble)
    load, compile_it = cache.load_overload, dispatcher.compile

    def load_or_wait(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        if found is None and _compiling.wait(_lock_folder()):
            found = load(signature, context)
        if found is None:
            _say_that_it_compiles()
        return found

    def compile_alone(signature: Any) -> Any:
        with _compiling:
            return compile_it(signature)

    cache.load_overload = load_or_wait
    dispatcher.compile = compile_alone


@njit(cache=False)
def _nothing() -> None:
    """Tells where results are kept."""


def _lock_folder() -> str:
    from numba.core.caching import FunctionCache

    return str(FunctionCache(_nothing.py_func).cache_path)


def _say_that_it_compiles() -> None:
    if "compiling" not in _said:
        _said.add("compiling")
        print(NOTICE, file=sys.stderr, flush=True)


def _warn_of_trouble(error: Exception) -> None:
    if "trouble" not in _said:
        _said.add("trouble")
        warnings.warn(
            f"matchenv cannot use what was compiled before, or cannot keep it, and compiles anew: "
            f"{error}",
            stacklevel=2,
        )


def _warn_of_no_cache() -> None:
    if "no cache" not in _said:
        _said.add("no cache")
        warnings.warn(
            "matchenv finds no folder to keep compiled code in, so every process compiles "
            "anew, which takes some seconds; set NUMBA_CACHE_DIR to a folder that can be "
            "written",
            stacklevel=2,
        )
