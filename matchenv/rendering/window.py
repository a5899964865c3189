"""A window that shows one picture after another."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame

from matchenv.envs.core.rendering import Pixels

# SDL's drivers for machines without a screen.
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
        size = picture.shape[1], picture.shape[0]
        if self._screen is None or self._screen.get_size() != size:
            try:
                pygame.display.init()
                self._screen = pygame.display.set_mode(size)
            except pygame.error as error:
                raise OSError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        data = np.ascontiguousarray(picture).data
        self._screen.blit(pygame.image.frombuffer(data, size, "RGB"), (0, 0))
        pygame.display.flip()

    @property
    def is_lost(self) -> bool:
        """Whether the window is invisible although nobody asked for that."""
        unseen = self._screen is not None and pygame.display.get_driver() in UNSEEN
        return unseen and not os.environ.get("SDL_VIDEODRIVER")

    def events(self) -> Sequence[Any]:
        """Return pygame's events since the last call; keeps the window responsive."""
        return pygame.event.get() if self._screen is not None else []

    def wait(self, frames_per_second: float) -> None:
        """Sleep until a frame's time has passed since the end of the last call."""
        now = time.monotonic()
        self._due = max(self._due + 1.0 / frames_per_second, now)
        time.sleep(self._due - now)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._screen is not None:
            self._screen = None
            pygame.display.quit()
