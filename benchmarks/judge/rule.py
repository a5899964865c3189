"""The present matcher of a service: a window in YAML or JSON, a class, or a policy by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from matchenv.agents.config_file import parsed
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import Candidate, candidates_of
from matchenv.evaluation.registry import POLICIES, QUEUE
from matchenv.evaluation.rollout import rollout
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.object_spec import is_object_spec

# Ticks of a run in which a rule must raise nothing before the work begins.
TRIAL = 200


def read_rule(text: str, tick_minutes: float) -> Candidate:
    """Read the rule that a text names, and let it play for a moment.

    Args:
        text: a YAML or JSON file with the numbers ``window``, in skill points, and ``growth``, in
            skill points a minute; or a policy of the queue, ``module:Class`` included.
        tick_minutes: minutes of a tick.

    Returns:
        The policy to be played; its label has the numbers as they were given.

    Raises:
        ValueError: for a file that cannot be read or is no such rule, a policy that does not exist,
            or one that raises.
    """
    known = text.partition(":")[0] in POLICIES[QUEUE] or is_object_spec(text)
    label, policy = (text, text) if known else _window(text, tick_minutes)
    settings = QueueSettings.checked(horizon=TRIAL, arrival_rate=1.0)
    (found,) = candidates_of([policy], settings)
    try:
        rollout(found.make, settings, [0])
    except Exception as error:  # a user's rule can raise anything
        raise ValueError(f"rule {label!r} raised {type(error).__name__}: {error}") from error
    return replace(found, label=label)


def _window(text: str, tick_minutes: float) -> tuple[str, str]:
    """Return the label of the window in a file, and its name as a policy."""
    try:
        if not Path(text).is_file():
            raise FileNotFoundError("no such file")
        said = parsed(Path(text).read_text(encoding="utf-8"), "rule")
    except (OSError, UnicodeError, ValueError) as error:
        raise ValueError(
            f"rule must be a YAML or JSON file, module:Class, or a policy of the queue "
            f"({', '.join(POLICIES[QUEUE])}), got {text!r}: {error}"
        ) from None
    if not isinstance(said, dict) or not {"window"} <= set(said) <= {"window", "growth"}:
        raise ValueError(
            f"rule must hold window and may hold growth, in skill points and skill points a "
            f"minute, got {said!r}"
        )
    width, growth = (
        as_non_negative_number(f"rule {name}", said.get(name, 0.0)) for name in ("window", "growth")
    )
    return (
        f"window {width:g}, growth {growth:g} a minute",
        f"window:width={width:.6g},growth={growth * tick_minutes:.6g}",
    )
