"""Results of several commands in one page that works offline: ``matchenv report``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matchenv.agents import with_extra
from matchenv.agents.learned_names import CONFIG, EVALUATIONS
from matchenv.benchmarks.report.comparisons import compare_section, tune_section
from matchenv.benchmarks.report.judge import judge_section
from matchenv.benchmarks.report.latex import latex_summary
from matchenv.benchmarks.report.limits import bound_section, optimum_section
from matchenv.benchmarks.report.page import Section, page_text
from matchenv.benchmarks.report.ranking import rank_section
from matchenv.benchmarks.report.replay import ratings_in, replay_section
from matchenv.benchmarks.report.results import content_of
from matchenv.benchmarks.report.study import study_section
from matchenv.runtime.files import CHECKSUM, parsed_json, write_together
from matchenv.runtime.object_spec import only_own_code

# Functions that make the section of a folder of results, given the content of a file and the
# folder, by the name of that file. The first file that the folder contains counts.
SECTIONS: dict[str, Callable[[Any, Path], Section]] = {
    "judge.json": lambda content, folder: judge_section(content, folder.name),
    "verdict.json": study_section,
    "tuning.csv": tune_section,
    "bound.json": bound_section,
    "optimum.json": optimum_section,
    "comparison.json": compare_section,
    "rank.json": lambda content, folder: rank_section(content, folder.name),
    "report.json": lambda content, folder: replay_section(content, folder.name, ratings_in(folder)),
}
COMMANDS = "train, compare, study, tune, limits, replay, rank or judge"


class Result(NamedTuple):
    """A folder of results, except of a training."""

    folder: Path
    file: str  # name of the file that identifies the command


def write_report(
    folders: Sequence[Path], out: Path, *, latex: Path | None = None, allow_code: bool = False
) -> tuple[list[Path], int]:
    """Write the page of folders of results, and optionally a LaTeX summary.

    Args:
        folders: see ``sections_of``.
        out: file of the page, .html.
        latex: file of the summary; None for none.
        allow_code: import classes outside the package that training folders name.

    Returns:
        The files, and the number of results in them.

    Raises:
        ValueError: see ``sections_of``; nothing is written then.
        OSError: if a file cannot be written.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must end in .html, got {str(out)!r}")
    with only_own_code(allow_code=allow_code):
        sections = sections_of(folders)
    files = [(out, page_text(sections).encode())]
    if latex is not None:
        files.append((latex, latex_summary(sections).encode()))
    for file, _ in files:
        file.parent.mkdir(parents=True, exist_ok=True)
    write_together(files)
    return [file for file, _ in files], len(sections)


def sections_of(paths: Sequence[Path]) -> list[Section]:
    """Return a section per folder of results, and one per group of trainings on the same games.

    Args:
        paths: folders of results, or folders that contain such folders at any depth.

    Raises:
        ValueError: for no folder, a folder without results, or a damaged file.
    """
    if not paths:
        raise ValueError(f"folders must name at least one with results of matchenv {COMMANDS}")
    results: dict[Path, Result] = {}
    runs: list[Path] = []
    for path in paths:
        results_below, runs_below = _results_below(path)
        if not results_below and not runs_below:
            raise ValueError(
                f"{path} contains no results; give the --out folder of matchenv {COMMANDS}"
            )
        for result in results_below:
            results[result.folder.resolve()] = result
        runs += runs_below
    # A training's final comparison is part of its section, unless its own folder was named.
    named = {path.resolve() for path in paths}
    for run in runs:
        comparison = (run / "comparison").resolve()
        if comparison not in named:
            results.pop(comparison, None)
    sections = _sections_with_distinct_titles(list(results.values()))
    if not runs:
        return sections
    training_sections = with_extra("matchenv.benchmarks.report.training", "training_sections")
    return [*training_sections(runs), *sections]


def _results_below(path: Path) -> tuple[list[Result], list[Path]]:
    """Return the results and the training runs in a folder and below."""
    results = []
    runs = []
    for folder in _folders(path):
        file = _result_file(folder)
        if file is not None:
            results.append(Result(folder, file))
        if (folder / CONFIG).is_file() and (folder / EVALUATIONS).is_file():
            runs.append(folder)
    return results, runs


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and all below it, each once, in alphabetical order; links are followed."""
    visited = set()
    for folder, subfolders, _ in os.walk(path, followlinks=True):
        real_path = os.path.realpath(folder)
        if real_path in visited:
            subfolders.clear()
            continue
        visited.add(real_path)
        subfolders.sort()
        yield Path(folder)


def _result_file(folder: Path) -> str | None:
    """Return the name of the file that identifies the results in a folder; None without results."""
    for name in SECTIONS:
        if _is_result(folder / name):
            return name
    return None


def _is_result(file: Path) -> bool:
    """Return whether a file is a result, perhaps a damaged one, and not of another program."""
    if not file.is_file():
        return False
    if file.suffix == ".csv":
        return (file.parent / "settings.json").is_file()
    try:
        content = parsed_json(file.read_bytes())
    except ValueError:
        return True
    return isinstance(content, dict) and CHECKSUM in content


def _sections_with_distinct_titles(results: Sequence[Result]) -> list[Section]:
    """Return the section of each result; equal titles are followed by the folders."""
    sections = [_section(result) for result in results]
    titles = [section.title for section in sections]
    for number, (title, result) in enumerate(zip(titles, results, strict=True)):
        if titles.count(title) > 1:
            sections[number] = sections[number]._replace(title=f"{title} ({result.folder})")
    return sections


def _section(result: Result) -> Section:
    file = result.folder / result.file
    try:
        return SECTIONS[result.file](content_of(file), result.folder)
    except (LookupError, AttributeError, TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(
            f"{result.folder} contains results that cannot be read, run its command again: "
            f"{type(error).__name__}: {error}"
        ) from None
