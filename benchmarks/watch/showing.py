"""Policies side by side in a window, with keys, or in a file: a film, or its last picture."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pygame
from imageio_ffmpeg import write_frames
from tqdm import tqdm

from matchenv.benchmarks.watch.stage import Stage
from matchenv.envs.core.rendering import RENDER_FPS, Pixels
from matchenv.rendering.canvas import Window
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import write_bytes

# Games or ticks in a second.
FIRST_SPEED, FASTEST = 10, 640

# Commands by pygame's names of keys.
KEYS = {
    "space": "pause",
    "right": "step",
    "up": "faster",
    "down": "slower",
    "n": "next",
    "q": "quit",
    "escape": "quit",
}

# The last picture stays for this many seconds.
LAST_SECONDS = 3

# How ffmpeg writes films: codec, format of pixels and further arguments. The colours of a .gif are
# chosen from all its pictures, and are not mixed.
FILMS = {
    ".gif": ("gif", "pal8", ["-final_delay", f"{100 * LAST_SECONDS}", "-vf",
                             "split[a][b];[a]palettegen=stats_mode=diff[p];"
                             "[b][p]paletteuse=dither=none"]),
    ".mp4": ("libx264", "yuv420p", ["-vf", f"tpad=stop_mode=clone:stop_duration={LAST_SECONDS}",
                                    "-crf", "20", "-preset", "medium", "-tune", "animation"]),
}  # fmt: skip
FORMATS = (*FILMS, ".png")

# A film of a whole episode has about this many pictures by default, and so many in a second.
USUAL_PICTURES = 100
RATE = 10


def watch_live(stage: Stage, window: Any = None) -> Stage:
    """Show policies until the window is closed or ``q`` is pressed.

    Args:
        stage: the policies.
        window: None to open one; for tests an object with its methods.

    Returns:
        The stage that was shown last.

    Raises:
        OSError: where no window can be opened that is seen.
    """
    window = Window("matchenv watch") if window is None else window
    keys = f"space pause · → one {stage.unit} · ↑ faster · ↓ slower · n next instance · q quit"
    paused, speed = False, FIRST_SPEED
    try:
        while True:
            units, rate = pace(speed)
            now = "paused" if paused else f"{speed:,} {stage.unit}s/s"
            footer = f"instance {stage.episode} · {'the end' if stage.is_over else now}"
            # While nothing moves, fast enough to answer keys.
            rate = RENDER_FPS if paused or stage.is_over else rate
            moved = False
            for command in commands(window.show(stage.picture((keys, footer)), rate)):
                if command == "quit":
                    return stage
                if command == "pause":
                    paused = not paused
                elif command == "step":
                    paused = moved = True
                    stage.step()
                elif command == "next":
                    stage, moved = replace(stage, episode=stage.episode + 1), True
                else:
                    speed = min(2 * speed, FASTEST) if command == "faster" else max(1, speed // 2)
            if not paused and not moved:
                stage.step(units)
    finally:
        window.close()


def pace(units_per_second: int) -> tuple[int, float]:
    """Return the games or ticks between pictures, and pictures in a second, for a speed."""
    units = math.ceil(units_per_second / RENDER_FPS)
    return units, units_per_second / units


def commands(events: Iterable[Any]) -> list[str]:
    """Return the commands of pygame's events, by their names in ``KEYS``."""
    pressed = (
        "quit" if event.type == pygame.QUIT else KEYS.get(pygame.key.name(event.key))
        for event in events
        if event.type in (pygame.QUIT, pygame.KEYDOWN)
    )
    return [command for command in pressed if command]


def write_film(
    stage: Stage,
    out: Path,
    *,
    until: int | None = None,
    every: int | None = None,
    quiet: bool = False,
) -> int:
    """Play an episode and write it as a film, or its last moment as a picture.

    Args:
        stage: the policies.
        out: ends in .gif, .mp4 or .png.
        until: the last game or tick that is shown; None for the whole episode.
        every: games or ticks between pictures; None for about a hundred pictures. The first and
            the last moment are always shown.
        quiet: show no progress bar.

    Returns:
        The number of pictures in the file.

    Raises:
        ValueError: for bad arguments, before anything is played.
        OSError: if the file cannot be written.
    """
    kind = out.suffix.lower()
    if kind not in FORMATS:
        raise ValueError(f"out must end in {', '.join(FORMATS)}, got {str(out)!r}")
    if not out.parent.is_dir():
        raise ValueError(f"out must be in a folder that exists, got {str(out)!r}")
    if out.is_dir():
        raise ValueError(f"out must be a file, {str(out)!r} is a folder")
    last = stage.horizon if until is None else as_integer("games", until, 1, stage.horizon)
    usual = max(1, last // USUAL_PICTURES)
    every = usual if every is None else as_integer("every", every, 1, stage.horizon)
    moments = [last] if kind == ".png" else [*range(0, last, every), last]

    def pictures() -> Iterator[Pixels]:
        for moment in tqdm(moments, desc="pictures", leave=False, disable=quiet or None):
            stage.step(moment - stage.clock)
            yield stage.picture()

    write_bytes(out, _png(next(pictures())) if kind == ".png" else _film(kind, pictures()))
    return len(moments)


def _png(picture: Pixels) -> bytes:
    written = io.BytesIO()
    surface = pygame.image.frombuffer(picture.data, picture.shape[1::-1], "RGB")
    pygame.image.save(surface, written, "picture.png")
    return written.getvalue()


def _film(kind: str, pictures: Iterator[Pixels]) -> bytes:
    first = next(pictures)
    codec, pixels, arguments = FILMS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"film{kind}")
        film = write_frames(
            path,
            first.shape[1::-1],
            fps=RATE,
            codec=codec,
            pix_fmt_out=pixels,
            macro_block_size=2,
            quality=None,
            ffmpeg_log_level="error",
            output_params=arguments,
        )
        film.send(None)
        for picture in chain([first], pictures):
            film.send(picture)
        film.close()
        return path.read_bytes()
