"""Single instructions of the machine that Python has no word for; for compiled functions.

Functions and arrays by their address, and what threads need to share numbers without a lock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic
from numba.np.numpy_support import carray

__all__ = [
    "add",
    "carray",
    "exchange",
    "let_others_run",
    "load",
    "memory_at",
    "real_from",
    "store",
    "word_from",
]

WORD, REAL, BYTE_AT = ir.IntType(64), ir.DoubleType(), ir.IntType(8).as_pointer()

# All threads see what is written before such an access in the order in which it was written.
IN_ORDER = "seq_cst"

# The system's function that lets another thread have the core.
LET_OTHERS_RUN = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def instruction(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function that builds an instruction into one that compiled functions can call.

    Args:
        signature: Numba's types of the result and of up to three arguments.

    Returns:
        A decorator of ``build(builder, *values)``, which gives the value of the result.
    """

    def made(build: Callable[..., Any]) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            value = build(builder, *values)
            nothing = signature.return_type == types.void
            return context.get_dummy_value() if nothing else value

        kind = signature, generate
        typed = (
            lambda _: kind,
            lambda _, a: kind,
            lambda _, a, b: kind,
            lambda _, a, b, c: kind,
        )
        return intrinsic(typed[len(signature.args)])

    return made


def _word_at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, WORD.as_pointer())


@instruction(types.int64(types.int64))
def load(builder: Any, address: Any) -> Any:
    """The word at an address, as the last thread left it."""
    return builder.load_atomic(_word_at(builder, address), IN_ORDER, 8)


@instruction(types.void(types.int64, types.int64))
def store(builder: Any, address: Any, value: Any) -> None:
    """Write a word for all threads."""
    builder.store_atomic(value, _word_at(builder, address), IN_ORDER, 8)


@instruction(types.int64(types.int64, types.int64))
def add(builder: Any, address: Any, value: Any) -> Any:
    """Add to a word; no other thread comes in between. Gives what it was before."""
    return builder.atomic_rmw("add", _word_at(builder, address), value, IN_ORDER)


@instruction(types.boolean(types.int64, types.int64, types.int64))
def exchange(builder: Any, address: Any, expected: Any, new: Any) -> Any:
    """Write a word if it is what is expected; whether it was."""
    found = builder.cmpxchg(_word_at(builder, address), expected, new, IN_ORDER, IN_ORDER)
    return builder.extract_value(found, 1)


@instruction(types.void())
def let_others_run(builder: Any) -> None:
    """Let another thread have the core, if one waits for it."""
    kind = ir.FunctionType(ir.IntType(32), [])
    builder.call(get_or_insert_function(builder.module, kind, LET_OTHERS_RUN), [])


@instruction(types.voidptr(types.int64))
def memory_at(builder: Any, address: Any) -> Any:
    """A pointer, of which ``carray`` makes an array."""
    return builder.inttoptr(address, BYTE_AT)


@instruction(types.uint64(types.int64, types.int64))
def word_from(builder: Any, function: Any, argument: Any) -> Any:
    """Call a C function ``uint64_t f(void *)`` at an address."""
    return _called(builder, WORD, function, argument)


@instruction(types.float64(types.int64, types.int64))
def real_from(builder: Any, function: Any, argument: Any) -> Any:
    """Call a C function ``double f(void *)`` at an address."""
    return _called(builder, REAL, function, argument)


def _called(builder: Any, result: Any, function: Any, argument: Any) -> Any:
    kind = ir.FunctionType(result, [BYTE_AT])
    callee = builder.inttoptr(function, kind.as_pointer())
    return builder.call(callee, [builder.inttoptr(argument, BYTE_AT)])
