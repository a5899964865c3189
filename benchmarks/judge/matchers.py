"""The present matcher against ours, with a log's players at a log's load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matchenv.benchmarks.judge.arrivals import Arrivals
from matchenv.benchmarks.judge.rule import rule_candidate
from matchenv.benchmarks.queue.front import QUALITY, family_of, mean_over
from matchenv.benchmarks.queue.plan import described, queue_plan, queue_settings_of
from matchenv.benchmarks.queue.report import QueueComparison
from matchenv.benchmarks.queue.tuning import MEASURES, QueueTuning
from matchenv.envs.queue.population import Population
from matchenv.evaluation.queue_table import Load, QueuePlan, QueueTable, play_queue
from matchenv.evaluation.registry import expanded
from matchenv.evaluation.seeds import REPORT, TUNING
from matchenv.runtime.jobs import Store
from matchenv.runtime.parallel import Workers
from matchenv.trueskill import draw_margin_from_probability

TUNED, REPORTED = "tuning", "log"

# Whom differences are taken to where no rule was given: nobody waits.
NOBODY_WAITS = "fcfs"

# Settings that are tried. Widths are in units of beta; qualities have no unit.
WIDTHS = (0.25, 0.5, 1.0, 2.0)
GROWTHS = (0.1, 0.5)
QUALITIES = "reservation={0.15,0.3,0.45,0.6,0.75}"
FALLS = "fall={0.05,0.2}"
FAMILIES = (
    NOBODY_WAITS,
    f"drawchance:{QUALITIES},{FALLS}",
    f"matching:{QUALITIES},{FALLS}",
    f"kg:both=true,multiplier=1,{QUALITIES},fall=0.05",
    f"kg_matching:multiplier=1,{QUALITIES},{FALLS}",
    "oracle:reservation={0.5,0.7,0.85},fall={0.05,0.2}",
)


# What a KG is without the gain, and which of its options are about that.
PLAIN = {"kg": "drawchance", "kg_matching": "matching"}
OF_GAINS = ("multiplier", "both")


@dataclass(frozen=True)
class Matchers:
    """What was played.

    Attributes:
        comparison: of all that play, on the same arrivals and noise.
        ours: label of the one of ours with the highest true quality of all that wait no longer
            than ``comparison.against``, in the tuning; of the highest true reward if all wait
            longer; or the first that was asked for.
        has_rule: whether differences are taken to the present matcher.
        tuned: labels of the highest true reward, by family; empty where the policies were given.
    """

    comparison: QueueComparison
    ours: str
    has_rule: bool
    tuned: dict[str, str]


def tried(beta: float) -> list[str]:
    """All settings that are tuned, as texts."""
    widths = ",".join(f"{beta * width:.4g}" for width in WIDTHS)
    growths = ",".join(f"{beta * growth:.4g}" for growth in GROWTHS)
    return expanded((*FAMILIES, f"window:width={{{widths}}},growth={{{growths}}}"))


def queue_options(
    arrivals: Arrivals, population: Population, parameters: dict[str, float], horizon: int
) -> dict[str, Any]:
    """The options of ``MatchmakingQueue-v0`` for a log, but for the arrival rate."""
    beta = parameters["beta"]
    return {
        "newcomers": arrivals.newcomers,
        "patience": arrivals.patience,
        "stay": arrivals.stay,
        "horizon": horizon,
        "population": population,
        "beta": beta,
        "draw_margin": draw_margin_from_probability(parameters["draw_probability"], beta),
        "tau": parameters["tau"],
    }


def run_matchers(
    options: dict[str, Any],
    rate: float,
    *,
    rule: str | None,
    policies: Sequence[Any],
    episodes: int,
    tuning_episodes: int,
    seed: int,
    store: Store | None,
    workers: Workers,
    quiet: bool,
) -> Matchers:
    """Tune ours on seeds of their own, then play everyone on others.

    Args:
        options: of ``queue_options``.
        rate: players who log on in a tick.
        rule: the present matcher, the text of a policy; None if it is not known.
        policies: who plays against it, as they are; none for the tuned ones.
        episodes: runs of each in the comparison.
        tuning_episodes: runs of each setting in the tuning.
        seed: of everything that is drawn.
        store: where finished runs lie; None keeps nothing.
        workers: processes, or an engine.
        quiet: no progress bar.

    Raises:
        ValueError: for a policy that cannot play.
    """
    against = rule or NOBODY_WAITS
    tuned: dict[str, str] = {}
    names, ours = list(policies), ""

    def played(texts: Sequence[Any], runs: int, purpose: int, name: str) -> QueueTable:
        plan = queue_plan([against, *(each for each in texts if each != against)], None, ["1"],
                          runs, seed, options, purpose)  # fmt: skip
        if rule is not None:
            present = rule_candidate(rule, plan.settings)
            plan = replace(plan, candidates=(present, *plan.candidates[1:]))
        plan = replace(plan, loads=(Load(name, rate),))
        return play_queue(plan, store, workers=workers, quiet=quiet)

    if not names:
        tuning = QueueTuning(
            played(tried(options["beta"]), tuning_episodes, TUNING, TUNED), MEASURES[0]
        )
        tuned = {family: label for family, label in tuning.best(TUNED).items() if label != against}
        ours = _best_of_ours(tuning, against)
        twins = (twin for twin in map(plain_twin, tuned.values()) if twin is not None)
        names = list(dict.fromkeys((*tuned.values(), ours, *twins)))
    rows = played(names, episodes, REPORT, REPORTED)
    settings = queue_settings_of(options)
    asked = described(QueuePlan((), rows.loads, (), settings, seed))
    comparison = QueueComparison(rows, against, settings, seed, asked)
    others = [label for label in rows.policies if label != against]
    return Matchers(comparison, ours or [*others, against][0], rule is not None, tuned)


def plain_twin(label: str) -> str | None:
    """The policy that is a KG's but for the gain; None for one that is no KG."""
    name, _, options = label.partition(":")
    if name not in PLAIN:
        return None
    kept = [each for each in options.split(",") if each.partition("=")[0] not in OF_GAINS]
    return ":".join(filter(None, (PLAIN[name], ",".join(kept))))


def _best_of_ours(tuning: QueueTuning, against: str) -> str:
    """Of all that a service could use, none that knows the true skills."""
    rows = tuning.rows
    fair = [
        each
        for each in tuning.settings
        if family_of(each.policy) != "oracle" and each.policy != against
    ]
    longest = mean_over(rows, "wait", 0, against)
    quick = [each for each in fair if mean_over(rows, "wait", 0, each.policy) <= longest]
    if quick:
        return max(quick, key=lambda each: mean_over(rows, QUALITY, 0, each.policy)).policy
    return max(fair, key=lambda each: each.total.mean).policy
