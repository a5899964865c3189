"""Runs of the present matcher and of others at the load of a log, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from matchenv.benchmarks.compare.comparison import Comparison, plan_of
from matchenv.benchmarks.compare.queue import QUALITY, mean_over
from matchenv.benchmarks.compare.tuning import Tuning
from matchenv.benchmarks.judge import JudgeSettings
from matchenv.benchmarks.judge.service import with_leavers
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.episode_table import play
from matchenv.evaluation.estimates import Record, estimate, verdicts
from matchenv.evaluation.protocols import load_of
from matchenv.evaluation.registry import QUEUE, Candidate, candidate_of, expanded, family_of
from matchenv.evaluation.seeds import REPORT, TUNING
from matchenv.evaluation.visits import GROUPS, group_values
from matchenv.runtime.arrays import Floats
from matchenv.runtime.jobs import Store

# Measure that is tuned, and the settings. Widths are in units of beta; qualities have no unit.
MEASURE = "true_reward"
WIDTHS = (0.25, 0.5, 1.0, 2.0)
GROWTHS = (0.1, 0.5)
QUALITIES = "reservation={0.15,0.3,0.45,0.6,0.75}"
FALLS = "fall={0.05,0.2}"
FAMILIES = (
    "fcfs",
    f"drawchance:{QUALITIES},{FALLS}",
    f"matching:{QUALITIES},{FALLS}",
    f"kg:both=true,multiplier=1,{QUALITIES},fall=0.05",
    f"kg_matching:multiplier=1,{QUALITIES},{FALLS}",
    "oracle:reservation={0.5,0.7,0.85},fall={0.05,0.2}",
)

# Gains of learning: the family that has it, and the family to compare with.
LESSONS = (("oracle", "matching"), ("kg_matching", "matching"), ("kg both=true", "drawchance"))

# Runs that estimate how many players left without a game, whom no log shows.
CORRECTIONS = 3

# Differences with a verdict; a shorter wait and fewer players who leave are better.
SIGNS = {"reward": 1.0, "quality": 1.0, "wait": -1.0, "left": -1.0}


class Runs(NamedTuple):
    """Runs of all matchers at the load of a log.

    Attributes:
        comparison: the runs.
        load: the load with the players whom no log shows.
        tuned: label of the best policy of each family; empty if policies were given.
        ours: the proposed policy, or the baseline.
    """

    comparison: Comparison
    load: Record
    tuned: dict[str, str]
    ours: str


class Matchers:
    """The queue of a service, in which matchers play on the same arrivals and luck.

    Args:
        world: the queue, except for its load.
        present: the present matcher, or the one that stands for it.
        settings: see ``judge``.
        store: store of the results.
    """

    def __init__(
        self, world: QueueSettings, present: Candidate, settings: JudgeSettings, store: Store
    ) -> None:
        self.world = world
        self.present = present
        self.settings = settings
        self.store = store

    def play(
        self, policies: Sequence[Any], load: Record, runs: int, purpose: int, title: str
    ) -> Comparison:
        """Play the present matcher and others.

        Args:
            policies: names or candidates; the present matcher among them is left out.
            load: the load.
            runs: runs of each matcher.
            purpose: REPORT or TUNING, which have separate seeds.
            title: name of the runs in the store.
        """
        present = self.present.label
        others = [policy for policy in policies if candidate_of(policy, QUEUE).label != present]
        matchers = [self.present, *others]
        world = replace(self.world, stay=load.stay)
        cells = [load_of(title, load.ticks_rate)]
        plan, asked = plan_of(matchers, world, cells, runs, self.settings.seed, purpose=purpose)
        return Comparison(play(plan, self.store), self.present.label, world, asked)

    def load_with_leavers(self, shown: Record) -> Record:
        """Return the load with the players whom no log shows, from runs of the present matcher.

        Args:
            shown: the load as the log shows it.
        """
        load = shown
        for step in range(CORRECTIONS):
            runs = self.settings.tuning_episodes
            trial = self.play((), load, runs, TUNING, f"load{step}")
            left = mean_over(trial.rows, "left", 0, self.present.label)
            load = with_leavers(shown, left)
        return load

    def compare(self, shown: Record, policies: Sequence[Candidate]) -> Runs:
        """Compare the present matcher with policies, or with the best of each family.

        Args:
            shown: the load as the log shows it.
            policies: empty to tune the settings of each family on separate seeds.
        """
        load = self.load_with_leavers(shown)
        episodes = self.settings.episodes
        if policies:
            comparison = self.play(policies, load, episodes, REPORT, "log")
            return Runs(comparison, load, {}, _first_fair_policy(comparison))
        candidates = tried(self.world.beta)
        runs = self.settings.tuning_episodes
        tuned, ours = best_of(self.play(candidates, load, runs, TUNING, "tuning"))
        names = list(dict.fromkeys((*tuned.values(), ours)))
        return Runs(self.play(names, load, episodes, REPORT, "log"), load, tuned, ours)


def _first_fair_policy(comparison: Comparison) -> str:
    """Return the first policy that knows no true skills; else the present matcher."""
    for label in comparison.policies:
        if family_of(label) != "oracle" and label != comparison.against:
            return label
    return comparison.against


def best_of(tuning: Comparison) -> tuple[dict[str, str], str]:
    """Return the best setting of each family, and the best one without knowledge of true skills.

    The latter has the highest quality among those whose players wait no longer than with the
    baseline; or the highest true reward if all wait longer.
    """
    rows = tuning.rows
    present = tuning.against
    fair = [label for label in rows.policies if family_of(label) != "oracle" and label != present]
    longest = mean_over(rows, "wait", 0, present)
    quick = [label for label in fair if mean_over(rows, "wait", 0, label) <= longest]
    if quick:
        ours = max(quick, key=lambda label: mean_over(rows, QUALITY, 0, label))
    else:
        ours = max(fair, key=lambda label: mean_over(rows, MEASURE, 0, label))
    best = Tuning(rows, MEASURE).best("tuning")
    return {family: label for family, label in best.items() if label != present}, ours


def tried(beta: float) -> list[str]:
    """Return the names of all settings to tune."""
    widths = ",".join(f"{beta * width:.4g}" for width in WIDTHS)
    growths = ",".join(f"{beta * growth:.4g}" for growth in GROWTHS)
    return expanded((*FAMILIES, f"window:width={{{widths}}},growth={{{growths}}}"))


class Question(NamedTuple):
    """A difference between two matchers, for a group of players."""

    policy: str
    than: str
    group: str


def differences_of(
    comparison: Comparison, tick_minutes: float, ours: str, *, judged: bool
) -> dict[str, list[Record]]:
    """Return differences between matchers, with a correction for each kind.

    Args:
        comparison: the runs of all matchers.
        tick_minutes: length of a tick.
        ours: the proposed policy, or the baseline.
        judged: whether to give verdicts.

    Returns:
        ``contests``, each policy without knowledge of true skills minus the baseline;
        ``who_pays``, the same for our policy by group of players; and ``learning``, see
        ``LESSONS``. Each row has ``policy``, ``than`` and ``group``; the differences in the true
        ``reward`` of a run (NaN for a group), in mean true match ``quality``, in mean minutes of
        ``wait`` and in the share of visits that ``left`` without a game; and their ``verdicts`` by
        name, where ahead is better for the players.
    """
    everyone = GROUPS[0]
    against = comparison.against
    others = [policy for policy in comparison.policies if policy != against]
    fair = [policy for policy in others if family_of(policy) != "oracle"]
    contests = [Question(policy, against, everyone) for policy in fair]
    who_pays = []
    if ours != against:
        who_pays = [Question(ours, against, group) for group in GROUPS]
    # The first policy of each family; the baseline comes first.
    first_of_family: dict[str, str] = {}
    for policy in (against, *others):
        first_of_family.setdefault(family_of(policy), policy)
    learning = []
    for family, other in LESSONS:
        if family in first_of_family and other in first_of_family:
            question = Question(first_of_family[family], first_of_family[other], everyone)
            learning.append(question)
    return {
        "contests": _answers(comparison, tick_minutes, contests, judged),
        "who_pays": _answers(comparison, tick_minutes, who_pays, judged),
        "learning": _answers(comparison, tick_minutes, learning, judged),
    }


def _answers(
    comparison: Comparison, tick_minutes: float, questions: Sequence[Question], judged: bool
) -> list[Record]:
    """Return the differences that are asked for, with verdicts corrected over all of them."""
    rows = []
    better = []
    counts = []
    for question in questions:
        ours = _values_of_runs(comparison, question.policy, question.group, tick_minutes)
        theirs = _values_of_runs(comparison, question.than, question.group, tick_minutes)
        row = Record(question._asdict())
        for name, sign in SIGNS.items():
            difference = ours[name] - theirs[name]
            row[name] = estimate(difference)
            better.append(row[name].times(sign))
            counts.append(int(np.count_nonzero(~np.isnan(difference))))
        rows.append(row)
    words = [""] * len(better)
    if judged:
        words = verdicts(better, counts)
    for k, row in enumerate(rows):
        words_of_row = words[len(SIGNS) * k : len(SIGNS) * (k + 1)]
        row["verdicts"] = dict(zip(SIGNS, words_of_row, strict=True))
    return rows


def _values_of_runs(
    comparison: Comparison, policy: str, group: str, tick_minutes: float
) -> dict[str, Floats]:
    """Return the measures of ``SIGNS``, (runs,) each; NaN in runs without the group."""
    reward = np.full(comparison.episodes, np.nan)
    if group == GROUPS[0]:
        reward = comparison.values(MEASURE, 0, policy)
    return {
        "reward": reward,
        "quality": group_values(comparison.rows, QUALITY, 0, policy, group),
        "wait": tick_minutes * group_values(comparison.rows, "wait", 0, policy, group),
        "left": group_values(comparison.rows, "left", 0, policy, group),
    }
