"""Results of several commands in one page that works offline: ``matchenv report``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from matchenv.agents import with_extra
from matchenv.agents.learned_names import CONFIG, EVALUATIONS
from matchenv.benchmarks.report.comparisons import (
    bound_section,
    compare_section,
    json_of,
    optimum_section,
    rows_of,
    study_section,
    tune_section,
)
from matchenv.benchmarks.report.judge import judge_section
from matchenv.benchmarks.report.page import Section, latex_summary, page_text
from matchenv.benchmarks.report.ranking import rank_section
from matchenv.benchmarks.report.replay import replay_section
from matchenv.runtime.files import CHECKSUM, parsed_json, write_together
from matchenv.runtime.object_spec import only_installed_code

# The result file that identifies a folder, and the reader of its content and of the folder; the
# first match counts.
READERS: dict[str, Callable[[Any, Path], Section]] = {
    "judge.json": lambda content, folder: judge_section(content, folder.name),
    "verdict.json": study_section,
    "tuning.csv": tune_section,
    "bound.json": bound_section,
    "optimum.json": optimum_section,
    "comparison.json": compare_section,
    "rank.json": lambda content, folder: rank_section(content, folder.name),
    "report.json": lambda content, folder: replay_section(content, folder.name),
}
COMMANDS = "train, compare, study, tune, limits, replay, rank or judge"


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
    with only_installed_code(allow_code=allow_code):
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
    found: dict[Path, tuple[Path, str]] = {}
    runs: list[Path] = []
    for path in paths:
        folders = list(_folders(path))
        here = [(folder, name) for folder in folders if (name := _file(folder))]
        trained = [folder for folder in folders
                   if (folder / CONFIG).is_file() and (folder / EVALUATIONS).is_file()]  # fmt: skip
        if not here and not trained:
            raise ValueError(
                f"{path} contains no results; give the --out folder of matchenv {COMMANDS}"
            )
        runs += trained
        found |= {folder.resolve(): (folder, name) for folder, name in here}
    # A training's final comparison is part of its section, unless its own folder was named.
    hidden = {(run / "comparison").resolve() for run in runs} - {path.resolve() for path in paths}
    others = [each for place, each in found.items() if place not in hidden]
    sections = [_section(*each) for each in others]
    titles = [section.title for section in sections]
    named = [
        section._replace(title=f"{section.title} ({folder})")
        if titles.count(section.title) > 1
        else section
        for (folder, _), section in zip(others, sections, strict=True)
    ]
    if not runs:
        return named
    return [*with_extra("matchenv.benchmarks.report.training", "training_sections")(runs), *named]


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and all below it, each once, in alphabetical order; links are followed."""
    seen = set()
    for folder, below, _ in os.walk(path, followlinks=True):
        place = os.path.realpath(folder)
        below[:] = [] if place in seen else sorted(below)
        if place not in seen:
            seen.add(place)
            yield Path(folder)


def _file(folder: Path) -> str | None:
    return next((name for name in READERS if _is_result(folder / name)), None)


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


def _section(folder: Path, name: str) -> Section:
    try:
        content = (json_of if name.endswith(".json") else rows_of)(folder / name)
        return READERS[name](content, folder)
    except (LookupError, AttributeError, TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(
            f"{folder} contains results that cannot be read, run its command again: "
            f"{type(error).__name__}: {error}"
        ) from None
