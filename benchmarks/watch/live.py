"""Policies side by side in a window, with keys to pause, step, change the speed and go on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from matchenv.benchmarks.watch.stage import Stage, checked_width
from matchenv.envs.core.rendering import RENDER_FPS, check_package
from matchenv.rendering.canvas import THEMES
from matchenv.runtime.checks import as_choice

# Games or ticks in a second.
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


class Playback:
    """A stage as it is shown.

    Args:
        stage: the policies.

    Attributes:
        stage: the current one.
        paused: whether the episode waits for a key.
        speed: place in ``SPEEDS``.
        is_over: whether the window is to close.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.paused = False
        self.speed = FIRST_SPEED
        self.is_over = False
        self._asked = False

    def obey(self, command: str) -> None:
        """Carry out a command of the user."""
        if command == PAUSE:
            self.paused = not self.paused
        elif command == STEP:
            self.paused, self._asked = True, True
            self.stage.step()
        elif command == FASTER:
            self.speed = min(self.speed + 1, len(SPEEDS) - 1)
        elif command == SLOWER:
            self.speed = max(self.speed - 1, 0)
        elif command == NEXT:
            self.stage, self._asked = self.stage.next_instance(), True
        else:
            self.is_over = True

    def play(self) -> None:
        """Play what passes until the next picture, unless a command has just changed the stage."""
        if not self.paused and not self._asked:
            self.stage.step(pace(SPEEDS[self.speed])[0])
        self._asked = False

    @property
    def pictures_per_second(self) -> float:
        """Rate of the window; while nothing moves, fast enough to answer keys."""
        idle = self.paused or self.stage.is_over
        return RENDER_FPS if idle else pace(SPEEDS[self.speed])[1]

    @property
    def footer(self) -> tuple[str, str]:
        """The keys, and the instance with what happens to it."""
        unit = self.stage.unit
        keys = f"space pause · → one {unit} · ↑ faster · ↓ slower · n next instance · q quit"
        now = f"{SPEEDS[self.speed]:,} {unit}s/s"
        if self.stage.is_over:
            now = "the end"
        elif self.paused:
            now = "paused"
        return keys, f"instance {self.stage.episode} · {now}"


def pace(units_per_second: int) -> tuple[int, float]:
    """Return the games or ticks between pictures, and pictures in a second, for a speed."""
    units = math.ceil(units_per_second / RENDER_FPS)
    return units, units_per_second / units


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
        OSError: where no window can be opened.
    """
    check_package("pygame", "a window")
    from matchenv.rendering.window import REMEDY, Window

    width = checked_width(width, len(stage.policies))
    theme = as_choice("theme", theme, THEMES)
    window = Window("matchenv watch") if window is None else window
    playback = Playback(stage)
    try:
        while not playback.is_over:
            window.show(playback.stage.picture(width, theme, playback.footer))
            if window.is_lost:
                raise OSError(f"the window would be invisible; {REMEDY}")
            window.wait(playback.pictures_per_second)
            for command in commands(window.events()):
                playback.obey(command)
            playback.play()
    finally:
        window.close()
    return playback.stage


def commands(events: Iterable[Any]) -> list[str]:
    """Return the commands of pygame's events."""
    import pygame

    found = []
    for event in events:
        if event.type == pygame.QUIT:
            found.append(QUIT)
        elif event.type == pygame.KEYDOWN and pygame.key.name(event.key) in KEYS:
            found.append(KEYS[pygame.key.name(event.key)])
    return found
