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

from tqdm import tqdm

from matchenv.benchmarks.watch.stage import Stage, checked_width
from matchenv.envs.core.rendering import RENDER_FPS, Pixels, check_package
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import write_bytes

# Games or ticks in a second.
SPEEDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
FIRST_SPEED = SPEEDS.index(10)

# Commands by pygame's names of their keys.
KEYS = {
    "pause": ("space",),
    "step": ("right", "s"),
    "faster": ("up", "+", "=", "[+]"),
    "slower": ("down", "-", "[-]"),
    "next": ("n",),
    "quit": ("q", "escape"),
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

# A film of a whole episode has about this many pictures by default.
USUAL_PICTURES = 100
DEFAULT_RATE = 10
MOST_RATE = 50


def watch_live(
    stage: Stage, *, width: int | None = None, theme: str = "light", window: Any = None
) -> Stage:
    """Show policies until the window is closed or ``q`` is pressed.

    Args:
        stage: the policies.
        width: of the window, in pixels; None for one that suits the number of policies.
        theme: ``"light"`` or ``"dark"``.
        window: None to open one; for tests an object with its methods.

    Returns:
        The stage that was shown last.

    Raises:
        ValueError: for bad arguments.
        MissingRenderPackage: where pygame is not installed.
        OSError: where no window can be opened that is seen.
    """
    check_package("pygame", "a window")
    from matchenv.rendering.canvas import THEMES, Window

    width = checked_width(width, len(stage.policies))
    theme = as_choice("theme", theme, THEMES)
    window = Window("matchenv watch") if window is None else window
    keys = f"space pause · → one {stage.unit} · ↑ faster · ↓ slower · n next instance · q quit"
    paused, speed = False, FIRST_SPEED
    try:
        while True:
            units, rate = pace(SPEEDS[speed])
            now = "paused" if paused else f"{SPEEDS[speed]:,} {stage.unit}s/s"
            footer = f"instance {stage.episode} · {'the end' if stage.is_over else now}"
            # While nothing moves, fast enough to answer keys.
            rate = RENDER_FPS if paused or stage.is_over else rate
            moved = False
            for command in commands(window.show(stage.picture(width, theme, (keys, footer)), rate)):
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
                    speed += 1 if command == "faster" else -1
                    speed = min(max(speed, 0), len(SPEEDS) - 1)
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
    import pygame

    meaning = {key: command for command, keys in KEYS.items() for key in keys}
    pressed = [
        "quit" if event.type == pygame.QUIT else meaning.get(pygame.key.name(event.key), "")
        for event in events
        if event.type in (pygame.QUIT, pygame.KEYDOWN)
    ]
    return [command for command in pressed if command]


def checked_film(out: Path) -> Path:
    """Return ``out`` if a film can be written there.

    Raises:
        ValueError: for another ending than those of ``FORMATS``, or a folder that does not exist.
        MissingRenderPackage: if the package that writes it is not installed.
    """
    path = Path(out)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"out must end in {', '.join(FORMATS)}, got {str(out)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"out must be in a folder that exists, got {str(out)!r}")
    if path.is_dir():
        raise ValueError(f"out must be a file, {str(out)!r} is a folder")
    check_package(
        "imageio_ffmpeg" if path.suffix.lower() in FILMS else "pygame", f"out={path.name}"
    )
    return path


def write_film(
    stage: Stage,
    out: Path,
    *,
    width: int | None = None,
    until: int | None = None,
    every: int | None = None,
    rate: int = DEFAULT_RATE,
    theme: str = "light",
    quiet: bool = False,
) -> int:
    """Play an episode and write it as a film, or its last moment as a picture.

    Args:
        stage: the policies.
        out: ends in .gif, .mp4 or .png.
        width: of a picture, in pixels; None for one that suits the number of policies.
        until: the last game or tick that is shown; None for the whole episode.
        every: games or ticks between pictures; None for about a hundred pictures. The first and
            the last moment are always shown.
        rate: pictures in a second.
        theme: ``"light"`` or ``"dark"``.
        quiet: show no progress bar.

    Returns:
        The number of pictures in the file.

    Raises:
        ValueError: for bad arguments, before anything is played.
        OSError: if the file cannot be written.
    """
    path = checked_film(out)
    from matchenv.rendering.canvas import THEMES

    width = checked_width(width, len(stage.policies))
    theme = as_choice("theme", theme, THEMES)
    rate = as_integer("rate", rate, 1, MOST_RATE)
    last = stage.horizon if until is None else as_integer("games", until, 1, stage.horizon)
    usual = max(1, last // USUAL_PICTURES)
    every = usual if every is None else as_integer("every", every, 1, stage.horizon)
    kind = path.suffix.lower()
    moments = [last] if kind == ".png" else [*range(0, last, every), last]

    def pictures() -> Iterator[Pixels]:
        for moment in tqdm(moments, desc="pictures", leave=False, disable=quiet or None):
            stage.step(moment - stage.clock)
            yield stage.picture(width, theme)

    write_bytes(path, _png(next(pictures())) if kind == ".png" else _film(kind, pictures(), rate))
    return len(moments)


def _png(picture: Pixels) -> bytes:
    import pygame

    written = io.BytesIO()
    surface = pygame.image.frombuffer(picture.data, picture.shape[1::-1], "RGB")
    pygame.image.save(surface, written, "picture.png")
    return written.getvalue()


def _film(kind: str, pictures: Iterator[Pixels], rate: int) -> bytes:
    from imageio_ffmpeg import write_frames

    first = next(pictures)
    codec, pixels, arguments = FILMS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"film{kind}")
        film = write_frames(
            path,
            first.shape[1::-1],
            fps=rate,
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
