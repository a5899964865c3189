"""``matchenv watch``: policies side by side, in a window or as a film."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from matchenv.cli.options import Environment, Policies, Seeded, chosen
from matchenv.cli.output import show
from matchenv.cli.queue_options import EitherEnvironment

if TYPE_CHECKING:
    from matchenv.envs.core.settings import Options

FILM_OPTIONS = ("games", "every", "rate")


@dataclass(frozen=True, kw_only=True)
class Watch(EitherEnvironment, Environment, Seeded, Policies):
    """Watch policies side by side, in the same instance and with the same random numbers.

    In a window: space pauses, the right arrow plays one game, up and down change the speed, n
    shows the next instance, q ends. With --out it writes a film instead. In the queue, ticks take
    the place of games.

    Example:
        matchenv watch --policy drawchance kg --rank top --out watch.gif

    Attributes:
        rank: place of player 0: top, middle, bottom, a number from 0 (the best), or any.
        prior: what policies know at the start: informative, equal, or module:Class:key=value.
        load: in the queue, players who log on in a tick: thin, middle, thick or a number.
        episode: index of the instance, from 0; those of compare with the same seed.
        out: file for a film, .gif or .mp4, or for its last picture, .png (default: a window).
        games: the last game that the file shows (default: all).
        every: games from one picture of the film to the next (default: about 100 pictures).
        rate: pictures in a second of the film (default: 10).
        width: of the window or the film, in pixels (default: depends on the number of policies).
        theme: colours.
        hide_true_skill: show no true skills, and q under the belief instead of true q.
    """

    policy: tuple[str, ...] = ("drawchance", "kg")
    rank: str = "top"
    prior: str = "informative"
    load: tuple[str, ...] = ("middle",)
    episode: int = 0
    out: Path | None = None
    games: int | None = None
    every: int | None = None
    rate: int | None = None
    width: int | None = None
    theme: Literal["light", "dark"] = "light"
    hide_true_skill: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """It draws."""
        return ("render",)

    def check_given(self, given: set[str]) -> None:
        """Refuse options of the other environment, and options of files without a file."""
        super().check_given(given)
        for name in FILM_OPTIONS:
            if self.out is None and name in given:
                raise ValueError(f"--{name} is for files: --out FILE.gif is missing")

    def run(self) -> None:
        """Open the window, or write the film and say where it is."""
        from matchenv.benchmarks.watch.film import DEFAULT_RATE, checked_film, write_film
        from matchenv.benchmarks.watch.live import watch_live
        from matchenv.benchmarks.watch.stage import Stage

        if self.out is not None:
            checked_film(self.out)
        stage = Stage(
            self.policies,
            self._settings(),
            seed=self.seed,
            episode=self.episode,
            show_true_skill=not self.hide_true_skill,
        )
        if self.out is None:
            watch_live(stage, width=self.width, theme=self.theme)
            return
        pictures = write_film(
            stage,
            self.out,
            width=self.width,
            until=self.games,
            every=self.every,
            rate=DEFAULT_RATE if self.rate is None else self.rate,
            theme=self.theme,
            quiet=self.quiet,
        )
        if not self.quiet:
            size = self.out.stat().st_size / 1e6
            count = "1 picture" if pictures == 1 else f"{pictures} pictures"
            show(f"{self.out}: {count}, {size:.2f} MB")

    def _settings(self) -> Options:
        """Return the settings of the instance.

        Raises:
            ValueError: for a bad option.
        """
        if self.in_queue:
            from matchenv.benchmarks.queue.plan import queue_settings_of
            from matchenv.evaluation.queue_table import Load

            if len(self.load) != 1:
                raise ValueError(f"load must be one, got {' '.join(self.load) or 'none'}")
            rate = Load.named(self.load[0]).arrival_rate
            return replace(queue_settings_of(self.queue_options()), arrival_rate=rate)
        from matchenv.envs.one_player.settings import Settings
        from matchenv.evaluation.cells import cells_of

        (cell,) = cells_of((self.rank,), (self.prior,), self.num_opponents, self.rank_by)
        return Settings.checked(**chosen(self, Environment), rank=cell.rank, prior=cell.prior)
