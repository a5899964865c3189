"""The judgement of a log: its fit, the evenness of its games, and runs of other matchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from matchenv.benchmarks.compare.comparison import Comparison, problem_of
from matchenv.benchmarks.compare.queue import group_standings
from matchenv.benchmarks.judge import JudgeSettings
from matchenv.benchmarks.judge.evenness import favourites_of, group_evenness, qualities_of
from matchenv.benchmarks.judge.fidelity import comparison_with_log
from matchenv.benchmarks.judge.matchers import Matchers, differences_of
from matchenv.benchmarks.judge.service import arrivals_of, population_of, read_rule
from matchenv.benchmarks.judge.text import judgement_text
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import CONFIDENCE, Record, columns_of
from matchenv.evaluation.registry import QUEUE, Candidate, candidate_of, candidates_of
from matchenv.logs import TrueSkillReplay, fit, replay_trueskill, smooth
from matchenv.logs.fitting import FEWEST_GAMES, MU, SIGMA
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import Model
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions
from matchenv.trueskill import draw_margin_from_probability

# Parameters of the model that a judgement uses; the others keep their defaults.
PARAMETERS = ("beta", "tau", "draw_probability", "time_drift", "advantage", "team_exponent")

# Baseline without a rule: nobody waits.
NOBODY_WAITS = "fcfs"

FAILED = (
    "the fit does not forecast games better than a constant, as if games were matched on skill: "
    "the log hardly shows the spread of the skills, on which all results of other matchers depend; "
    "give the parameters of games that were not matched on skill (--fitted)"
)
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
    ``matchers.differences_of``.

    Attributes:
        comparison: every run of every matcher; not in the file.
    """

    comparison: Comparison

    @property
    def text(self) -> str:
        """The judgement as text: a paragraph with its conclusion, and tables."""
        return judgement_text(self)


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
    players, given_parameters = checked(settings, policies, parameters)
    load = arrivals_of(log, settings)
    if given_parameters is not None:
        replay_trueskill(log, **given_parameters)  # check the parameters against the log
    rule = None
    present = candidate_of(NOBODY_WAITS, QUEUE)
    if settings.rule is not None:
        rule = read_rule(settings.rule, load.tick_minutes)
        present = rule
    asked = _asked(log, settings, rule, players, given_parameters)
    if fit_failed:
        asked["fit_failed"] = True
    with run.store(asked) as store:
        model = _model_of(log, given_parameters, fit_failed, quiet=run.quiet)
        replay = replay_trueskill(log, **model.parameters)
        smoothed = smooth(log, **model.parameters)  # type: ignore[arg-type]
        qualities = qualities_of(log, replay, smoothed, model.parameters, settings.seed)
        world = _world_of(log, replay, load, settings, model.parameters)
        runs = Matchers(world, present, settings, store).compare(load, players)
        comparison = runs.comparison
        groups = group_evenness(log, qualities, smoothed.mu, judged=not model.failed)
        fidelity = comparison_with_log(
            log,
            groups[0],
            comparison.standing(0, comparison.against),
            runs.load,
            settings.session_minutes,
            has_rule=rule is not None,
        )
        judged = not (model.failed or fidelity.contradicted)
        standings = comparison.standings
        if not judged:
            standings = [Record(row, verdict="") for row in standings]
        judgement = Judgement(
            name=name,
            games=log.num_games,
            players=log.num_players,
            failed=model.failed,
            parameters=model.parameters,
            fit=model.fit,
            notes=model.notes,
            against=comparison.against,
            has_rule=rule is not None,
            ours=runs.ours,
            tuned=runs.tuned,
            asked=asked,
            evenness=Record(
                groups=groups,
                strangers=qualities.strangers,
                favourites=favourites_of(log, qualities),
            ),
            load=runs.load,
            fidelity=fidelity,
            standings=standings,
            groups=group_standings(comparison),
            environment=comparison.asked["environment"],
            runs=comparison.episodes,
            seed=settings.seed,
            confidence=CONFIDENCE,
            versions=versions("scipy", "gymnasium"),
            **differences_of(comparison, runs.load.tick_minutes, runs.ours, judged=judged),
        )
        judgement.comparison = comparison
        if run.out is not None:
            store.finish(judgement, _files(judgement).items())
    return judgement


def _asked(
    log: MatchLog,
    settings: JudgeSettings,
    rule: Candidate | None,
    players: Sequence[Candidate],
    parameters: dict[str, float] | None,
) -> dict[str, Any]:
    """Return everything that decides the results, as plain data."""
    rule_identity = None
    if rule is not None:
        rule_identity = [rule.label, rule.identity]
    return {
        "command": "judge",
        "log": log.checksum,
        **asdict(settings),
        "rule": rule_identity,
        "policies": {player.label: player.identity for player in players},
        "parameters": parameters,
    }


class FittedModel(NamedTuple):
    """Parameters of the model of a log.

    Attributes:
        parameters: by name.
        fit: the fit, None if the parameters were given.
        failed: whether the fit failed.
        notes: notes of the fit, and on the log.
    """

    parameters: dict[str, float]
    fit: Any
    failed: bool
    notes: list[str]


def _model_of(
    log: MatchLog, parameters: dict[str, float] | None, fit_failed: bool, *, quiet: bool
) -> FittedModel:
    """Return the given parameters, or those of a fit to the log."""
    notes: list[str] = []
    fitted = None
    failed = fit_failed
    if parameters is None:
        fitted = fit(log, quiet=quiet)
        parameters = _complete(fitted.parameters)
        failed = fitted.failed
        notes.extend(fitted.notes)
        if failed:
            notes.append(FAILED)
    if (log.team_size > 1).any() or (log.game_size > 2).any():
        notes.append(TWO_PLAYERS)
    return FittedModel(parameters, fitted, failed, notes)


def _world_of(
    log: MatchLog,
    replay: TrueSkillReplay,
    load: Record,
    settings: JudgeSettings,
    parameters: dict[str, float],
) -> QueueSettings:
    """Return the queue of the service, except for its load."""
    beta = parameters["beta"]
    time_drift = parameters["time_drift"]
    options = {
        "newcomers": load.newcomers,
        "patience": load.patience,
        "horizon": settings.horizon,
        "population": population_of(log, replay, settings.session_minutes, time_drift),
        "beta": beta,
        "draw_margin": draw_margin_from_probability(parameters["draw_probability"], beta),
        "tau": parameters["tau"],
    }
    _, world, _ = problem_of(QUEUE, {"load": ["1"]}, options)
    return world


def _files(judgement: Judgement) -> dict[str, bytes]:
    """Return the content of the result files."""
    # The plotting library is slow to load.
    from matchenv.benchmarks.report.judge import judge_section
    from matchenv.benchmarks.report.page import page_text

    name = judgement.name
    page = page_text([judge_section(judgement, name)], f"The matcher of {name}")
    files = {
        "judge.txt": f"{judgement.text}\n".encode(),
        "judge.html": page.encode(),
        "judge.json": json_bytes(judgement, checked=True),
    }
    tables = {
        "evenness.csv": judgement.evenness.groups,
        "fidelity.csv": judgement.fidelity.rows,
        "matchers.csv": judgement.standings,
        "contests.csv": judgement.contests,
        "who_pays.csv": judgement.who_pays,
        "learning.csv": judgement.learning,
    }
    for file, rows in tables.items():
        if rows:
            files[file] = records_csv([_csv_columns(row) for row in rows])
    return files


def _csv_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row, with a column for each verdict."""
    words = {f"{name}_verdict": word for name, word in row.get("verdicts", {}).items()}
    return columns_of({**row, "verdicts": words})


def checked(
    settings: JudgeSettings, policies: Sequence[Any], parameters: Mapping[str, float] | None
) -> tuple[Sequence[Candidate], dict[str, float] | None]:
    """Check arguments of ``judge`` that depend on no log; return policies and parameters.

    Raises:
        ValueError: see ``judge``.
    """
    complete = None
    if parameters is not None:
        complete = _complete(parameters)
        Model(**complete)
    if settings.rule is not None:
        read_rule(settings.rule, tick_minutes=1.0)
    candidates: Sequence[Candidate] = ()
    if policies:
        candidates = candidates_of(policies, QueueSettings.checked())
    return candidates, complete


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
