"""Judge a log: the evenness of its games, and the results of other matchers at its load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matchenv.benchmarks.judge.settings import JudgeSettings

if TYPE_CHECKING:
    from matchenv.benchmarks.judge.judging import Judgement, judge

__all__ = ["JudgeSettings", "Judgement", "judge"]


def __getattr__(name: str) -> Any:
    """Return what is imported when it is first needed: options alone must load quickly."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from matchenv.benchmarks.judge import judging

    return getattr(judging, name)
