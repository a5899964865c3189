"""The judgement as a function: the log, the fit, the games, the queue, the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.benchmarks.judge.arrivals import arrivals_of, sessions_of
from matchenv.benchmarks.judge.evenness import favourites_of, group_evenness, qualities_of
from matchenv.benchmarks.judge.files import judgement_files
from matchenv.benchmarks.judge.judgement import Judgement
from matchenv.benchmarks.judge.matchers import queue_options, run_matchers
from matchenv.benchmarks.judge.population import population_of_log
from matchenv.benchmarks.judge.rule import Window, read_rule, rule_candidate
from matchenv.benchmarks.judge.settings import (
    DEFAULT_EPISODES,
    DEFAULT_HORIZON,
    DEFAULT_TUNING,
    ArrivalSettings,
)
from matchenv.benchmarks.queue.plan import queue_candidates
from matchenv.envs.queue.settings import QueueSettings
from matchenv.logs import Fit, fit, replay_trueskill, smooth
from matchenv.logs.checkpoint import log_key
from matchenv.logs.fitting import EVALUATIONS, FEWEST_GAMES, MU, SIGMA
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import check_times
from matchenv.runtime.checks import as_integer
from matchenv.runtime.jobs import Store, open_store, write_results
from matchenv.runtime.parallel import Workers, as_engine
from matchenv.runtime.provenance import provenance

# Arguments of ``replay_trueskill`` that decide the model; all others stay at their defaults.
PARAMETERS = ("beta", "tau", "draw_probability", "time_drift", "advantage", "team_exponent")

# Ticks; a week of games of ten minutes has 10,080.
LONGEST_RUN = 1_000_000

# Of a fit, in the notes.
NOTHING_FORESEEN = (
    "the fit does not foresee games better than a constant forecast does, as where games were "
    "matched on skill: the spread of the skills, and so all that is said of other matchers, is "
    "hardly told by this log; give the parameters of games that were not (fitted)"
)


def judge(
    log: MatchLog,
    *,
    rule: str | Path | None = None,
    policies: Sequence[Any] = (),
    arrivals: ArrivalSettings | None = None,
    parameters: Mapping[str, float] | None = None,
    episodes: int = DEFAULT_EPISODES,
    tuning_episodes: int = DEFAULT_TUNING,
    horizon: int = DEFAULT_HORIZON,
    seed: int = 0,
    workers: Workers = None,
    out: str | Path | None = None,
    name: str = "log",
    quiet: bool = True,
) -> Judgement:
    """Say how even the games of a log were, and what other matchers would have done at its load.

    With more than one worker the call must stand under ``if __name__ == "__main__":`` in a
    script. A judgement that was stopped goes on when it is called again with the same folder.

    Args:
        log: the games, 20 or more.
        rule: the present matcher, as ``matchenv.benchmarks.judge.rule.read_rule`` takes it; None
            if it is not known: differences are then taken to whoever waits longest playing at
            once against the nearest.
        policies: who plays against it, policies of the queue by name; none for ours, each tuned
            at this load on seeds of its own.
        arrivals: what of the load is not read off the log.
        parameters: of the model, by name, as ``matchenv.logs.fit`` gives them; None to fit
            them to the log.
        episodes: runs of each matcher, >= 2.
        tuning_episodes: runs of each setting in the tuning, >= 2.
        horizon: ticks of a run, >= 1; a game has 10.
        seed: of everything that is drawn, >= 0.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished runs and the result files; None to write none.
        name: of the log, in the files.
        quiet: no progress bar.

    Raises:
        ValueError: for an empty log, too few games, times that go backwards, a load that the log
            does not tell, a rule that raises, or a bad argument, before any work; for a folder
            with another judgement.
        OSError: if something cannot be written; finished runs stay.
    """
    as_engine(workers)
    _check(log, episodes, tuning_episodes, horizon, seed)
    given = arrivals or ArrivalSettings()
    load = arrivals_of(log, given)
    model = None if parameters is None else _checked(parameters)
    if model is not None:
        replay_trueskill(log, **model)  # type: ignore[arg-type]  # refuses what it cannot take
    present = None if rule is None else read_rule(rule)
    text = present.text(load.tick_minutes) if isinstance(present, Window) else present
    anywhere = QueueSettings.checked()
    players = queue_candidates(policies, anywhere) if policies else ()
    asked = {
        "command": "judge",
        "log": log_key(log),
        "rule": None if text is None else rule_candidate(text, anywhere).identity,
        "policies": {each.label: each.identity for each in players},
        "arrivals": asdict(given),
        "parameters": model,
        "episodes": episodes,
        "tuning_episodes": tuning_episodes,
        "horizon": horizon,
        "seed": seed,
    }
    with open_store(out, asked) as store:
        found, notes = None, []
        if model is None:
            found = _fitted(log, seed, store, quiet)
            model, notes = _checked(found.parameters), list(found.notes)
            if not found.gain[1] > 0.0:
                notes.append(NOTHING_FORESEEN)
        replay = replay_trueskill(log, mu=MU, sigma=SIGMA, keep_history=True, **model)  # type: ignore[arg-type]
        smoothed = smooth(log, mu=MU, sigma=SIGMA, keep_rest=True, **model)  # type: ignore[arg-type]
        qualities = qualities_of(log, replay, smoothed, model, seed)
        begins = None
        if log.time is not None:
            begins, _ = sessions_of(log, given.session_minutes)
        people = population_of_log(log, replay, begins, model["time_drift"])
        if (log.team_size > 1).any() or (log.game_size > 2).any():
            notes.append("the queue plays games of two players, with the skills of this log")
        matchers = run_matchers(
            queue_options(load, people, model, horizon),
            load.ticks_rate,
            rule=text,
            policies=policies,
            episodes=episodes,
            tuning_episodes=tuning_episodes,
            seed=seed,
            store=store,
            workers=workers,
            quiet=quiet,
        )
        judgement = Judgement(
            name=name,
            games=log.num_games,
            players=log.num_players,
            parameters=model,
            fit=found,
            notes=notes,
            groups=group_evenness(log, qualities, smoothed.mu),
            strangers=qualities.strangers,
            favourites=favourites_of(log, qualities),
            arrivals=load,
            matchers=matchers,
        )
        if store is not None:
            write_results(store, judgement_files(judgement, asked).items())
    return judgement


def _check(log: MatchLog, episodes: int, tuning_episodes: int, horizon: int, seed: int) -> None:
    for option, value in (("episodes", episodes), ("tuning_episodes", tuning_episodes)):
        as_integer(option, value, 2)
    as_integer("horizon", horizon, 1, LONGEST_RUN)
    as_integer("seed", seed, 0)
    if log.num_games < FEWEST_GAMES:
        raise ValueError(
            f"log must have at least {FEWEST_GAMES} games to be judged, got {log.num_games}"
        )
    check_times(log)


def _fitted(log: MatchLog, seed: int, store: Store | None, quiet: bool) -> Fit:
    journal = None if store is None else store.folder / EVALUATIONS
    return fit(log, seed=seed, journal=journal, made_with=provenance(), quiet=quiet)


def _checked(parameters: Mapping[str, float]) -> dict[str, float]:
    """The model's parameters, those that are missing at 0."""
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
