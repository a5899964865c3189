"""Which folders hold which results: known by their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matchenv.benchmarks.learning_curves.runs import runs_in
from matchenv.benchmarks.report import compare, judge, limits, queue, replay, study, training
from matchenv.benchmarks.report.charts import Palette
from matchenv.benchmarks.report.section import Section

Reader = Callable[[Path, Palette], Section]

# A file that a command writes, and who reads its folder: the first that is there decides.
READERS: dict[str, Reader] = {
    judge.FILE: judge.judge_section,
    queue.COMPARISON: queue.queue_section,
    study.STUDY: study.study_section,
    study.TUNING: study.tune_section,
    limits.BOUND: limits.bound_section,
    limits.OPTIMA: limits.optimum_section,
    compare.FILE: compare.compare_section,
    replay.FILE: replay.replay_section,
}
COMMANDS = "train, compare, study, tune, bound, optimum, replay or judge"


def sections_of(paths: Sequence[Path]) -> list[Section]:
    """A section for each folder of results, and one for trainings on the same games.

    Args:
        paths: folders of results, or folders that hold such folders at any depth.

    Raises:
        ValueError: for none, a folder that holds no results, or a damaged file.
    """
    if not paths:
        raise ValueError(f"folders must be at least one with results of matchenv {COMMANDS}")
    palette = Palette()
    found: dict[Path, Callable[[], Section]] = {}
    runs: list[Path] = []
    for path in paths:
        here, trained = _folders(path), runs_in(path)
        if not here and not trained:
            raise ValueError(
                f"{path} holds no results; give the folder that --out named for matchenv {COMMANDS}"
            )
        runs += trained
        found |= {folder.resolve(): _reading(folder, palette) for folder in here}
    # The comparison at the end of a training is shown with it.
    inside = [run.resolve() for run in runs]
    trainings = training.training_sections(runs, palette) if runs else []
    others = [read() for folder, read in found.items() if not set(folder.parents) & set(inside)]
    return [*trainings, *others]


def _folders(path: Path) -> list[Path]:
    if _reader(path) is not None:
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_dir() and _reader(each) is not None)


def _reader(folder: Path) -> Reader | None:
    return next((read for name, read in READERS.items() if (folder / name).is_file()), None)


def _reading(folder: Path, palette: Palette) -> Callable[[], Section]:
    read = _reader(folder)
    assert read is not None

    def section() -> Section:
        try:
            return read(folder, palette)
        except (KeyError, TypeError, IndexError, FileNotFoundError) as error:
            raise ValueError(
                f"{folder} holds results that cannot be read, run its command again: {error!r}"
            ) from None

    return section
