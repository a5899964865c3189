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
from matchenv.evaluation.estimates import Estimate, t_quantile
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
# Learning curves start far below the baselines, which would flatten the rest.
LOWEST = {ONE_PLAYER: -12.0, QUEUE: -400.0}


class Training(NamedTuple):
    """An agent that is trained with each of ``SEEDS``.

    Attributes:
        name: of its folder.
        title: in tables and figures.
        algorithm: name of the algorithm.
        environment: its name in Gymnasium.
        config: name of a packaged file of hyperparameters; None for the algorithm's.
        timesteps: length of the training; None for that of the file.
        load: load of the queue in which it is trained and compared.
        hyperparameters: single ones, which override the file's.
        evaluation_episodes: episodes of each evaluation during the training.
    """

    name: str
    title: str
    algorithm: str
    environment: str = ONE_PLAYER
    config: str | None = None
    timesteps: int | None = None
    load: str | None = None
    hyperparameters: Mapping[str, Any] | None = None
    evaluation_episodes: int = 64

    def run_config(self) -> Any:
        """Return the configuration of its runs."""
        config_file = None
        if self.config is not None:
            config_file = Path(self.config)
        env_kwargs: dict[str, Any] = {}
        if self.load is not None:
            env_kwargs["arrival_rate"] = LOADS[self.load]
        return configured(
            self.algorithm,
            config_file=config_file,
            hyperparameters=dict(self.hyperparameters or {}),
            env_kwargs=env_kwargs,
            environment=self.environment,
            timesteps=self.timesteps,
            evaluation_episodes=self.evaluation_episodes,
        )


SHARED_IN_QUEUE = {
    "policy": "SharedPolicy",
    "policy_kwargs": {"net_arch": {"pi": [32], "vf": [64]}},
}

TRAININGS = (
    Training("ppo_mlp", "PPO, MlpPolicy", "ppo", config="ppo_flat", timesteps=640_000),
    Training("ppo", "PPO, shared network", "ppo"),
    Training("a2c", "A2C, shared network", "a2c"),
    Training("trpo", "TRPO, shared network", "trpo"),
    Training("dqn", "DQN, shared network", "dqn", timesteps=128_000),
    Training(
        "queue_thin",
        "MaskablePPO, MlpPolicy",
        "maskable_ppo",
        QUEUE,
        load="thin",
        evaluation_episodes=16,
    ),
    Training(
        "queue_middle",
        "MaskablePPO, MlpPolicy",
        "maskable_ppo",
        QUEUE,
        load="middle",
        evaluation_episodes=16,
    ),
    Training(
        "queue_middle_shared",
        "MaskablePPO, shared network",
        "maskable_ppo",
        QUEUE,
        load="middle",
        hyperparameters=SHARED_IN_QUEUE,
        evaluation_episodes=16,
    ),
    Training(
        "queue_thick",
        "MaskablePPO, MlpPolicy",
        "maskable_ppo",
        QUEUE,
        load="thick",
        evaluation_episodes=4,
    ),
)


class Problem(NamedTuple):
    """Cells in which agents of an environment are compared with baselines.

    Attributes:
        name: of the folder of the comparison.
        environment: its name in Gymnasium.
        cells: swept options.
        rivals: baselines, the one compared with first.
        episodes: number in each cell.
        measure: of an evaluation, for the learning curves.
        axis: title of this measure.
        steps: title of the length of a training.
    """

    name: str
    environment: str
    cells: Mapping[str, Sequence[Any]]
    rivals: Sequence[str]
    episodes: int
    measure: str
    axis: str
    steps: str


QUEUE_RIVALS = ("matching", "window", "fcfs")
PROBLEMS = (
    Problem(
        "matchmaking",
        ONE_PLAYER,
        {"rank": RANKS, "prior": ["informative"]},
        ("kg", "drawchance", "gittins"),
        500,
        "true_q_less_kg",
        "true q of an episode minus KG's",
        "games learned from",
    ),
    *(
        Problem(
            f"queue_{load}",
            QUEUE,
            {"load": [load]},
            QUEUE_RIVALS,
            episodes,
            f"less_matching_rate_{LOADS[load]:g}",
            "true reward of a run minus matching's",
            "choices learned from",
        )
        for load, episodes in (("thin", 200), ("middle", 100), ("thick", 20))
    ),
)


def over_runs(differences: Floats) -> Estimate:
    """Return the mean of several runs of a training, with an interval for other runs and episodes.

    The variances of the means over runs and over episodes are added, which counts the variance of
    their interaction twice, and the interval is Student's for the number of runs.

    Args:
        differences: to a rival, shape (runs, E), at least (2, 2).
    """
    runs, episodes = differences.shape
    of_runs = differences.mean(axis=1).var(ddof=1) / runs
    of_episodes = differences.mean(axis=0).var(ddof=1) / episodes
    error = math.sqrt(of_runs + of_episodes)
    half = t_quantile(runs) * error
    mean = float(differences.mean())
    return Estimate(mean, error, mean - half, mean + half)


def folders_of(training: Training, out: Path) -> list[Path]:
    """Return the folders of the runs of a training."""
    return [out / training.name / f"seed{seed}" for seed in SEEDS]


def compared_in(problem: Problem, trainings: Sequence[Training]) -> list[Training]:
    """Return the trainings that are compared in a problem."""
    loads = problem.cells.get("load", [])
    compared = []
    for training in trainings:
        fits = training.load is None or training.load in loads
        if training.environment == problem.environment and fits:
            compared.append(training)
    return compared


def compared(problem: Problem, trainings: Sequence[Training], out: Path) -> Comparison:
    """Return the comparison of all runs of some trainings with the rivals of a problem."""
    policies = []
    for training in trainings:
        policies += [str(folder) for folder in folders_of(training, out)]
    return run_comparison(
        [*policies, *problem.rivals],
        env=problem.environment,
        cells=problem.cells,
        against=problem.rivals[0],
        episodes=problem.episodes,
        seed=COMPARISON_SEED,
        run=RunOptions(out=out / "comparisons" / problem.name, quiet=True),
    )


def rows_of(
    problem: Problem, trainings: Sequence[Training], comparison: Comparison, out: Path
) -> Iterator[dict[str, str]]:
    """Yield a row of the table for each agent and rival: its title, games, and cells by title."""
    measure = comparison.protocol.measure
    first = problem.rivals[0]
    agents = [(t.title, [str(folder) for folder in folders_of(t, out)], t) for t in trainings]
    for title, runs, training in agents:
        row = {"agent": title, "games": f"{training.run_config().timesteps:,}"}
        for number, cell in enumerate(comparison.cells):
            against = comparison.values(measure, number, first)
            values = np.array([comparison.values(measure, number, run) for run in runs])
            row[cell.title] = f"{over_runs(values - against):+.2f}"
        yield row
    for rival in problem.rivals:
        row = {"agent": f"`{rival}`", "games": "-"}
        for number, cell in enumerate(comparison.cells):
            if rival == first:
                mean = comparison.values(measure, number, rival).mean()
                row[cell.title] = f"({mean:.2f})"
            else:
                row[cell.title] = f"{comparison.standing(number, rival).difference:+.2f}"
        yield row


def figure_of(problem: Problem, trainings: Sequence[Training], out: Path) -> Figure:
    """Return the learning curves of some trainings, each a line with a band."""
    figure, axes = figures.new_figure(1, 1, SIZE)
    panel = axes[0, 0]
    panel.axhline(0.0, color="#7a7a7a", linewidth=1.0, label=problem.rivals[0])
    for training, (colour, line, _) in zip(trainings, figures.LINES, strict=False):
        runs = read_runs(folders_of(training, out))
        (curves,) = curves_of(runs, problem.measure).values()
        middle, low, high = middle_of(curves)
        panel.plot(curves.index, middle, color=colour, linestyle=line, label=training.title)
        panel.fill_between(curves.index, low, high, color=colour, alpha=0.2, linewidth=0.0)
    panel.set_ylim(bottom=LOWEST[problem.environment])
    panel.set(xlabel=problem.steps, ylabel=problem.axis)
    panel.legend(loc="lower right")
    return figure


def run_stock_agents(
    out: Path, only: Sequence[str] = (), *, workers: int | None = 1, quiet: bool = False
) -> str:
    """Train and compare the agents, and return the tables.

    Args:
        out: folder of all results; finished runs and comparisons in it are kept.
        only: names of trainings; none for all.
        workers: processes that train; None for one on each core.
        quiet: show no progress bars.
    """
    trainings = [training for training in TRAININGS if not only or training.name in only]
    for training in trainings:
        train_seeds(out / training.name, training.run_config(), SEEDS, workers=workers, quiet=quiet)
    texts = []
    lines = []
    for problem in PROBLEMS:
        agents = compared_in(problem, trainings)
        if not agents:
            continue
        comparison = compared(problem, agents, out)
        rows = list(rows_of(problem, agents, comparison, out))
        columns = [Column(name, f"{{{name}}}") for name in rows[0]]
        title = (
            f"{problem.name}: minus {problem.rivals[0]}, {comparison.episodes} episodes, seed "
            f"{COMPARISON_SEED}, {len(SEEDS)} trainings of each agent"
        )
        texts += [title, *text_table(columns, rows), ""]
        lines += [title, "", *markdown_table(columns, rows), ""]
        name = f"learning_{problem.name}"
        with figures.style(name, FONT_SIZE):
            figure = figure_of(problem, agents, out)
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
    parser.add_argument("--workers", type=int, default=1, help="processes that train")
    arguments = parser.parse_args(words)
    as_integer("workers", arguments.workers, 1)
    print(run_stock_agents(arguments.out, arguments.only, workers=arguments.workers))


if __name__ == "__main__":
    main()
