"""A window that shows pictures and reports pressed keys."""

from __future__ import annotations

import os

import numpy as np
import pygame

from matchenv.envs.core.rendering import Pixels

# SDL's drivers for machines without a screen.
UNSEEN = ("offscreen", "dummy")
REMEDY = (
    "without a screen, write pictures to files (render_mode='rgb_array', "
    "matchenv watch --out FILE.gif) or set SDL_VIDEODRIVER=dummy"
)


class NoScreenError(OSError):
    """No visible window can be opened."""


class Window:
    """A window that opens with its first picture.

    Args:
        caption: text of the title bar.
    """

    def __init__(self, caption: str = "matchenv") -> None:
        self.caption = caption
        self._clock = pygame.time.Clock()

    def show(self, picture: Pixels, frames_per_second: float) -> list[str]:
        """Show a picture, then wait until a frame's time has passed since the last call.

        Args:
            picture: uint8, shape (height, width, 3); the window takes its size.
            frames_per_second: frame rate.

        Returns:
            pygame's names of the keys pressed since the last call; ``"close"`` if the window was
            closed.

        Raises:
            NoScreenError: if no visible window can be opened; the message names alternatives.
        """
        height, width, _ = picture.shape
        screen = self._screen(width, height)
        surface = pygame.image.frombuffer(
            np.ascontiguousarray(picture).data, (width, height), "RGB"
        )
        screen.blit(surface, (0, 0))
        pygame.display.flip()
        pressed = []
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                pressed.append("close")
            elif event.type == pygame.KEYDOWN:
                pressed.append(pygame.key.name(event.key))
        self._clock.tick(frames_per_second)
        return pressed

    def _screen(self, width: int, height: int) -> pygame.Surface:
        """Return the surface of the window, opened or resized if necessary.

        Raises:
            NoScreenError: if no visible window can be opened.
        """
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != (width, height):
            try:
                pygame.display.init()
                screen = pygame.display.set_mode((width, height))
            except pygame.error as error:
                raise NoScreenError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
            raise NoScreenError(f"the window would be invisible; {REMEDY}")
        return screen

    def close(self) -> None:
        """Close the window if it is open."""
        pygame.display.quit()
