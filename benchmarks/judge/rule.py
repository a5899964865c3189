"""The matcher that a service has now, from a file: a window in YAML or JSON, or a class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from matchenv.agents.config_file import parsed
from matchenv.benchmarks.queue.plan import queue_candidates
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import Candidate
from matchenv.evaluation.queue_rollout import queue_rollout
from matchenv.evaluation.queue_table import maker_of
from matchenv.evaluation.registry import POLICIES, QUEUE
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.object_spec import is_object_spec

# How a policy of the queue may be asked.
METHODS = ("act", "choose", "predict")

# Ticks of a run in which a rule must do nothing wrong before any work begins.
TRIAL = 200


@dataclass(frozen=True)
class Window:
    """The rule of most services: the nearest mean, once within a window that grows.

    Attributes:
        width: largest difference of means at first, in skill points.
        growth: by how much it grows in a minute of waiting.
    """

    width: float
    growth: float

    def text(self, tick_minutes: float) -> str:
        """The rule as a policy of the queue."""
        return f"window:width={self.width:.6g},growth={self.growth * tick_minutes:.6g}"


def read_rule(given: str | Path) -> Window | str:
    """The rule that a text names.

    Args:
        given: a YAML or JSON file with the numbers ``window``, in skill points, and ``growth``, in
            skill points a minute; a Python file with one class that has ``choose`` or
            ``predict``, or ``FILE.py:Class``; ``module:Class``, or a policy of the queue, as
            ``matchenv.agents.policy_named`` takes them. Options stand behind a colon.

    Returns:
        The window, or the text of the policy.

    Raises:
        ValueError: for a file that cannot be read, is no such rule, or raises.
    """
    text = str(given)
    file, dot, behind = text.partition(".py")
    if dot and (not behind or behind[0] == ":"):
        return _class_of_file(Path(f"{file}.py"), behind[1:])
    if text.partition(":")[0] in POLICIES[QUEUE] or is_object_spec(text):
        return text
    try:
        if not Path(text).is_file():
            raise FileNotFoundError("no such file")
        content = Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"rule must be a YAML, JSON or Python file, module:Class, or a policy of the queue "
            f"({', '.join(POLICIES[QUEUE])}), got {text!r}: {error}"
        ) from None
    return _window(parsed(content, "rule"))


def rule_candidate(rule: str, settings: QueueSettings) -> Candidate:
    """A rule as one who plays; what it raises is said to be the rule's.

    Args:
        rule: the text of a policy of the queue.
        settings: of the environment.

    Raises:
        ValueError: for one that there is not, or that raises in a short run.
    """
    (candidate,) = queue_candidates([rule], settings)
    source = getattr(sys.modules.get(rule.partition(":")[0]), "__file__", None)
    folder = None if source is None else str(Path(source).resolve().parent)
    guarded = replace(candidate, make=partial(_guarded, candidate.make, candidate.label, folder))
    queue_rollout(maker_of(guarded), replace(settings, horizon=TRIAL, arrival_rate=1.0), [0])
    return guarded


class GuardedRule:
    """A policy whose errors name it.

    Args:
        rule: the policy.
        text: how it was named.
    """

    def __init__(self, rule: Any, text: str) -> None:
        self._rule, self._text = rule, text

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._rule, name)
        if name in METHODS and callable(found):
            return partial(_asked, found, self._text)
        return found


def _asked(method: Callable[..., Any], text: str, *arguments: Any, **named: Any) -> Any:
    try:
        return method(*arguments, **named)
    # Whatever a user's rule raises, the message names the rule.
    except Exception as error:
        raise ValueError(f"rule {text!r} raised {type(error).__name__}: {error}") from error


def _guarded(
    make: Callable[..., Any], text: str, folder: str | None, settings: QueueSettings, truth: None
) -> Any:
    if folder is not None:
        _look_in(folder)  # another process may not know it yet
    return GuardedRule(make(settings, truth), text)


def _look_in(folder: str) -> None:
    """Let Python find modules there, after those that it finds already."""
    if folder not in sys.path:
        sys.path.append(folder)


def _window(said: Any) -> Window:
    names = {"window": "width", "width": "width", "growth": "growth"}
    if not isinstance(said, dict) or not said or not set(said) <= set(names):
        raise ValueError(
            f"rule must hold the numbers window and growth, in skill points and skill points a "
            f"minute, got {said!r}"
        )
    found: dict[str, float] = {"growth": 0.0}
    for name, value in said.items():
        found[names[name]] = as_non_negative_number(f"rule {name}", value)
    if "width" not in found:
        raise ValueError(f"rule must hold a number window, got {said!r}")
    return Window(**found)


def _class_of_file(file: Path, behind: str) -> str:
    """The text ``module:Class`` of a class in a file, whose folder Python then knows."""
    if not file.is_file():
        raise ValueError(f"rule must be a file that is there, got {str(file)!r}")
    _look_in(str(file.resolve().parent))
    try:
        module = import_module(file.stem)
    # A file can raise anything.
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"rule {str(file)!r} cannot be read: {type(error).__name__}: {error}"
        ) from error
    source = getattr(module, "__file__", None)
    if source is None or Path(source).resolve() != file.resolve():
        raise ValueError(
            f"rule must have a name that no other module has, got {file.name!r}, which is {source}"
        )
    if behind:
        return f"{file.stem}:{behind}"
    classes = [
        name
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and any(callable(getattr(kind, method, None)) for method in METHODS)
    ]
    if len(classes) != 1:
        raise ValueError(
            f"rule {str(file)!r} must have one class with choose or predict, or be named as "
            f"FILE.py:Class, got {', '.join(classes) or 'none'}"
        )
    return f"{file.stem}:{classes[0]}"
