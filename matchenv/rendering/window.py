"""A window that shows one picture after another."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

# What SDL falls back on where there is no screen.
UNSEEN = ("offscreen", "dummy")
REMEDY = (
    "where there is no screen, write pictures to files (render_mode='rgb_array', "
    "matchenv watch --out FILE.gif) or set SDL_VIDEODRIVER=dummy"
)


class Window:
    """A window, opened with the first picture.

    Args:
        caption: in its title bar.
    """

    def __init__(self, caption: str = "matchenv") -> None:
        self.caption = caption
        self._screen: Any = None
        self._due = 0.0

    def show(self, picture: Pixels) -> None:
        """Show a picture, uint8 of shape (height, width, 3); the window takes its size.

        Raises:
            OSError: if no window can be opened; it says what helps.
        """
        height, width, _ = picture.shape
        if self._screen is None or self._screen.get_size() != (width, height):
            self._screen = _opened(width, height, self.caption)
        surface = pygame.image.frombuffer(
            np.ascontiguousarray(picture).data, (width, height), "RGB"
        )
        self._screen.blit(surface, (0, 0))
        pygame.display.flip()

    @property
    def is_lost(self) -> bool:
        """Whether nobody can see the window, without having asked for that."""
        unseen = self._screen is not None and pygame.display.get_driver() in UNSEEN
        return unseen and not os.environ.get("SDL_VIDEODRIVER")

    def events(self) -> Sequence[Any]:
        """What happened since the last call: pygame's events; keeps the window alive."""
        return pygame.event.get() if self._screen is not None else []

    def wait(self, frames_per_second: float) -> None:
        """Sleep until a frame's time is over since the last call's was."""
        now = time.monotonic()
        self._due = max(self._due + 1.0 / frames_per_second, now)
        time.sleep(self._due - now)

    def close(self) -> None:
        """Close the window; nothing if there is none."""
        if self._screen is not None:
            self._screen = None
            pygame.display.quit()


def _opened(width: int, height: int, caption: str) -> Any:
    try:
        pygame.display.init()
        screen = pygame.display.set_mode((width, height))
    except pygame.error as error:
        raise OSError(f"no window can be opened ({error}); {REMEDY}") from error
    pygame.display.set_caption(caption)
    return screen
