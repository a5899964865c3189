"""How even the games of a log were, and what other matchers would have done at its load.

The packages that draw are imported when something here first needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.benchmarks.judge.arrivals import Arrivals
    from matchenv.benchmarks.judge.files import as_plain
    from matchenv.benchmarks.judge.judgement import Judgement
    from matchenv.benchmarks.judge.judging import judge
    from matchenv.benchmarks.judge.selection import Selection, run_selection
    from matchenv.benchmarks.judge.settings import ArrivalSettings
    from matchenv.benchmarks.judge.simulated import SimulatedService, simulated_service
    from matchenv.benchmarks.judge.text import judgement_text

__all__ = [
    "ArrivalSettings",
    "Arrivals",
    "Judgement",
    "Selection",
    "SimulatedService",
    "as_plain",
    "judge",
    "judgement_text",
    "run_selection",
    "simulated_service",
]

_WHERE = {
    "ArrivalSettings": "settings",
    "Arrivals": "arrivals",
    "Judgement": "judgement",
    "Selection": "selection",
    "SimulatedService": "simulated",
    "as_plain": "files",
    "judge": "judging",
    "judgement_text": "text",
    "run_selection": "selection",
    "simulated_service": "simulated",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
