"""The judgement: the log, the fit, how even the games were, the queue, the files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from matchenv.benchmarks.compare.comparison import described, plan_of, problem_of
from matchenv.benchmarks.compare.queue import QUALITY, group_standings, mean_over
from matchenv.benchmarks.compare.report import Comparison
from matchenv.benchmarks.compare.tuning import Tuning
from matchenv.benchmarks.judge.evenness import (
    Favourites,
    GroupEvenness,
    favourites_of,
    group_evenness,
    qualities_of,
)
from matchenv.benchmarks.judge.load import Arrivals, arrivals_of, population_of
from matchenv.benchmarks.judge.rule import Rule, read_rule
from matchenv.benchmarks.judge.settings import JudgeSettings
from matchenv.benchmarks.judge.text import judgement_text
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import candidates_of
from matchenv.evaluation.episode_table import play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    UNKNOWN,
    Estimate,
    columns_of,
    estimate,
    verdicts,
)
from matchenv.evaluation.protocols import load_of
from matchenv.evaluation.registry import QUEUE, expanded, family_of
from matchenv.evaluation.seeds import REPORT, TUNING
from matchenv.evaluation.visits import GROUPS, group_values
from matchenv.logs import Fit, fit, replay_trueskill, smooth
from matchenv.logs.checkpoint import log_key
from matchenv.logs.fitting import EVALUATIONS, FEWEST_GAMES, MU, SIGMA
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import check_times
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions
from matchenv.trueskill import draw_margin_from_probability

# Arguments of ``replay_trueskill`` that decide the model; all others stay at their defaults.
PARAMETERS = ("beta", "tau", "draw_probability", "time_drift", "advantage", "team_exponent")

# Differences are to this policy where no rule was given: nobody waits.
NOBODY_WAITS = "fcfs"

# What is tuned.
MEASURE = "true_reward"

# Settings that are tuned. Widths are in units of beta; qualities have no unit.
WIDTHS = (0.25, 0.5, 1.0, 2.0)
GROWTHS = (0.1, 0.5)
QUALITIES, FALLS = "reservation={0.15,0.3,0.45,0.6,0.75}", "fall={0.05,0.2}"
FAMILIES = (
    NOBODY_WAITS,
    f"drawchance:{QUALITIES},{FALLS}",
    f"matching:{QUALITIES},{FALLS}",
    f"kg:both=true,multiplier=1,{QUALITIES},fall=0.05",
    f"kg_matching:multiplier=1,{QUALITIES},{FALLS}",
    "oracle:reservation={0.5,0.7,0.85},fall={0.05,0.2}",
)

# What learning could gain: the family that has it, and the family to compare with.
LESSONS = {
    "if all skills were known": ("oracle", "matching"),
    "if the matching of all also counted what games teach": ("kg_matching", "matching"),
    "if one choice at a time also counted what games teach": ("kg both=true", "drawchance"),
}

FAILED = (
    "the fit does not forecast games better than a constant, as where games were matched on skill: "
    "the log hardly shows the spread of the skills, on which all that is said of other matchers "
    "depends; give the parameters of games that were not matched on skill (--fitted)"
)
# Differences that have a verdict: a shorter wait is better, and fewer players who leave are.
SIGNS = {"reward": 1.0, "quality": 1.0, "wait": -1.0, "left": -1.0}
TWO_PLAYERS = "the queue plays games of two players, with the skills of this log"


@dataclass(frozen=True)
class Change:
    """Difference between two matchers for a group of players.

    Attributes:
        policy: the matcher.
        than: the one to compare with.
        group: of players, one of ``GROUPS``.
        question: that it answers; may be empty.
        reward: difference in the true reward of a run; NaN of a part of the players.
        share: the same as a share of the other's true reward.
        quality: difference in mean true match quality.
        wait: difference in mean minutes of waiting.
        left: difference in the share of visits that ended without a game.
        verdicts: of the four differences by name; ``ahead`` is better for the players.
    """

    policy: str
    than: str
    group: str
    question: str
    reward: Estimate
    share: float
    quality: Estimate
    wait: Estimate
    left: Estimate
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Judgement:
    """Findings about a log and its matcher.

    Attributes:
        name: of the log.
        games: in it.
        players: in it.
        parameters: of the model, as ``replay_trueskill`` takes them.
        fit: of the parameters; None where they were given.
        notes: what the log does not show, and what else a reader must know.
        failed: whether the fit failed, so that there are no verdicts.
        groups: how even the games were, by group of players.
        strangers: mean quality in hindsight if sides of the log had met at random.
        favourites: whether favourites won as often as expected.
        arrivals: the load.
        comparison: the runs of all matchers.
        has_rule: whether differences are to the present matcher.
        ours: label of the matcher with the highest true quality of all that wait no longer than
            the present one, in the tuning; of the highest true reward if all wait longer; or
            the first that was asked for.
        tuned: labels of the highest true reward, by family; empty where policies were given.
        asked: what was asked for, as plain data.
    """

    name: str
    games: int
    players: int
    parameters: Mapping[str, float]
    fit: Fit | None
    notes: Sequence[str]
    failed: bool
    groups: Sequence[GroupEvenness]
    strangers: float
    favourites: Favourites
    arrivals: Arrivals
    comparison: Comparison
    has_rule: bool
    ours: str
    tuned: Mapping[str, str]
    asked: Mapping[str, Any]

    @property
    def against(self) -> str:
        """The matcher that differences are to."""
        return self.comparison.against

    @cached_property
    def contests(self) -> list[Change]:
        """Each policy that knows no true skills, minus ``against``."""
        fair = [each for each in self.comparison.policies if family_of(each) != "oracle"]
        return self._changes(
            [(each, self.against, GROUPS[0], "") for each in fair if each != self.against]
        )

    @cached_property
    def payers(self) -> list[Change]:
        """Each group of players: ``ours`` minus ``against``."""
        groups = GROUPS if self.ours != self.against else ()
        return self._changes([(self.ours, self.against, group, "") for group in groups])

    @cached_property
    def gains(self) -> list[Change]:
        """Gains of matchers that learn."""
        # The first of a family counts; ours stand behind the present matcher.
        others = [each for each in self.comparison.policies if each != self.against]
        first = {family_of(each): each for each in reversed(others)}
        asked = [
            (first[family], first[other], GROUPS[0], question)
            for question, (family, other) in LESSONS.items()
            if family in first and other in first
        ]
        return self._changes(asked)

    @property
    def text(self) -> str:
        """The judgement as a paragraph with its conclusion, and tables."""
        return judgement_text(self.as_plain())

    def as_plain(self) -> dict[str, Any]:
        """Return the judgement as nested dictionaries, as ``judge.json`` holds it."""
        kept = ("name", "games", "players", "failed", "parameters", "fit", "notes", "against",
                "has_rule", "ours", "tuned", "contests", "asked")  # fmt: skip
        standings = [dict(each) for each in self.comparison.standings]
        for each in standings:
            del each["decisions_per_second"]  # no two runs share it
        content = {name: getattr(self, name) for name in kept} | {
            "evenness": {
                "groups": self.groups,
                "strangers": self.strangers,
                "favourites": self.favourites,
            },
            "load": {**vars(self.arrivals), "tick_minutes": self.arrivals.tick_minutes},
            "standings": standings,
            "groups": group_standings(self.comparison),
            "who_pays": self.payers,
            "learning": self.gains,
            "environment": self.comparison.asked["environment"],
            "runs": self.comparison.episodes,
            "seed": self.comparison.seed,
            "confidence": CONFIDENCE,
            "versions": versions("scipy", "gymnasium"),
        }
        plain: dict[str, Any] = json.loads(json_bytes(content))
        return plain

    def _changes(self, asked: Sequence[tuple[str, str, str, str]]) -> list[Change]:
        """Answer questions together: policy, policy to compare with, group and question."""
        rows, minutes = self.comparison.rows, self.arrivals.tick_minutes

        def more(measure: str, policy: str, than: str, group: str) -> Estimate:
            ours, theirs = (
                rows.values(measure, 0, name)
                if group == GROUPS[0]
                else group_values(rows, measure, 0, name, group)
                for name in (policy, than)
            )
            return estimate(ours - theirs)

        found = []
        for policy, than, group, question in asked:
            each = policy, than, group
            whole = mean_over(rows, "true_reward", 0, than)
            reward = more("true_reward", *each) if group == GROUPS[0] else UNKNOWN
            share = reward.mean / whole if whole > 0.0 else math.nan
            wait = more("wait", *each).times(minutes)
            found.append(
                Change(*each, question, reward, share, more(QUALITY, *each), wait,
                       more("left", *each), {})
            )  # fmt: skip
        better = [getattr(each, name).times(sign) for each in found for name, sign in SIGNS.items()]
        said = iter([""] * len(better) if self.failed else verdicts(better, rows.seeds.size))
        return [replace(each, verdicts=dict(zip(SIGNS, said, strict=False))) for each in found]


def judge(
    log: MatchLog,
    settings: JudgeSettings | None = None,
    *,
    policies: Sequence[Any] = (),
    parameters: Mapping[str, float] | None = None,
    name: str = "log",
    run: RunOptions | None = None,
) -> Judgement:
    """Judge how even the games of a log were, and what other matchers would have done.

    Args:
        log: the games, 20 or more.
        settings: the present matcher, the load, the number of runs and the seed; None for the
            defaults.
        policies: policies of the queue to compare with the present matcher, by name; none for
            ours, each tuned at this load on seeds of its own.
        parameters: of the model, by name, as ``matchenv.logs.fit`` gives them; None to fit
            them to the log.
        name: of the log, in the results.
        run: folder, workers and what else does not change a number.

    Raises:
        ValueError: for too few games, times that go backwards, a load that the log does not
            show, a rule that raises, or a bad argument, before any work; for a folder with
            another judgement.
        OSError: if something cannot be written; finished runs stay.
    """
    run = run or RunOptions(quiet=True)
    settings = settings or JudgeSettings()
    if log.num_games < FEWEST_GAMES:
        raise ValueError(f"log must have at least {FEWEST_GAMES} games, got {log.num_games}")
    check_times(log)
    load = arrivals_of(log, settings)
    model = None if parameters is None else _checked(parameters)
    if model is not None:
        replay_trueskill(log, **model)  # type: ignore[arg-type]  # refuses what it cannot take
    anywhere = QueueSettings.checked()
    rule = None if settings.rule is None else read_rule(settings.rule, load.tick_minutes)
    players = candidates_of(policies, anywhere) if policies else ()
    asked = {
        "command": "judge",
        "log": log_key(log),
        **asdict(settings),
        "rule": None if rule is None else [rule.label, rule.candidate(anywhere).identity],
        "policies": {each.label: each.identity for each in players},
        "parameters": model,
    }
    with run.store(asked) as store:
        found, failed, notes = None, False, []
        if model is None:
            journal = None if store is None else store.folder / EVALUATIONS
            found = fit(log, seed=settings.seed, journal=journal, quiet=run.quiet)
            model, failed = _checked(found.parameters), found.failed
            notes = [*found.notes, *([FAILED] if failed else [])]
        if (log.team_size > 1).any() or (log.game_size > 2).any():
            notes.append(TWO_PLAYERS)
        replay = replay_trueskill(log, mu=MU, sigma=SIGMA, keep_history=True, **model)
        smoothed = smooth(log, mu=MU, sigma=SIGMA, keep_rest=True, **model)  # type: ignore[arg-type]
        qualities = qualities_of(log, replay, smoothed, model, settings.seed)
        _, kind, _ = problem_of(QUEUE, {"load": ["1"]}, {
            "newcomers": load.newcomers,
            "patience": load.patience,
            "stay": load.stay,
            "horizon": settings.horizon,
            "population": population_of(log, replay, settings.session_minutes, model["time_drift"]),
            "beta": model["beta"],
            "draw_margin": draw_margin_from_probability(model["draw_probability"], model["beta"]),
            "tau": model["tau"],
        })  # fmt: skip
        present = rule or Rule(NOBODY_WAITS, NOBODY_WAITS)

        def played(names: Sequence[Any], runs: int, purpose: int, title: str) -> Comparison:
            """Play the rule and policies on the same arrivals and luck."""
            others = [each for each in names if each not in (present.label, present.policy)]
            cells = [load_of(title, load.ticks_rate)]
            plan = plan_of([present.policy, *others], kind, cells, runs, settings.seed,
                           purpose=purpose)  # fmt: skip
            candidates = (present.candidate(kind), *plan.candidates[1:])
            plan = replace(plan, candidates=candidates)
            rows = play(plan, store, run)
            return Comparison(rows, present.label, kind, described(plan, kind))

        tuned: dict[str, str] = {}
        ours, names = "", policies
        if not policies:
            tuning = played(tried(kind.beta), settings.tuning_episodes, TUNING, "tuning")
            tuned, ours = best_of(tuning)
            names = list(dict.fromkeys((*tuned.values(), ours)))
        comparison = played(names, settings.episodes, REPORT, "log")
        others = [each for each in comparison.policies if each != comparison.against]
        judgement = Judgement(
            name=name,
            games=log.num_games,
            players=log.num_players,
            parameters=model,
            fit=found,
            notes=notes,
            failed=failed,
            groups=group_evenness(log, qualities, smoothed.mu, judged=not failed),
            strangers=qualities.strangers,
            favourites=favourites_of(log, qualities),
            arrivals=load,
            comparison=comparison,
            has_rule=rule is not None,
            ours=ours or [*others, comparison.against][0],
            tuned=tuned,
            asked=asked,
        )
        if store is not None:
            run.finish(store, judgement, _files(judgement).items())
    return judgement


def best_of(tuning: Comparison) -> tuple[dict[str, str], str]:
    """Return the best setting of each family, and the best that knows no true skills.

    That is the one of the highest quality among those that wait no longer than the rule, or the
    one of the highest true reward if all wait longer.
    """
    rows, rule = tuning.rows, tuning.against
    best = Tuning(rows, MEASURE).best("tuning")
    fair = [each for each in rows.policies if family_of(each) != "oracle" and each != rule]
    longest = mean_over(rows, "wait", 0, rule)
    quick = [each for each in fair if mean_over(rows, "wait", 0, each) <= longest]
    measure = QUALITY if quick else MEASURE
    ours = max(quick or fair, key=lambda each: mean_over(rows, measure, 0, each))
    return {name: each for name, each in best.items() if each != rule}, ours


def tried(beta: float) -> list[str]:
    """Return all settings that are tuned, as texts."""
    widths = ",".join(f"{beta * width:.4g}" for width in WIDTHS)
    growths = ",".join(f"{beta * growth:.4g}" for growth in GROWTHS)
    return expanded((*FAMILIES, f"window:width={{{widths}}},growth={{{growths}}}"))


def _files(found: Judgement) -> dict[str, bytes]:
    """Return the content of the result files."""
    # The library that draws is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.report.judge import judge_page

    tables: dict[str, Sequence[Any]] = {
        "evenness.csv": found.groups,
        "matchers.csv": found.comparison.standings,
        "contests.csv": found.contests,
        "who_pays.csv": found.payers,
        "learning.csv": found.gains,
    }
    plain = found.as_plain()
    return {
        **{name: records_csv([_record(row) for row in rows]) for name, rows in tables.items()
           if rows},
        "judge.txt": f"{judgement_text(plain)}\n".encode(),
        "judge.html": judge_page(plain).encode(),
        "judge.json": json_bytes(plain, checked=True),
    }  # fmt: skip


def _record(row: Any) -> dict[str, Any]:
    record = columns_of(row)
    record.pop("decisions_per_second", None)
    return record | {f"{name}_verdict": v for name, v in getattr(row, "verdicts", {}).items()}


def _checked(parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the model's parameters, those that are missing at 0."""
    unknown = sorted(set(parameters) - {*PARAMETERS, "mu", "sigma"})
    if unknown or "beta" not in parameters:
        raise ValueError(
            f"parameters must hold beta and may hold {', '.join(PARAMETERS[1:])}, got "
            f"{', '.join(map(repr, parameters)) or 'none'}"
        )
    for name, value in (("mu", MU), ("sigma", SIGMA)):
        if not np.isclose(parameters.get(name, value), value):
            raise ValueError(f"parameters must have {name} {value:g}, got {parameters[name]!r}")
    return {name: float(parameters.get(name, 0.0)) for name in PARAMETERS}
