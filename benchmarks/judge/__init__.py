"""Judge a log: the evenness of its games, and the results of other matchers at its load.

Modules are imported when they are first needed: the command's options alone must load quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.benchmarks.judge.judging import Judgement, judge
    from matchenv.benchmarks.judge.settings import JudgeSettings

__all__ = ["JudgeSettings", "Judgement", "judge"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = "settings" if name == "JudgeSettings" else "judging"
    return getattr(import_module(f"{__name__}.{place}"), name)
