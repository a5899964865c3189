"""What stock agents reach: ``python -m matchenv.benchmarks.stock_agents --out FOLDER``.

Algorithms of stable-baselines3 and sb3-contrib are trained with several seeds each, with the
packaged hyperparameters. Then all agents and the baselines play the same episodes. The folder gets
a run for each seed, the comparisons, a table and the learning curves. Finished parts are kept, so
the same command continues. See docs/stock_agents.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from matchenv.agents.run_config import configured
from matchenv.agents.training import train_seeds
from matchenv.benchmarks import figures
from matchenv.benchmarks.compare.comparison import Comparison, run_comparison
from matchenv.benchmarks.report.training import curves_of, middle_of, read_runs
from matchenv.envs.one_player.settings import RANKS
from matchenv.envs.queue import QueueSettings, usual_quality
from matchenv.evaluation.episode_table import Cell
from matchenv.evaluation.estimates import Estimate, estimate, t_quantile
from matchenv.evaluation.protocols import LOADS
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE
from matchenv.evaluation.tables import Column, markdown_table, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import write_bytes
from matchenv.runtime.jobs import RunOptions

SEEDS = (0, 1, 2, 3, 4)
COMPARISON_SEED = 20261130
SIZE = (6.0, 3.2)  # of a figure, in inches
FONT_SIZE = 9.0  # in points
DOTS = 150  # per inch
# Learning curves start far below the baselines, which would flatten the rest. In the queue, the
# axis goes down to so many times the worst end of a curve.
LOWEST_OF_ONE_PLAYER = -12.0
DEPTH = 6.0


class Problem(NamedTuple):
    """Cells in which agents of an environment are compared with baselines.

    Attributes:
        name: of the folder of the comparison.
        cells: swept options.
        rivals: baselines, the one compared with first.
        episodes: number in each cell.
        measure: of an evaluation, for the learning curves.
        axis: title of this measure.
        steps: title of the length of a training.
        environment: its name in Gymnasium.
        options: of the environment in trainings and comparisons.
        load: of the queue in trainings and comparisons; None for another environment.
    """

    name: str
    cells: Mapping[str, Sequence[Any]]
    rivals: Sequence[str]
    episodes: int
    measure: str
    axis: str
    steps: str
    environment: str = ONE_PLAYER
    options: Mapping[str, Any] = {}
    load: str | None = None

    def training_options(self) -> dict[str, Any]:
        """Return the options of the environment in a training, where a list has several values."""
        if self.load is None:
            return {}
        options: dict[str, Any] = {"arrival_rate": LOADS[self.load]}
        settings = QueueSettings.checked(**self.options, **options)
        if settings != QueueSettings():
            options["usual_quality"] = usual_quality(settings)
        for name, value in self.options.items():
            options[name] = [value] if isinstance(value, list) else value
        return options


ONE_PLAYER_PROBLEM = Problem(
    "matchmaking",
    {"rank": RANKS, "prior": ["informative"]},
    ("kg", "drawchance", "gittins"),
    500,
    "true_q_less_kg",
    "true q of an episode minus KG's",
    "games learned from",
)


def queue_problem(
    name: str,
    load: str,
    episodes: int,
    *,
    rivals: Sequence[str] = ("matching", "window", "fcfs"),
    options: Mapping[str, Any] = {},
) -> Problem:
    """Return a problem of the queue at one load; see ``Problem``."""
    return Problem(
        f"{name}_{load}",
        {"load": [load]},
        rivals,
        episodes,
        f"less_matching_rate_{LOADS[load]:g}",
        "true reward of a run minus matching's",
        "choices learned from",
        QUEUE,
        options,
        load,
    )


QUEUE_PROBLEMS = (
    queue_problem("queue", "thin", 200),
    queue_problem("queue", "middle", 100),
    queue_problem("queue", "thick", 20),
)

TEAM_RIVALS = ("matching", "priced", "window", "fcfs", "oracle")
TEAMS = {
    "teams_of_two": {"side_size": 2, "party_sizes": [0.7, 0.3]},
    "teams_of_five": {"side_size": 5, "party_sizes": [0.6, 0.2, 0.1, 0.05, 0.05]},
}
TEAM_PROBLEMS = tuple(
    queue_problem(name, load, episodes, rivals=TEAM_RIVALS, options=options)
    for name, options in TEAMS.items()
    for load, episodes in (("thin", 200), ("middle", 100), ("thick", 20))
)

PROBLEMS = (ONE_PLAYER_PROBLEM, *QUEUE_PROBLEMS, *TEAM_PROBLEMS)


class Training(NamedTuple):
    """An agent that is trained with several seeds.

    Attributes:
        name: of its folder.
        title: in tables and figures.
        algorithm: name of the algorithm.
        problem: in which it is trained and compared.
        config: name of a packaged file of hyperparameters; None for the algorithm's.
        timesteps: length of the training; None for that of the file.
        hyperparameters: single ones, which override the file's.
        evaluation_episodes: episodes of each evaluation during the training.
    """

    name: str
    title: str
    algorithm: str
    problem: Problem = ONE_PLAYER_PROBLEM
    config: str | None = None
    timesteps: int | None = None
    hyperparameters: Mapping[str, Any] = {}
    evaluation_episodes: int = 64

    def run_config(self) -> Any:
        """Return the configuration of its runs."""
        config_file = None
        if self.config is not None:
            config_file = Path(self.config)
        return configured(
            self.algorithm,
            config_file=config_file,
            hyperparameters=dict(self.hyperparameters),
            env_kwargs=self.problem.training_options(),
            environment=self.problem.environment,
            timesteps=self.timesteps,
            evaluation_episodes=self.evaluation_episodes,
        )


SHARED_IN_QUEUE = {
    "policy": "SharedPolicy",
    "policy_kwargs": {"net_arch": {"pi": [32], "vf": [64]}},
}


def queue_trainings(problem: Problem, config: str | None = None) -> tuple[Training, Training]:
    """Return MaskablePPO with the plain and with the shared network, in a problem of the queue."""
    episodes = max(4, min(16, problem.episodes // 5))
    plain = Training(
        problem.name,
        "MaskablePPO, MlpPolicy",
        "maskable_ppo",
        problem,
        config,
        evaluation_episodes=episodes,
    )
    shared = plain._replace(
        name=f"{problem.name}_shared",
        title="MaskablePPO, shared network",
        hyperparameters=SHARED_IN_QUEUE,
    )
    return plain, shared


IN_QUEUES = [queue_trainings(problem) for problem in QUEUE_PROBLEMS]
IN_TEAMS = [queue_trainings(problem, "maskable_ppo_teams") for problem in TEAM_PROBLEMS]

TRAININGS = (
    Training("ppo_mlp", "PPO, MlpPolicy", "ppo", config="ppo_flat", timesteps=640_000),
    Training("ppo", "PPO, shared network", "ppo"),
    Training("a2c", "A2C, shared network", "a2c"),
    Training("trpo", "TRPO, shared network", "trpo"),
    Training("dqn", "DQN, shared network", "dqn", timesteps=128_000),
    *chain.from_iterable(IN_QUEUES),
    *chain.from_iterable(IN_TEAMS),
)


def over_runs(differences: Floats) -> Estimate:
    """Return the mean of several runs of a training, with an interval for other runs and episodes.

    The variances of the means over runs and over episodes are added, which counts the variance of
    their interaction twice, and the interval is Student's for the number of runs. A single run has
    an interval for other episodes only.

    Args:
        differences: to a rival, shape (runs, E), at least (1, 2).
    """
    runs, episodes = differences.shape
    if runs == 1:
        return estimate(differences[0])
    of_runs = differences.mean(axis=1).var(ddof=1) / runs
    of_episodes = differences.mean(axis=0).var(ddof=1) / episodes
    error = math.sqrt(of_runs + of_episodes)
    half = t_quantile(runs) * error
    mean = float(differences.mean())
    return Estimate(mean, error, mean - half, mean + half)


def folders_of(training: Training, out: Path, seeds: Sequence[int]) -> list[Path]:
    """Return the folders of the runs of a training."""
    return [out / training.name / f"seed{seed}" for seed in seeds]


def compared(
    problem: Problem, trainings: Sequence[Training], out: Path, seeds: Sequence[int]
) -> Comparison:
    """Return the comparison of all runs of some trainings with the rivals of a problem."""
    policies = []
    for training in trainings:
        policies += [str(folder) for folder in folders_of(training, out, seeds)]
    return run_comparison(
        [*policies, *problem.rivals],
        env=problem.environment,
        cells=problem.cells,
        env_kwargs=problem.options,
        against=problem.rivals[0],
        episodes=problem.episodes,
        seed=COMPARISON_SEED,
        run=RunOptions(out=out / "comparisons" / problem.name, quiet=True),
    )


def name_of(cell: Cell) -> str:
    """Return the title of a cell without its explanation."""
    name, _, _ = cell.title.partition(":")
    return name


def rows_of(
    problem: Problem,
    trainings: Sequence[Training],
    comparison: Comparison,
    out: Path,
    seeds: Sequence[int],
) -> Iterator[dict[str, str]]:
    """Yield a row of the table for each agent and rival: title, training length, cells by name."""
    measure = comparison.protocol.measure
    first = problem.rivals[0]
    for training in trainings:
        runs = [str(folder) for folder in folders_of(training, out, seeds)]
        row = {"agent": training.title, problem.steps: f"{training.run_config().timesteps:,}"}
        for number, cell in enumerate(comparison.cells):
            against = comparison.values(measure, number, first)
            values = np.array([comparison.values(measure, number, run) for run in runs])
            row[name_of(cell)] = f"{over_runs(values - against):+.2f}"
        yield row
    for rival in problem.rivals:
        row = {"agent": f"`{rival}`", problem.steps: "-"}
        for number, cell in enumerate(comparison.cells):
            if rival == first:
                mean = comparison.values(measure, number, rival).mean()
                row[name_of(cell)] = f"({mean:.2f})"
            else:
                row[name_of(cell)] = f"{comparison.standing(number, rival).difference:+.2f}"
        yield row


def figure_of(
    problem: Problem, trainings: Sequence[Training], out: Path, seeds: Sequence[int]
) -> Figure:
    """Return the learning curves of some trainings, each a line with a band."""
    figure, axes = figures.new_figure(1, 1, SIZE)
    panel = axes[0, 0]
    panel.axhline(0.0, color="#7a7a7a", linewidth=1.0, label=problem.rivals[0])
    lowest = 0.0
    worst_end = 0.0
    for training, (colour, line, _) in zip(trainings, figures.LINES, strict=False):
        runs = read_runs(folders_of(training, out, seeds))
        (curves,) = curves_of(runs, problem.measure).values()
        middle, low, high = middle_of(curves)
        panel.plot(curves.index, middle, color=colour, linestyle=line, label=training.title)
        panel.fill_between(curves.index, low, high, color=colour, alpha=0.2, linewidth=0.0)
        lowest = min(lowest, float(low.min()))
        worst_end = min(worst_end, float(low[-1]))
    bottom = LOWEST_OF_ONE_PLAYER
    if problem.load is not None:
        bottom = max(1.1 * lowest, DEPTH * worst_end)
    panel.set_ylim(bottom=bottom)
    panel.set(xlabel=problem.steps, ylabel=problem.axis)
    panel.legend(loc="lower right")
    return figure


def run_stock_agents(
    out: Path,
    only: Sequence[str] = (),
    *,
    seeds: Sequence[int] = SEEDS,
    workers: int | None = 1,
    quiet: bool = False,
) -> str:
    """Train and compare the agents, and return the tables.

    Args:
        out: folder of all results; finished runs and comparisons in it are kept.
        only: names of trainings; none for all.
        seeds: of each training.
        workers: processes that train; None for one on each core.
        quiet: show no progress bars.
    """
    trainings = [training for training in TRAININGS if not only or training.name in only]
    for training in trainings:
        train_seeds(out / training.name, training.run_config(), seeds, workers=workers, quiet=quiet)
    texts = []
    lines = []
    for problem in PROBLEMS:
        agents = [training for training in trainings if training.problem == problem]
        if not agents:
            continue
        comparison = compared(problem, agents, out, seeds)
        rows = list(rows_of(problem, agents, comparison, out, seeds))
        columns = [Column(name, f"{{{name}}}") for name in rows[0]]
        title = (
            f"{problem.name}: minus {problem.rivals[0]}, {comparison.episodes} episodes, seed "
            f"{COMPARISON_SEED}, seeds {', '.join(map(str, seeds))} of each agent"
        )
        texts += [title, *text_table(columns, rows), ""]
        lines += [title, "", *markdown_table(columns, rows), ""]
        name = f"learning_{problem.name}"
        with figures.style(name, FONT_SIZE):
            figure = figure_of(problem, agents, out, seeds)
            for file, content in figures.files_of(name, figure, DOTS):
                write_bytes(out / file, content)
    write_bytes(out / "stock_agents.md", "\n".join(lines).encode())
    return "\n".join(texts)


def main(words: Sequence[str] | None = None) -> None:
    """Train, compare and print the tables; ``words`` are those of the command line."""
    names = [training.name for training in TRAININGS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--only", nargs="+", choices=names, default=(), help="trainings")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of each training")
    parser.add_argument("--workers", type=int, default=1, help="processes that train")
    arguments = parser.parse_args(words)
    try:
        as_integer("workers", arguments.workers, 1)
        seeds = [as_integer("seeds", seed, 0) for seed in arguments.seeds]
    except ValueError as error:
        parser.error(str(error))
    print(run_stock_agents(arguments.out, arguments.only, seeds=seeds, workers=arguments.workers))


if __name__ == "__main__":
    main()
