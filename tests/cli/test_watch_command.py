"""``matchenv watch``: films, windows and signals."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pygame
import pytest
from PIL import Image, ImageSequence

SMALL = "--num-opponents 4 --horizon 6 --width 700"
DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "gallery.md").read_text().replace("\\\n", "")  # with commands on one line
DOCUMENTED = re.findall(r"matchenv (watch .*?) --out docs/(\S+)", GUIDE)


def test_a_film(typed: Any) -> None:
    look = "--hide-true-skill --theme dark --prior equal --out film.gif"
    ended = typed(f"watch {SMALL} --policy pe kg:multiplier=3 --rank 1 --every 2 {look}")
    assert ended.status == 0
    assert ended.out.startswith("film.gif: 4 pictures")
    with Image.open("film.gif") as film:
        pictures = {frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(film)}
        assert film.size[0] == 700
    assert len(pictures) == 4


def test_films_of_other_environments(typed: Any) -> None:
    more = "--horizon 6 --width 700 --out film.gif"
    queue = "--env MatchmakingQueue-v0 --policy fcfs kg --load thick --env-kwargs patience=5"
    assert typed(f"watch {queue} {more}").out.startswith("film.gif: 7 pictures")
    ranking = "--env Ranking-v0 --env-kwargs num_items=4"
    ended = typed(f"watch {ranking} {more} --quiet")
    assert ended.status == 0
    assert ended.out == ""


def test_a_window(typed: Any) -> None:
    pygame.display.init()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert typed(f"watch {SMALL} --policy kg:multiplier={{3,5}}").status == 0
    assert not pygame.display.get_init()


def last_frame(path: Path) -> Any:
    """Return the pixels of a picture, or of the last frame of a film."""
    with Image.open(path) as image:
        image.seek(getattr(image, "n_frames", 1) - 1)
        return np.asarray(image.convert("RGB"), dtype=int)


@pytest.mark.parametrize(("command", "file"), DOCUMENTED)
def test_the_documented_commands_draw_the_documents_pictures(
    command: str, file: str, typed: Any
) -> None:
    assert typed([*command.split(), "--out", "last.png"]).status == 0
    differences = np.abs(last_frame(Path("last.png")) - last_frame(DOCS / file))
    # A film's palette is limited; a changed digit is some 100 pixels.
    assert (differences.max(axis=2) > 100).sum() < 20


STOPPED = """
import os, sys
from matchenv.benchmarks.watch import Stage
draw = Stage.picture
pictures = []
number = int(sys.argv.pop())
def picture(*arguments):
    pictures.append(draw(*arguments))
    if len(pictures) == 3:
        os.kill(os.getpid(), number)
    return pictures[-1]
Stage.picture = picture
from matchenv.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "film"),
    [
        (signal.SIGTERM, "film.gif"),
        pytest.param(signal.SIGINT, "film.mp4", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, None, marks=pytest.mark.slow),
    ],
)
def test_signals_end_it(number: signal.Signals, film: str | None, tmp_path: Path) -> None:
    """Although SDL and ffmpeg handle signals too; no part of a film stays."""
    temporary = tmp_path / "tmp"
    folder = tmp_path / "here"
    temporary.mkdir()
    folder.mkdir()
    command = f"watch {SMALL} --policy pe random --quiet"
    if film is not None:
        command += f" --out {film}"
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED, *command.split(), str(int(number))],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 128 + number, ended.stderr
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    if lines[0].startswith("matchenv: compiling"):
        del lines[0]
    assert len(lines) == 1, ended.stderr
    assert list(temporary.iterdir()) == []
    assert list(folder.iterdir()) == []
