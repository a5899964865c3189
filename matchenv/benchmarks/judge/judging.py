"""The judgement of a log: its fit, the evenness of its games, and runs of other matchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from matchenv.benchmarks.compare.comparison import Comparison, plan_of, problem_of
from matchenv.benchmarks.compare.queue import QUALITY, group_standings, mean_over
from matchenv.benchmarks.compare.tuning import Tuning
from matchenv.benchmarks.judge import JudgeSettings
from matchenv.benchmarks.judge.evenness import favourites_of, group_evenness, qualities_of
from matchenv.benchmarks.judge.fidelity import comparison_with_log
from matchenv.benchmarks.judge.service import (
    arrivals_of,
    population_of,
    read_rule,
    with_leavers,
)
from matchenv.benchmarks.judge.text import judgement_text
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.episode_table import play
from matchenv.evaluation.estimates import CONFIDENCE, Record, columns_of, estimate, verdicts
from matchenv.evaluation.protocols import load_of
from matchenv.evaluation.registry import (
    QUEUE,
    Candidate,
    candidate_of,
    candidates_of,
    expanded,
    family_of,
)
from matchenv.evaluation.seeds import REPORT, TUNING
from matchenv.evaluation.visits import GROUPS, group_values
from matchenv.logs import fit, replay_trueskill, smooth
from matchenv.logs.fitting import FEWEST_GAMES, MU, SIGMA
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import Model
from matchenv.runtime.arrays import Floats
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions, Store
from matchenv.runtime.provenance import versions
from matchenv.trueskill import draw_margin_from_probability

# Parameters of the model that a judgement uses; the others keep their defaults.
PARAMETERS = ("beta", "tau", "draw_probability", "time_drift", "advantage", "team_exponent")

# Baseline without a rule: nobody waits.
NOBODY_WAITS = "fcfs"

# Measure that is tuned, and the settings. Widths are in units of beta; qualities have no unit.
MEASURE = "true_reward"
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

# Gains of learning: the family that has it, and the family to compare with.
LESSONS = (("oracle", "matching"), ("kg_matching", "matching"), ("kg both=true", "drawchance"))

FAILED = (
    "the fit does not forecast games better than a constant, as if games were matched on skill: "
    "the log hardly shows the spread of the skills, on which all results of other matchers depend; "
    "give the parameters of games that were not matched on skill (--fitted)"
)
# Runs that estimate how many players left without a game, whom no log shows.
CORRECTIONS = 3
# Differences with a verdict; a shorter wait and fewer players who leave are better.
SIGNS = {"reward": 1.0, "quality": 1.0, "wait": -1.0, "left": -1.0}
TWO_PLAYERS = "the queue plays games of two players, with the skills of this log"


class Judgement(Record):
    """Findings about a log and its matcher: a mapping with the content of ``judge.json``.

    Its entries, also available as attributes: the ``name`` of the log and its numbers of ``games``
    and ``players``; ``parameters`` of the model and their ``fit``, None if they were given;
    ``notes``; whether the fit ``failed``, so that there are no verdicts; ``evenness`` with
    ``groups``, ``strangers`` (the mean quality in hindsight of random pairs of sides) and
    ``favourites``; the ``load``; ``fidelity``, see ``comparison_with_log``: where the simulated
    present matcher does not reproduce the log, verdicts on other matchers are withheld;
    ``standings`` of all matchers, also by ``groups`` of players;
    ``against``, the baseline of differences, and ``has_rule``, whether it is the present matcher;
    ``tuned``, labels by family, empty if policies were given; and ``ours``, the choice of
    ``best_of`` or the first given policy.

    ``contests``, ``who_pays`` and ``learning`` are differences between matchers, see
    ``differences_of``.

    Attributes:
        comparison: every run of every matcher; not in the file.
    """

    comparison: Comparison

    @property
    def text(self) -> str:
        """The judgement as text: a paragraph with its conclusion, and tables."""
        return judgement_text(self)


def differences_of(
    found: Comparison, minutes: float, ours: str, *, judged: bool
) -> dict[str, list[Record]]:
    """Return differences between matchers, with a correction for each kind.

    Args:
        found: the runs of all matchers.
        minutes: length of a tick.
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
    against, everyone = found.against, GROUPS[0]
    others = [policy for policy in found.policies if policy != against]
    first = {family_of(policy): policy for policy in (*reversed(others), against)}
    pairs = {
        "contests": [(policy, against, everyone) for policy in others
                     if family_of(policy) != "oracle"],
        "who_pays": [(ours, against, group) for group in GROUPS if ours != against],
        "learning": [(first[family], first[other], everyone) for family, other in LESSONS
                     if family in first and other in first],
    }  # fmt: skip

    def of_runs(policy: str, group: str) -> Floats:
        """Return the numbers of ``SIGNS``, shape (4, runs); NaN in runs without the group."""
        reward = found.values(MEASURE, 0, policy) if group == everyone else np.full(runs, np.nan)
        names = QUALITY, "wait", "left"
        others = [group_values(found.rows, name, 0, policy, group) for name in names]
        return np.array([reward, *others])

    runs, units, result = found.episodes, np.array([[1.0], [1.0], [minutes], [1.0]]), {}
    for kind, questions in pairs.items():
        rows, counts = [], list[int]()
        for policy, than, group in questions:
            values = units * (of_runs(policy, group) - of_runs(than, group))
            counts += np.count_nonzero(~np.isnan(values), axis=1).tolist()
            means = dict(zip(SIGNS, map(estimate, values), strict=True))
            rows.append(Record(policy=policy, than=than, group=group, **means))
        better = [row[name].times(sign) for row in rows for name, sign in SIGNS.items()]
        words = iter(verdicts(better, counts) if judged else [""] * len(better))
        result[kind] = [Record(row, verdicts=dict(zip(SIGNS, words, strict=False))) for row in rows]
    return result


def judge(
    log: MatchLog,
    settings: JudgeSettings | None = None,
    *,
    policies: Sequence[Any] = (),
    parameters: Mapping[str, float] | None = None,
    fit_failed: bool = False,
    name: str = "log",
    run: RunOptions | None = None,
) -> Judgement:
    """Judge how even the games of a log were, and how other matchers would have performed.

    Args:
        log: at least 20 games.
        settings: the present matcher, the load, the runs and the seed; None for the defaults.
        policies: names of queue policies to compare with the present matcher; none for ours, each
            tuned at this load on separate seeds.
        parameters: parameters of the model by name, for example those of ``matchenv.logs.fit``;
            None to fit them to the log.
        fit_failed: whether the fit of ``parameters`` failed, so that there are no verdicts.
        name: name of the log in the results.
        run: folder, workers and other options that change no number.

    Raises:
        ValueError: for too few games, a load that the log does not show, a rule that raises, or a
            bad argument, before any work; for a folder with another judgement.
        OSError: if a file cannot be written; finished runs are kept.
    """
    run = run or RunOptions(quiet=True)
    settings = settings or JudgeSettings()
    if log.num_games < FEWEST_GAMES:
        raise ValueError(f"log must have at least {FEWEST_GAMES} games, got {log.num_games}")
    players, model = checked(settings, policies, parameters)
    load = arrivals_of(log, settings)
    if model is not None:
        replay_trueskill(log, **model)  # check the parameters against the log
    rule = None if settings.rule is None else read_rule(settings.rule, load.tick_minutes)
    present = rule or candidate_of(NOBODY_WAITS, QUEUE)
    asked = {
        "command": "judge",
        "log": log.checksum,
        **asdict(settings),
        "rule": None if rule is None else [rule.label, rule.identity],
        "policies": {player.label: player.identity for player in players},
        "parameters": model,
        **({"fit_failed": True} if fit_failed else {}),
    }
    with run.store(asked) as store:
        found, failed, notes = None, fit_failed, list[str]()
        if model is None:
            found = fit(log, quiet=run.quiet)
            model, failed = _complete(found.parameters), found.failed
            notes += [*found.notes, *([FAILED] if failed else [])]
        if (log.team_size > 1).any() or (log.game_size > 2).any():
            notes.append(TWO_PLAYERS)
        replay = replay_trueskill(log, **model)
        smoothed = smooth(log, **model)  # type: ignore[arg-type]
        qualities = qualities_of(log, replay, smoothed, model, settings.seed)
        _, kind, _ = problem_of(QUEUE, {"load": ["1"]}, {
            "newcomers": load.newcomers,
            "patience": load.patience,
            "horizon": settings.horizon,
            "population": population_of(log, replay, settings.session_minutes, model["time_drift"]),
            "beta": model["beta"],
            "draw_margin": draw_margin_from_probability(model["draw_probability"], model["beta"]),
            "tau": model["tau"],
        })  # fmt: skip
        comparison, load, tuned, ours = played_at(load, kind, present, players, settings, store)
        against = comparison.against
        groups = group_evenness(log, qualities, smoothed.mu, judged=not failed)
        fidelity = comparison_with_log(
            log,
            groups[0],
            comparison.standing(0, against),
            load,
            settings.session_minutes,
            has_rule=rule is not None,
        )
        judged = not (failed or fidelity.contradicted)
        standings = comparison.standings
        if not judged:
            standings = [Record(row, verdict="") for row in standings]
        judgement = Judgement(
            name=name,
            games=log.num_games,
            players=log.num_players,
            failed=failed,
            parameters=model,
            fit=found,
            notes=notes,
            against=against,
            has_rule=rule is not None,
            ours=ours,
            tuned=tuned,
            asked=asked,
            evenness=Record(
                groups=groups,
                strangers=qualities.strangers,
                favourites=favourites_of(log, qualities),
            ),
            load=load,
            fidelity=fidelity,
            standings=standings,
            groups=group_standings(comparison),
            environment=comparison.asked["environment"],
            runs=comparison.episodes,
            seed=settings.seed,
            confidence=CONFIDENCE,
            versions=versions("scipy", "gymnasium"),
            **differences_of(comparison, load.tick_minutes, ours, judged=judged),
        )  # fmt: skip
        judgement.comparison = comparison
        if run.out is not None:
            store.finish(judgement, _files(judgement).items())
    return judgement


def played_at(
    seen: Record,
    kind: QueueSettings,
    present: Candidate,
    policies: Sequence[Candidate],
    settings: JudgeSettings,
    store: Store,
) -> tuple[Comparison, Record, dict[str, str], str]:
    """Play the present matcher and others at the load of a log.

    Args:
        seen: the load as the log shows it.
        kind: the queue, but for the load.
        present: the present matcher, or the one that stands for it.
        policies: the policies of ``judge``, as they were checked.
        settings: see ``judge``.
        store: of the results.

    Returns:
        The runs; the load with the players whom no log shows; and ``tuned`` and ``ours`` of a
        ``Judgement``.
    """
    load = seen

    def played(names: Sequence[Any], runs: int, purpose: int, title: str) -> Comparison:
        """Play the present matcher and the policies on the same arrivals and luck."""
        others = [name for name in names if candidate_of(name, QUEUE).label != present.label]
        world, cells = replace(kind, stay=load.stay), [load_of(title, load.ticks_rate)]
        plan, asked = plan_of(
            [present, *others], world, cells, runs, settings.seed, purpose=purpose
        )
        return Comparison(play(plan, store), present.label, world, asked)

    for step in range(CORRECTIONS):
        trial = played((), settings.tuning_episodes, TUNING, f"load{step}")
        load = with_leavers(seen, mean_over(trial.rows, "left", 0, present.label))
    if policies:
        found = played(policies, settings.episodes, REPORT, "log")
        fair = [label for label in found.policies if family_of(label) != "oracle"]
        others = [label for label in fair if label != found.against]
        return found, load, {}, [*others, found.against][0]
    tuning = played(tried(kind.beta), settings.tuning_episodes, TUNING, "tuning")
    tuned, ours = best_of(tuning)
    names = list(dict.fromkeys((*tuned.values(), ours)))
    return played(names, settings.episodes, REPORT, "log"), load, tuned, ours


def best_of(tuning: Comparison) -> tuple[dict[str, str], str]:
    """Return the best setting of each family, and the best one without knowledge of true skills.

    The latter has the highest quality among those whose players wait no longer than with the
    baseline; or the highest true reward if all wait longer.
    """
    rows, rule = tuning.rows, tuning.against
    best = Tuning(rows, MEASURE).best("tuning")
    fair = [label for label in rows.policies if family_of(label) != "oracle" and label != rule]
    longest = mean_over(rows, "wait", 0, rule)
    quick = [label for label in fair if mean_over(rows, "wait", 0, label) <= longest]
    measure = QUALITY if quick else MEASURE
    ours = max(quick or fair, key=lambda label: mean_over(rows, measure, 0, label))
    return {family: label for family, label in best.items() if label != rule}, ours


def tried(beta: float) -> list[str]:
    """Return the names of all settings to tune."""
    widths = ",".join(f"{beta * width:.4g}" for width in WIDTHS)
    growths = ",".join(f"{beta * growth:.4g}" for growth in GROWTHS)
    return expanded((*FAMILIES, f"window:width={{{widths}}},growth={{{growths}}}"))


def _files(found: Judgement) -> dict[str, bytes]:
    """Return the content of the result files."""
    # The plotting library is slow to load.
    from matchenv.benchmarks.report.judge import judge_section
    from matchenv.benchmarks.report.page import page_text

    tables = {
        "evenness.csv": found.evenness.groups,
        "matchers.csv": found.standings,
        "contests.csv": found.contests,
        "who_pays.csv": found.who_pays,
        "learning.csv": found.learning,
        "fidelity.csv": found.fidelity.rows,
    }
    page = page_text([judge_section(found, found.name)], f"The matcher of {found.name}")
    files = {
        "judge.txt": f"{found.text}\n".encode(),
        "judge.html": page.encode(),
        "judge.json": json_bytes(found, checked=True),
    }

    def columns(row: Mapping[str, Any]) -> dict[str, Any]:
        words = {f"{name}_verdict": word for name, word in row.get("verdicts", {}).items()}
        return columns_of({**row, "verdicts": words})

    written = {name: list(map(columns, rows)) for name, rows in tables.items() if rows}
    return files | {name: records_csv(rows) for name, rows in written.items()}


def checked(
    settings: JudgeSettings, policies: Sequence[Any], parameters: Mapping[str, float] | None
) -> tuple[Sequence[Candidate], dict[str, float] | None]:
    """Check arguments of ``judge`` that depend on no log; return policies and parameters.

    Raises:
        ValueError: see ``judge``.
    """
    model = None if parameters is None else _complete(parameters)
    Model(**(model or {}))
    if settings.rule is not None:
        read_rule(settings.rule, tick_minutes=1.0)
    return candidates_of(policies, QueueSettings.checked()) if policies else (), model


def _complete(parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters of the model, 0 for missing ones."""
    unknown = sorted(set(parameters) - {*PARAMETERS, "mu", "sigma"})
    if unknown or "beta" not in parameters:
        raise ValueError(
            f"parameters must hold beta and can hold {', '.join(PARAMETERS[1:])}, got "
            f"{', '.join(map(repr, parameters)) or 'none'}"
        )
    for name, value in (("mu", MU), ("sigma", SIGMA)):
        if not np.isclose(parameters.get(name, value), value):
            raise ValueError(f"parameters must have {name} {value:g}, got {parameters[name]!r}")
    return {name: float(parameters.get(name, 0.0)) for name in PARAMETERS}
