"""What of a judgement survives when the log was matched on something that it does not show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue import (
    MatchingOracle,
    MaximumWeightMatching,
    QueuePolicy,
    RandomCandidate,
    WideningWindow,
)
from matchenv.benchmarks.judge.evenness import NEWCOMER_GAMES, earlier_games
from matchenv.benchmarks.judge.judgement import Judgement
from matchenv.benchmarks.judge.judging import NOTHING_FORESEEN, judge
from matchenv.benchmarks.judge.simulated import SimulatedService, simulated_service
from matchenv.envs.queue.population import RatedPopulation
from matchenv.evaluation.estimates import Estimate, estimate
from matchenv.evaluation.queue_measures import DECILES
from matchenv.evaluation.seeds import sequence_of
from matchenv.evaluation.tables import Column, markdown_table
from matchenv.logs.fitting import SIGMA
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import open_store, run_jobs
from matchenv.runtime.parallel import Workers, as_engine
from matchenv.trueskill import true_draw_density

Floats = NDArray[np.float64]

BETA = 25.0 / 6.0
TRUTH = {"beta": BETA, "draw_probability": 0.1}
WIDTH, GROWTH = 3.0, 0.3
WINDOW = f"window:width={WIDTH},growth={GROWTH}"

# How the games of a log came about.
KINDS = ("nobody", "beliefs", "skills", "given")
KIND_TITLES = {
    "nobody": "at random",
    "beliefs": "by a window on beliefs",
    "skills": "by a window on hidden skills",
    "given": "by a window on hidden skills, judged with the true parameters",
}

CONCLUSIONS = (
    "quality of the games, believed",
    "quality of the games, in hindsight",
    "newcomers' games less others'",
    "weakest and strongest tenth less all",
    "quality of strangers' games",
    "deviation of skills, in betas",
    "matching less window, quality",
    "matching less window, minutes of waiting",
    "known skills less matching, quality",
)


@dataclass(frozen=True)
class SelectionJob:
    """One log.

    Attributes:
        kind: one of ``KINDS``.
        number: of the log.
        seed: of everything that is drawn.
        games: of the log.
        players: who may log on.
        episodes: runs of each matcher.
    """

    kind: str
    number: int
    seed: int
    games: int
    players: int
    episodes: int
    count: int = 1
    lasting: bool = True

    @property
    def name(self) -> str:
        """Of the job's file."""
        return f"{self.kind}{self.number:03d}"


@dataclass(frozen=True)
class Finding:
    """One conclusion on one kind of log.

    Attributes:
        kind: one of ``KINDS``.
        conclusion: one of ``CONCLUSIONS``.
        true: its mean over the logs.
        judged: that of the judgements.
        error: judged less true, with the interval over logs.
    """

    kind: str
    conclusion: str
    true: float
    judged: float
    error: Estimate


@dataclass(frozen=True)
class Selection:
    """What was found.

    Attributes:
        judged: (kinds, logs, conclusions).
        true: the same.
        favourites: (kinds, logs) what favourites scored less what was expected of them.
        behind: (kinds, logs) whether the verdict was that they scored less.
        noted: (kinds, logs) whether the judgement said that the fit foresees nothing.
    """

    judged: Floats
    true: Floats
    favourites: Floats
    behind: Floats
    noted: Floats

    @property
    def findings(self) -> list[Finding]:
        """Kind by kind."""
        return [
            Finding(
                kind,
                conclusion,
                float(self.true[k, :, c].mean()),
                float(self.judged[k, :, c].mean()),
                estimate(self.judged[k, :, c] - self.true[k, :, c]),
            )
            for k, kind in enumerate(KINDS)
            for c, conclusion in enumerate(CONCLUSIONS)
        ]

    def table(self) -> str:
        """Tables for each kind of log, as Markdown."""
        columns = [
            Column("conclusion", lambda row: row.conclusion),
            Column("true", lambda row: f"{row.true:.3f}"),
            Column("judged", lambda row: f"{row.judged:.3f}"),
            Column("judged less true", lambda row: row.error.interval_text(3)),
        ]
        lines = []
        for k, kind in enumerate(KINDS):
            points = estimate(100.0 * self.favourites[k]).interval_text(1)
            found = [row for row in self.findings if row.kind == kind]
            lines += [
                f"Matched {KIND_TITLES[kind]}, {self.behind.shape[1]} logs: favourites scored "
                f"{points} points less what was expected, in {int(self.behind[k].sum())} logs with "
                f"the verdict behind; in {int(self.noted[k].sum())} the fit foresaw nothing",
                "",
                *markdown_table(columns, found),
                "",
            ]
        return "\n".join(lines)


def run_selection(
    *,
    logs: int = 8,
    games: int = 3000,
    players: int = 400,
    episodes: int = 20,
    seed: int = 0,
    workers: Workers = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Selection:
    """Judge logs of services whose truth is known, matched at random, on beliefs, and on skills.

    What is true of other matchers is what the same players would have met in a service that had
    them from its first game on.

    Args:
        logs: of each kind, >= 2.
        games: of each log, so many that some have played ten.
        players: who may log on, >= 2.
        episodes: runs of each matcher in a judgement, >= 2.
        seed: of everything that is drawn, >= 0.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished logs; None to keep none.
        quiet: no progress bar.

    Raises:
        ValueError: for a bad argument, or a folder with something else.
    """
    as_engine(workers)
    as_integer("logs", logs, 2)
    as_integer("games", games, 40)
    as_integer("players", players, 2)
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    jobs = [
        SelectionJob(kind, number, _seed_of(seed, number), games, players, episodes)
        for kind in KINDS
        for number in range(logs)
    ]
    asked = {
        "command": "selection",
        "logs": logs,
        "games": games,
        "players": players,
        "episodes": episodes,
        "seed": seed,
    }
    with open_store(out, asked) as store:
        found = run_jobs(jobs, work, store, workers=workers, quiet=quiet, unit="log")

    def of(name: str) -> Floats:
        stacked = np.stack([each[name] for each in found])
        return stacked.reshape(len(KINDS), logs, *stacked.shape[1:])

    return Selection(of("judged"), of("true"), of("favourites"), of("behind"), of("noted"))


def work(job: SelectionJob) -> Arrays:
    """One log: what is true of it, and what a judgement says."""
    matcher = RandomCandidate() if job.kind == "nobody" else WideningWindow(WIDTH, GROWTH)
    service = _service(matcher, job, sees_skills=job.kind in ("skills", "given"))
    found = judge(
        service.log,
        rule=WINDOW,
        parameters=TRUTH if job.kind == "given" else None,
        policies=["matching", "oracle"],
        episodes=job.episodes,
        seed=job.seed,
        workers=1,
    )
    return {
        "judged": _judged(found),
        "true": _true(service, job),
        "favourites": np.array(found.favourites.difference.mean),
        "behind": np.array(float(found.favourites.verdict == "behind")),
        "noted": np.array(float(NOTHING_FORESEEN in found.notes)),
    }


def _service(matcher: QueuePolicy, job: SelectionJob, *, sees_skills: bool) -> SimulatedService:
    return simulated_service(
        matcher,
        sees="skills" if sees_skills else "beliefs",
        games=job.games,
        players=job.players,
        beta=BETA,
        sigma=SIGMA,
        draw_probability=TRUTH["draw_probability"],
        seed=job.seed,
    )


def _judged(found: Judgement) -> Floats:
    groups = {each.group: each for each in found.groups}
    hindsight = {name: each.hindsight.mean for name, each in groups.items()}
    ends = 0.5 * (hindsight["decile_1"] + hindsight[f"decile_{DECILES}"])
    contest, gain = found.contests[0], found.gains[0]
    settings = found.matchers.comparison.settings
    population = settings.population
    assert isinstance(population, RatedPopulation)
    return np.array(
        [
            groups["all"].believed.mean,
            hindsight["all"],
            hindsight["newcomers"] - hindsight["regulars"],
            ends - hindsight["all"],
            found.strangers,
            population.deviation / settings.beta,
            contest.quality.mean,
            contest.wait.mean,
            gain.quality.mean,
        ]
    )


def _true(service: SimulatedService, job: SelectionJob) -> Floats:
    log = service.log
    quality = np.repeat(service.quality, 2)
    skill = service.skill[log.player]
    newcomer = earlier_games(log) < NEWCOMER_GAMES
    low, high = np.quantile(skill, [1.0 / DECILES, 1.0 - 1.0 / DECILES])
    ends = 0.5 * (quality[skill <= low].mean() + quality[skill > high].mean())
    rng = np.random.default_rng(job.seed)
    strangers = true_draw_density(skill, rng.permutation(skill), BETA)
    strangers = strangers.mean() / true_draw_density(0.0, 0.0, BETA)
    window = _service(WideningWindow(WIDTH, GROWTH), job, sees_skills=False)
    matching = _service(MaximumWeightMatching(), job, sees_skills=False)
    oracle = _service(MatchingOracle(), job, sees_skills=True)
    return np.array(
        [
            quality.mean(),
            quality.mean(),
            quality[newcomer].mean() - quality[~newcomer].mean(),
            ends - quality.mean(),
            strangers,
            skill.std() / BETA,
            matching.quality.mean() - window.quality.mean(),
            matching.wait - window.wait,
            oracle.quality.mean() - matching.quality.mean(),
        ]
    )


def _seed_of(seed: int, number: int) -> int:
    """The same for all kinds, so that they have the same players."""
    return int(sequence_of(seed, number).generate_state(1)[0])
