"""Policies side by side in a file: a film as .gif or .mp4, the last moment alone as .png."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.benchmarks.watch.picture import checked_width, draw_side_by_side
from matchenv.benchmarks.watch.stage import Stage
from matchenv.rendering.modes import check_package
from matchenv.rendering.scene import Scene
from matchenv.rendering.theme import THEMES, Theme
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import write_bytes

Pixels = NDArray[np.uint8]

# What writes a file of each kind.
FORMATS = {".gif": "PIL", ".mp4": "imageio_ffmpeg", ".png": "PIL"}

# A film of a whole episode has about so many pictures unless told otherwise.
USUAL_PICTURES = 100
DEFAULT_RATE = 10
MOST_RATE = 50

# The last picture stays for so many seconds.
LAST_SECONDS = 3.0

# One less than a .gif can have: the last means "as before", which keeps the file small.
GIF_COLOURS = 255


def checked_film(out: Path) -> Path:
    """``out`` if a film can be written there.

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
    check_package(FORMATS[path.suffix.lower()], f"out={path.name}")
    return path


def write_film(
    stage: Stage,
    out: Path,
    *,
    width: int | None = None,
    games: int | None = None,
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
        games: the last game that is shown; None for the whole episode.
        every: games from one picture to the next; None for about a hundred pictures. The first
            and the last moment are always shown.
        rate: pictures in a second.
        theme: ``"light"`` or ``"dark"``.
        quiet: no progress bar.

    Returns:
        How many pictures the file has.

    Raises:
        ValueError: for bad arguments, before anything is played.
        OSError: if the file cannot be written.
    """
    path = checked_film(out)
    width = checked_width(width, len(stage.policies))
    colours = THEMES[as_choice("theme", theme, THEMES)]
    rate = as_integer("rate", rate, 1, MOST_RATE)
    horizon = stage.settings.horizon
    last = horizon if games is None else as_integer("games", games, 1, horizon)
    usual = max(1, last // USUAL_PICTURES)
    every = usual if every is None else as_integer("every", every, 1, horizon)
    is_film = path.suffix.lower() != ".png"
    moments = [stage.scenes()]
    with tqdm(total=last, desc="games", leave=False, disable=True if quiet else None) as bar:
        while (left := last - stage.games_played) > 0:
            stage.step(min(every, left))
            bar.update(min(every, left))
            moments = [*moments, stage.scenes()] if is_film else [stage.scenes()]
    pictures = _pictures(moments, width, colours, quiet)
    if path.suffix.lower() == ".gif":
        content = _gif(pictures, _palette(moments, width, colours), len(moments), rate)
    elif is_film:
        content = _mp4(pictures, rate)
    else:
        content = _png(next(pictures))
    write_bytes(path, content)
    return len(moments)


def _pictures(
    moments: Sequence[list[Scene]], width: int, theme: Theme, quiet: bool
) -> Iterator[Pixels]:
    named = {"desc": "pictures", "leave": False, "disable": True if quiet else None}
    for scenes in tqdm(moments, **named):
        yield draw_side_by_side(scenes, width, theme)


def _palette(moments: Sequence[list[Scene]], width: int, theme: Theme) -> Pixels:
    """The theme's colours and those of the first, middle and last picture, shape (P, 3)."""
    from PIL import Image

    some = [moments[place] for place in (0, len(moments) // 2, -1)]
    samples = np.concatenate([draw_side_by_side(scenes, width, theme) for scenes in some])
    own = np.array(theme.colours, dtype=np.uint8)
    rest = Image.fromarray(samples).quantize(GIF_COLOURS - len(own), dither=Image.Dither.NONE)
    return np.concatenate((own, np.array(rest.getpalette(), dtype=np.uint8).reshape(-1, 3)))


def nearest_colours(picture: Pixels, palette: Pixels, known: NDArray[np.int16]) -> Pixels:
    """The place in the palette of every pixel's nearest colour, shape (height, width).

    Pillow's own search is not exact: it makes a white background grey.

    Args:
        picture: shape (height, width, 3).
        palette: shape (P, 3).
        known: shape (2^24,), places found before, -1 for colours not met yet; added to.
    """
    red, green, blue = np.moveaxis(picture.astype(np.int32), -1, 0)
    code = (red << 16) | (green << 8) | blue
    new = np.unique(code[known[code] < 0])
    colours = np.stack((new >> 16, (new >> 8) & 255, new & 255), axis=-1)
    apart = np.square(colours[:, None] - palette.astype(np.int32)).sum(axis=2)
    known[new] = apart.argmin(axis=1)
    return known[code].astype(np.uint8)


def _gif(pictures: Iterator[Pixels], palette: Pixels, count: int, rate: int) -> bytes:
    from PIL import Image

    known = np.full(2**24, -1, dtype=np.int16)

    def frames() -> Iterator[Image.Image]:
        for picture in pictures:
            places = nearest_colours(picture, palette, known)
            frame = Image.frombytes("P", places.shape[::-1], places.tobytes())
            frame.putpalette(palette.tobytes())
            yield frame

    rest = frames()
    durations = [round(1000 / rate)] * (count - 1) + [round(1000 * LAST_SECONDS)]
    written = io.BytesIO()
    next(rest).save(
        written,
        format="GIF",
        save_all=True,
        append_images=rest,
        duration=durations,
        loop=0,
        optimize=True,
    )
    return written.getvalue()


def _png(picture: Pixels) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(picture).save(written, format="PNG", optimize=True)
    return written.getvalue()


def _mp4(pictures: Iterator[Pixels], rate: int) -> bytes:
    import imageio_ffmpeg

    first = next(pictures)
    height, width, _ = first.shape
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        # A film that is interrupted ends within a picture, of which ffmpeg would warn.
        writer = imageio_ffmpeg.write_frames(
            str(path),
            (width, height),
            fps=rate,
            macro_block_size=2,
            quality=7,
            ffmpeg_log_level="error",
        )
        writer.send(None)
        try:
            last = first
            writer.send(np.ascontiguousarray(first).tobytes())
            for last in pictures:
                writer.send(np.ascontiguousarray(last).tobytes())
            for _ in range(round(LAST_SECONDS * rate)):
                writer.send(np.ascontiguousarray(last).tobytes())
        finally:
            writer.close()
        return path.read_bytes()
