"""The window that shows pictures."""

from __future__ import annotations

import os

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
        self._clock = pygame.time.Clock()

    def show(self, picture: Pixels, frames_per_second: float) -> list[str]:
        """Show a picture until a frame's time has passed since the end of the last call.

        Args:
            picture: uint8, shape (height, width, 3); the window takes its size.
            frames_per_second: of the film that the pictures make.

        Returns:
            pygame's names of the keys pressed since the last call, ``"close"`` for the window's.

        Raises:
            OSError: if no window can be opened, or none that is seen; it says what helps.
        """
        size = picture.shape[1], picture.shape[0]
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            try:
                pygame.display.init()
                screen = pygame.display.set_mode(size)
            except pygame.error as error:
                raise OSError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
            raise OSError(f"the window would be invisible; {REMEDY}")
        data = np.ascontiguousarray(picture).data
        screen.blit(pygame.image.frombuffer(data, size, "RGB"), (0, 0))
        pygame.display.flip()
        pressed = [
            "close" if event.type == pygame.QUIT else pygame.key.name(event.key)
            for event in pygame.event.get()
            if event.type in (pygame.QUIT, pygame.KEYDOWN)
        ]
        self._clock.tick(frames_per_second)
        return pressed

    def close(self) -> None:
        """Close the window, if it is open."""
        pygame.display.quit()
