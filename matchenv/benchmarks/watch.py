"""Watch policies side by side, in the same instance and with the same random numbers.

Pictures are shown in a window with keyboard control, or written to a film or a picture file. Needs
the extra ``render``.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from imageio_ffmpeg import write_frames
from tqdm import tqdm

from matchenv.benchmarks.performer import Performer, performer_of
from matchenv.envs.core.rendering import RENDER_FPS, Pixels
from matchenv.envs.core.settings import Options
from matchenv.evaluation.estimates import CONFIDENCE, Estimate, paired_difference
from matchenv.evaluation.rollout import one_thread
from matchenv.rendering.canvas import THEMES
from matchenv.rendering.chart import tick_step
from matchenv.rendering.picture import GAP, LEAST_WIDTH, columns_for, sheet
from matchenv.rendering.renderer import SHARED_WIDTH, SINGLE_WIDTH
from matchenv.rendering.scene import Chart, Scene, horizontal_line, number_text, over_time
from matchenv.rendering.window import Window
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import write_bytes

MOST_POLICIES = 6
MOST_WIDTH = 7680
# Height of a scene by its width: of several in one row, of one, and in two rows.
ROW_SHAPE = 1.1
SINGLE_SHAPE = 0.9
ROWS_SHAPE = 0.75
# Colours of the policies that are compared with the first one.
LINE_COLOURS = ("ink", "second", "third", "fourth", "fifth")
# Games or ticks per second in a window.
FIRST_SPEED = 10
FASTEST = 640
LAST_SECONDS = 3  # duration of the last frame of a film
USUAL_FRAMES = 100  # default number of frames of a film
# Speed of a film while policies differ, by that while they do not, and how long before and after a
# difference it is slow, as a share of the film.
SLOWNESS = 0.1
SLOW_SHARE = 0.02
# Differences of running totals below this are rounding errors.
LEAST_DIFFERENCE = 1e-9
# Episodes of the mean differences that are shown beside those of the one episode.
USUAL_EPISODES = 100
RATE = 10  # frames per second of a film
MOST_CHOICES = 1000  # frames of choices at the end of a film


class Film(NamedTuple):
    """How ffmpeg writes a film or a picture."""

    codec: str
    pixel_format: str
    arguments: list[str]  # further ones


# The palette of a .gif is computed from all frames, without dithering.
GIF_PALETTE = "split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse=dither=none"
LAST_FRAME = f"tpad=stop_mode=clone:stop_duration={LAST_SECONDS}"
FILMS = {
    ".gif": Film("gif", "pal8", ["-final_delay", f"{100 * LAST_SECONDS}", "-vf", GIF_PALETTE]),
    ".mp4": Film(
        "libx264",
        "yuv420p",
        ["-vf", LAST_FRAME, "-crf", "20", "-preset", "medium", "-tune", "animation"],
    ),
    ".png": Film("png", "rgb24", ["-update", "1"]),
}


@dataclass
class Stage:
    """An instance of an environment, and policies that play it with the same random numbers.

    Args:
        policies: policy names, see ``policy_named``; at most ``MOST_POLICIES``.
        settings: settings of the environment; beliefs and rewards are those of a comparison.
        seed: random seed.
        episode: index of the instance, the same as in a comparison with this seed.
        show_true_skill: show true skills and what follows from them.
        width: largest width of pictures in pixels; None for a default by the number of policies.
        theme: ``"light"`` or ``"dark"``.
        episodes: number of the first episodes whose mean differences are shown beside those of
            this one; at least 2.
        means: these differences, of the other policies to the first; None to compute them.

    Raises:
        ValueError: for a bad value, and for no, too many, duplicate, unknown or unsuitable
            policies.
    """

    policies: Sequence[str]
    settings: Options
    seed: int = 0
    episode: int = 0
    show_true_skill: bool = True
    width: int | None = None
    theme: str = "light"
    episodes: int = USUAL_EPISODES
    means: Sequence[Estimate] | None = None

    def __post_init__(self) -> None:
        count = len(self.policies)
        if not 1 <= count <= MOST_POLICIES or len(set(self.policies)) < count:
            raise ValueError(
                f"policy must name 1 to {MOST_POLICIES} distinct policies, "
                f"got {' '.join(self.policies) or 'none'}"
            )
        as_integer("seed", self.seed, 0)
        as_integer("episode", self.episode, 0)
        as_integer("episodes", self.episodes, 2)
        as_choice("theme", self.theme, THEMES)
        self.scene_width = self._scene_width()
        self.clock = 0
        self.horizon: int = self.settings.horizon  # type: ignore[attr-defined]
        self.performers = [self._performer(name, self.episode, 1) for name in self.policies]
        self.unit = self.performers[0].renderer.unit
        self.end_at(self.horizon)

    def _scene_width(self) -> int:
        columns = columns_for(len(self.policies))
        width = columns * SHARED_WIDTH
        if self.width is not None:
            least = columns * (LEAST_WIDTH + GAP) - GAP
            width = as_integer("width", self.width, least, MOST_WIDTH)
        elif len(self.policies) == 1:
            width = SINGLE_WIDTH
        width -= width % 2  # pictures have even sizes
        return (width + GAP) // columns - GAP

    def end_at(self, unit: int) -> None:
        """End the axes over the episode at a game or tick."""
        self.end = unit
        for performer in self.performers:
            performer.renderer.end = unit

    def _performer(self, name: str, first: int, count: int) -> Performer:
        """Return a policy in ``count`` episodes from index ``first`` on."""
        episodes = range(first, first + count)
        return performer_of(
            name, self.settings, self.seed, episodes, show_true_skill=self.show_true_skill
        )

    def step(self, count: int = 1) -> None:
        """Let every policy play ``count`` games or ticks, or all that remain."""
        self.clock = min(self.clock + count, self.horizon)
        with one_thread():
            for episodes, decisions, renderer in self.performers:
                while episodes.running[0] and renderer.clock(episodes.state, 0) < self.clock:
                    decisions.step(episodes)

    def choose(self) -> None:
        """Let every policy make one choice, of which a tick of a queue has several."""
        clocks = []
        with one_thread():
            for episodes, decisions, renderer in self.performers:
                if episodes.running[0]:
                    decisions.step(episodes)
                clocks.append(renderer.clock(episodes.state, 0))
        self.clock = max(self.clock, min(clocks))
        self.end_at(max(self.end, self.clock))

    def totals(self) -> tuple[str, list[Floats]]:
        """Return the name of the compared measure and each policy's running total of it."""
        totals = [performer.renderer.total(0) for performer in self.performers]
        return totals[0][0], [values[: self.clock] for _, values in totals]

    def mean_differences(self) -> Sequence[Estimate]:
        """Return the mean differences of totals to the first policy, over ``episodes`` episodes."""
        if len(self.policies) == 1:
            return []
        if self.means is None:
            totals = [self._totals_of_many(name) for name in self.policies]
            self.means = [paired_difference(other, totals[0]) for other in totals[1:]]
        return self.means

    def _totals_of_many(self, name: str) -> Floats:
        """Return a policy's total in each of the first episodes, shape (episodes,)."""
        episodes, decisions, renderer = self._performer(name, 0, self.episodes)
        with one_thread():
            while episodes.running.any():
                decisions.step(episodes)
        totals = []
        for row in range(self.episodes):
            _, running_total = renderer.total(row)
            totals.append(running_total[-1])
        return np.array(totals)

    @property
    def caption(self) -> tuple[str, str]:
        """Texts below a film: what it shows, and the episode."""
        renderer = self.performers[0].renderer
        return renderer.caption, f"seed {self.seed}, episode {self.episode}"

    def picture(self, footer: tuple[str, str] | None = None) -> Pixels:
        """Draw all policies on one skill axis, above the differences between their totals.

        Args:
            footer: texts at the bottom left and right; None for no footer.

        Returns:
            uint8, shape (height, width, 3), both even.
        """
        low = math.inf
        high = -math.inf
        for performer in self.performers:
            own_low, own_high = performer.renderer.limits(performer.episodes.state, 0)
            low = min(low, own_low)
            high = max(high, own_high)
        scenes = []
        for name, performer in zip(self.policies, self.performers, strict=True):
            state = performer.episodes.state
            scenes.append(performer.renderer.titled(state, 0, name, (low, high)))
        scenes = _on_one_axis(scenes)
        shape = ROW_SHAPE
        if len(scenes) == 1:
            shape = SINGLE_SHAPE
        elif len(scenes) > 3:
            shape = ROWS_SHAPE
        chart = None
        if len(scenes) > 1:
            chart = self.differences()
        return sheet(scenes, self.scene_width, shape, self.theme, chart, footer)

    def differences(self) -> Chart:
        """Return the chart of the other policies' running totals minus the first policy's."""
        measure, (first, *others) = self.totals()
        curves = [horizontal_line(0.0, (1.0, self.end), "muted")]
        titles = []
        low = -0.5
        high = 0.5
        for policy, total, mean, colour in zip(
            self.policies[1:], others, self.mean_differences(), LINE_COLOURS, strict=False
        ):
            difference = total - first
            curves.append(over_time(difference, colour))
            of_many = f"{number_text(mean.mean, 2)} ± {number_text(mean.half_width, 2)}"
            titles.append((f"{policy} (mean {of_many})", colour))
            if difference.size > 0:
                low = min(low, float(difference.min()))
                high = max(high, float(difference.max()))
        heading = (
            f"One episode: {measure}, minus that of {self.policies[0]} (mean of "
            f"{self.episodes:,} whole episodes, with {100 * CONFIDENCE:.0f} % interval)"
        )
        step = tick_step(high - low, 4)  # the limits are multiples of it, so they seldom move
        return Chart(
            x=(0.0, self.end),
            y=(step * math.floor(low / step), step * math.ceil(high / step)),
            curves=curves,
            titles=titles,
            unit=self.unit,
            heading=heading,
        )


def _on_one_axis(scenes: Sequence[Scene]) -> list[Scene]:
    """Give the left charts one vertical axis if they have ticks of their own."""
    charts = [scene.charts[0] for scene in scenes]
    if not all(chart.y_ticks for chart in charts):
        return list(scenes)
    lowest = min(charts, key=lambda chart: chart.y[0])
    highest = max(charts, key=lambda chart: chart.y[1])
    limits = (lowest.y[0], highest.y[1])
    ticks = [max(highest.y_ticks), min(lowest.y_ticks)]
    aligned = []
    for scene, chart in zip(scenes, charts, strict=True):
        chart = replace(chart, y=limits, y_ticks=ticks)
        aligned.append(scene._replace(charts=(chart, scene.charts[1])))
    return aligned


def watch_live(stage: Stage, window: Any = None) -> Stage:
    """Show policies until the window is closed or ``q`` is pressed.

    Args:
        stage: the policies.
        window: a replacement for ``Window``, for tests; None to open one.

    Returns:
        The stage shown last.

    Raises:
        OSError: if no visible window can be opened.
    """
    if window is None:
        window = Window("matchenv watch")
    one = f"→ one {stage.unit}"
    if stage.unit == "tick":
        one += " · c one choice"
    keys = f"space pause · {one} · ↑ faster · ↓ slower · n next instance · q quit"
    paused = False
    speed = FIRST_SPEED
    try:
        while True:
            units = math.ceil(speed / RENDER_FPS)
            rate = speed / units
            status = f"{speed:,} {stage.unit}s/s"
            if paused or stage.clock == stage.horizon:
                rate = RENDER_FPS  # a still picture is redrawn at the full rate, to respond to keys
                status = "paused"
            if stage.clock == stage.horizon:
                status = "the end"
            picture = stage.picture((keys, f"instance {stage.episode} · {status}"))
            for key in window.show(picture, rate):
                match key:
                    case "q" | "escape" | "close":
                        return stage
                    case "space":
                        paused = not paused
                    case "right":
                        paused = True
                        units = 0
                        stage.step()
                    case "c":
                        paused = True
                        units = 0
                        stage.choose()
                    case "n":
                        stage = replace(stage, episode=stage.episode + 1)
                        units = 0
                    case "up":
                        speed = min(2 * speed, FASTEST)
                    case "down":
                        speed = max(1, speed // 2)
            if not paused:
                stage.step(units)
    finally:
        window.close()


def write_film(
    stage: Stage,
    out: Path,
    *,
    until: int | None = None,
    every: int | None = None,
    choices: int = 0,
    quiet: bool = False,
) -> int:
    """Play an episode and write it as a film, or its last frame as a picture.

    Args:
        stage: the policies.
        out: file that ends in .gif, .mp4 or .png.
        until: last game or tick; None for the whole episode.
        every: games or ticks between frames; None for about 100 frames, more of them while the
            policies differ. The first and the last frame are always included.
        choices: further choices after the last game or tick, with a frame each, for example to see
            how a lobby forms.
        quiet: show no progress bar.

    Returns:
        The number of frames in the file.

    Raises:
        ValueError: for bad arguments, before anything is played.
        OSError: if the file cannot be written.
    """
    suffix = out.suffix.lower()
    if suffix not in FILMS:
        raise ValueError(f"out must end in {', '.join(FILMS)}, got {str(out)!r}")
    if not out.parent.is_dir() or out.is_dir():
        raise ValueError(f"out must be a file in an existing folder, got {str(out)!r}")
    last = stage.horizon
    if until is not None:
        last = as_integer("games", until, 1, stage.horizon)
    if every is not None:
        as_integer("every", every, 1, stage.horizon)
    as_integer("choices", choices, 0, MOST_CHOICES)
    stage.end_at(last)
    if suffix == ".png":
        moments = [last]
    elif every is None:
        moments = moments_of(stage, last)
    else:
        moments = [*range(0, last, every), last]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"film{suffix}")
        pictures = _pictures(stage, moments, choices, last_alone=suffix == ".png")
        count = len(moments)
        if suffix != ".png":
            count += choices
        _encode(stage, path, tqdm(pictures, "frames", count, leave=False, disable=quiet or None))
        write_bytes(out, _complete_film(path))
    return count


def moments_of(stage: Stage, last: int) -> list[int]:
    """Return the units before the frames of a film: many while policies differ, few otherwise.

    Args:
        stage: the policies, which are played a first time in a copy.
        last: last unit of the film.
    """
    rehearsal = replace(stage)
    rehearsal.step(last)
    _, (first, *others) = rehearsal.totals()
    differs = np.zeros(last, dtype=np.bool_)
    for total in others:
        change = np.diff(total - first, prepend=0.0)
        differs |= np.abs(change) > LEAST_DIFFERENCE
    if not others:
        differs[:] = True
    reach = math.ceil(SLOW_SHARE * last)
    is_near = np.convolve(differs, np.ones(2 * reach + 1), "same")[:last] > 0.0
    seconds = np.cumsum(np.where(is_near, 1.0, SLOWNESS))
    frames = np.linspace(0.0, seconds[-1], min(USUAL_FRAMES, last) + 1)[1:]
    units = 1 + np.searchsorted(seconds, frames * (1.0 - LEAST_DIFFERENCE))
    return [0, *np.unique(np.minimum(units, last)).tolist()]


def _pictures(
    stage: Stage, moments: Sequence[int], choices: int, *, last_alone: bool
) -> Iterator[Pixels]:
    """Play an episode, and yield a picture at each moment, and after each of further choices.

    Args:
        stage: the policies.
        moments: games or ticks.
        choices: after the last moment.
        last_alone: yield only the last picture.
    """
    for moment in moments:
        stage.step(moment - stage.clock)
        if not last_alone or (moment == moments[-1] and choices == 0):
            yield stage.picture(stage.caption)
    for choice in range(1, choices + 1):
        stage.choose()
        if not last_alone or choice == choices:
            yield stage.picture(stage.caption)


def _encode(stage: Stage, path: Path, pictures: Iterable[Pixels]) -> None:
    """Write pictures of a stage with ffmpeg, which hides its errors."""
    film = FILMS[path.suffix]
    frames = write_frames(
        path,
        stage.picture(stage.caption).shape[1::-1],
        fps=RATE,
        codec=film.codec,
        pix_fmt_out=film.pixel_format,
        macro_block_size=2,
        quality=None,
        ffmpeg_log_level="quiet",  # else an interrupted ffmpeg reports a missing folder
        output_params=film.arguments,
    )
    frames.send(None)
    for picture in pictures:
        frames.send(picture)
    frames.close()


def _complete_film(path: Path) -> bytes:
    """Return the content of a film.

    Raises:
        OSError: if the file is not complete.
    """
    content = b""
    if path.is_file():
        content = path.read_bytes()
    is_complete = {
        ".gif": content[-1:] == b";",
        ".mp4": b"moov" in content,
        ".png": b"IEND" in content,
    }
    if not is_complete[path.suffix]:
        raise OSError(f"{path} is not complete; perhaps the disk is full")
    return content
