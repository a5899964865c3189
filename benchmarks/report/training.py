"""Trainings on the page: those of the same games share a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.learning_curves.curves import MEASURES, LearningCurve, curves_of
from matchenv.benchmarks.learning_curves.levels import LESS_KG, levels_of
from matchenv.benchmarks.learning_curves.runs import Run, read_runs
from matchenv.benchmarks.report.charts import Palette, add_level, add_line, new_figure
from matchenv.benchmarks.report.compare import FILE, compare_section, read_standings
from matchenv.benchmarks.report.section import Chart, Section, Table, pivot, short_text
from matchenv.evaluation.tables import Column


def training_sections(folders: Sequence[Path], palette: Palette) -> list[Section]:
    """What ``matchenv train`` left, a section for the runs of the same games."""
    same_games: list[list[Run]] = []
    for run in read_runs(folders):
        known = next((each for each in same_games if each[0].games == run.games), None)
        if known is None:
            same_games.append([run])
        else:
            known.append(run)
    return [_section(runs, palette) for runs in same_games]


def _section(runs: Sequence[Run], palette: Palette) -> Section:
    curves = curves_of(runs, LESS_KG)
    first = runs[0].config
    trainings = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    compared = [run for run in runs if (RunFolder(run.path).comparison / FILE).is_file()]
    tables = [Table("Last evaluations", RUNS, runs)]
    if compared:
        tables.append(_last_comparisons(compared))
    return Section(
        kind="train",
        folder=", ".join(run.path.name for run in runs),
        lead=(
            f"{trainings}, evaluated on held-out games of the same kind; q is the draw density, "
            "summed over an episode, and KG plays the same episodes."
        ),
        settings={
            "seeds": ", ".join(str(run.config.seed) for run in runs),
            "algorithm": first.algorithm,
            **first.hyperparameters,
            **first.env_kwargs,
        },
        versions=first.versions,
        charts=[_chart(runs, curves, palette)],
        tables=tables,
        summary=tables[-1],
        parts=[
            compare_section(RunFolder(run.path).comparison, palette, run.path.name)
            for run in compared
        ],
    )


def _last_comparisons(runs: Sequence[Run]) -> Table:
    """Where the trained policies end in the comparisons with the baselines."""
    differences = {}
    for run in runs:
        _, standings = read_standings(RunFolder(run.path).comparison)
        for each in standings:
            if each.policy == standings[0].policy:
                differences[each.cell.title, run.path.name] = short_text(each.difference, 2)
    return pivot("True q less that of KG in the final comparison", "cell", differences)


def _chart(runs: Sequence[Run], curves: Sequence[LearningCurve], palette: Palette) -> Chart:
    figure = new_figure("games learned from", MEASURES[LESS_KG], hovermode="x unified")
    for curve in curves:
        several = len(curve.runs) > 1
        add_line(
            figure, palette, curve.label, curve.timesteps, curve.interquartile_mean,
            curve.band if several else None, label=f"{curve.label}, IQM" if several else None,
        )  # fmt: skip
        if several:
            add_line(
                figure, palette, curve.label, curve.timesteps, curve.median, dash="dash",
                label=f"{curve.label}, median",
            )  # fmt: skip
    for level in levels_of(runs, LESS_KG):
        add_level(figure, level.value, level.label)
    bands = {f"{curve.label}: {curve.band_name}" for curve in curves if len(curve.runs) > 1}
    return Chart("Learning curves", figure, "Bands: " + "; ".join(sorted(bands)) if bands else "")


def _last(name: str, form: str) -> Column:
    return Column(MEASURES[name], lambda run: f"{run.evaluations[-1][name]:{form}}")


RUNS = (
    Column("run", lambda run: run.path.name),
    Column("algorithm", lambda run: run.config.algorithm),
    Column("seed", lambda run: str(run.config.seed)),
    Column("games learned from", lambda run: f"{run.evaluations[-1]['timesteps']:,}"),
    _last("true_draw_density", ".2f"),
    _last("true_q_less_kg", "+.2f"),
    _last("mean_return", ".2f"),
)
