"""Policies side by side in a window, with keys to pause, step, speed up and go on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from matchenv.benchmarks.watch.picture import checked_width, draw_side_by_side
from matchenv.benchmarks.watch.stage import Stage
from matchenv.rendering.modes import RENDER_FPS, check_package
from matchenv.rendering.theme import THEMES
from matchenv.runtime.checks import as_choice

# Games in a second.
SPEEDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
FIRST_SPEED = SPEEDS.index(10)

PAUSE, STEP, FASTER, SLOWER, NEXT, QUIT = "pause", "step", "faster", "slower", "next", "quit"

# Keys by pygame's names for them.
KEYS = {
    "space": PAUSE,
    "right": STEP,
    "s": STEP,
    "up": FASTER,
    "+": FASTER,
    "=": FASTER,
    "[+]": FASTER,
    "down": SLOWER,
    "-": SLOWER,
    "[-]": SLOWER,
    "n": NEXT,
    "q": QUIT,
    "escape": QUIT,
}
HELP = "space pause · → one game · ↑ faster · ↓ slower · n next instance · q quit"


@dataclass(frozen=True)
class Playback:
    """How a stage is shown.

    Attributes:
        paused: whether games wait for a key.
        speed: place in ``SPEEDS``.
        steps: single games that were asked for.
        wants_next: whether the next instance was asked for.
        wants_end: whether the window is to close.
    """

    paused: bool = False
    speed: int = FIRST_SPEED
    steps: int = 0
    wants_next: bool = False
    wants_end: bool = False

    @property
    def games_per_second(self) -> int:
        """Games in a second while not paused."""
        return SPEEDS[self.speed]


def after(playback: Playback, command: str) -> Playback:
    """What a command makes of the playback."""
    if command == PAUSE:
        return replace(playback, paused=not playback.paused)
    if command == STEP:
        return replace(playback, paused=True, steps=playback.steps + 1)
    if command == FASTER:
        return replace(playback, speed=min(playback.speed + 1, len(SPEEDS) - 1))
    if command == SLOWER:
        return replace(playback, speed=max(playback.speed - 1, 0))
    if command == NEXT:
        return replace(playback, wants_next=True)
    return replace(playback, wants_end=True)


def pace(games_per_second: int) -> tuple[int, float]:
    """Games from one picture to the next, and pictures in a second, for a speed."""
    games = math.ceil(games_per_second / RENDER_FPS)
    return games, games_per_second / games


def watch_live(
    stage: Stage,
    *,
    width: int | None = None,
    theme: str = "light",
    window: Any = None,
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
        OSError: where no window can be opened.
    """
    check_package("pygame", "a window")
    from matchenv.rendering.window import REMEDY, Window

    width = checked_width(width, len(stage.policies))
    colours = THEMES[as_choice("theme", theme, THEMES)]
    if window is None:
        window = Window("matchenv watch")
    playback = Playback()
    try:
        while not playback.wants_end:
            footer = HELP, status(stage, playback)
            window.show(draw_side_by_side(stage.scenes(), width, colours, footer))
            if window.is_lost:
                raise OSError(f"nobody would see the window; {REMEDY}")
            games, pictures = pace(playback.games_per_second)
            idle = playback.paused or stage.is_over
            window.wait(RENDER_FPS if idle else pictures)
            for command in commands(window.events()):
                playback = after(playback, command)
            if playback.wants_next:
                stage = stage.next_instance()
            elif playback.steps:
                stage.step(playback.steps)
            elif not playback.paused:
                stage.step(games)
            playback = replace(playback, steps=0, wants_next=False)
    finally:
        window.close()
    return stage


def commands(events: Iterable[Any]) -> list[str]:
    """What events of pygame ask for."""
    import pygame

    found = []
    for event in events:
        if event.type == pygame.QUIT:
            found.append(QUIT)
        elif event.type == pygame.KEYDOWN:
            command = KEYS.get(pygame.key.name(event.key))
            if command is not None:
                found.append(command)
    return found


def status(stage: Stage, playback: Playback) -> str:
    """What stands at the bottom right of the window."""
    instance = f"instance {stage.episode}"
    if stage.is_over:
        return f"{instance} · the end"
    if playback.paused:
        return f"{instance} · paused"
    return f"{instance} · {playback.games_per_second:,} games/s"
