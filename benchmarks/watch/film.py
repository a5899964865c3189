"""Policies side by side in a file: a film as .gif or .mp4, or its last picture as .png."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from matchenv.benchmarks.watch.stage import Stage, checked_width
from matchenv.envs.core.rendering import Pixels, check_package
from matchenv.rendering.canvas import THEMES, Theme, mixed
from matchenv.rendering.parts import FILL
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import write_bytes

# Packages that write files of each kind.
FORMATS = {".gif": "PIL", ".mp4": "moviepy", ".png": "PIL"}

# A film of a whole episode has about this many pictures by default.
USUAL_PICTURES = 100
DEFAULT_RATE = 10
MOST_RATE = 50

# The last picture stays for this many seconds.
LAST_SECONDS = 3.0

# Shades of each colour in a .gif, which can have 256 colours in all.
SHADES = 20


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
    check_package(FORMATS[path.suffix.lower()], f"out={path.name}")
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

    if kind == ".gif":
        content = _gif(pictures(), palette(THEMES[theme]), len(moments), rate)
    elif kind == ".mp4":
        content = _mp4(pictures(), rate)
    else:
        content = _png(next(pictures()))
    write_bytes(path, content)
    return len(moments)


def palette(theme: Theme) -> Pixels:
    """Return the colours of a .gif, shape (P, 3): the theme's, in shades towards the background.

    Also those of areas that lie on others.
    """
    single = [theme.ink, theme.muted, theme.grid, theme.player, theme.opponent, theme.others,
              theme.truth, *theme.lines]  # fmt: skip
    found = [
        mixed(each, theme.background, n / SHADES) for each in single for n in range(SHADES + 1)
    ]
    for strong in (theme.player, theme.opponent):
        crowd = [mixed(theme.others, theme.background, n / SHADES) for n in range(SHADES)]
        found += [mixed(strong, each, FILL) for each in crowd]
    return np.array(list(dict.fromkeys(found)), dtype=np.uint8)


def nearest_colours(picture: Pixels, colours: Pixels) -> Pixels:
    """Return the place of every pixel's nearest colour, shape (height, width).

    Pillow's own search is not exact: it makes a white background grey.

    Args:
        picture: shape (height, width, 3).
        colours: shape (P, 3).
    """
    codes = picture.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.int32)
    met, place = np.unique(codes, return_inverse=True)
    different = np.stack((met >> 16, (met >> 8) & 255, met & 255), axis=-1)
    apart = np.square(different[:, None] - colours.astype(np.int32)).sum(axis=2)
    return apart.argmin(axis=1)[place].reshape(codes.shape).astype(np.uint8)


def _gif(pictures: Iterator[Pixels], colours: Pixels, count: int, rate: int) -> bytes:
    from PIL import Image

    def frames() -> Iterator[Image.Image]:
        for picture in pictures:
            places = nearest_colours(picture, colours)
            frame = Image.frombytes("P", places.shape[::-1], places.tobytes())
            frame.putpalette(colours.tobytes())
            yield frame

    rest, written = frames(), io.BytesIO()
    durations = [round(1000 / rate)] * (count - 1) + [round(1000 * LAST_SECONDS)]
    options = {"save_all": True, "append_images": rest, "loop": 0, "optimize": True}
    next(rest).save(written, format="GIF", duration=durations, **options)
    return written.getvalue()


def _png(picture: Pixels) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(picture).save(written, format="PNG", optimize=True)
    return written.getvalue()


def _mp4(pictures: Iterator[Pixels], rate: int) -> bytes:
    from moviepy.video.io.ffmpeg_writer import FFMPEG_VideoWriter

    last = next(pictures)
    height, width, _ = last.shape
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        with FFMPEG_VideoWriter(str(path), (width, height), rate) as writer:
            writer.write_frame(last)
            for last in pictures:
                writer.write_frame(last)
            for _ in range(round(LAST_SECONDS * rate)):
                writer.write_frame(last)
        return path.read_bytes()
