"""Watch policies side by side, in one instance and with the same random numbers.

In a window: space pauses, the right arrow plays one game, up and down change
the speed, n shows the next instance, q ends. With --out it writes a film
instead. In the queue, ticks take the place of games.

Example:
    matchenv watch --policy drawchance kg --rank top --out watch.gif
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.envs.one_player.settings import Settings

if TYPE_CHECKING:
    from matchenv.envs.core.settings import Options

FILM_OPTIONS = ("games", "every", "rate")


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ("drawchance", "kg"))
    add.group("episode")
    add.option("--rank", shared.RANK_TEXT, "top")
    add.option("--prior", shared.PRIORS_TEXT, "informative")
    shared.seed(add)
    add.option("--episode", "index of the instance, from 0; those of compare with the same seed", 0)
    add.option("--hide-true-skill", "show no true skills, and q under the belief instead of true "
               "q", False)  # fmt: skip
    add.group("film")
    add.option("--out", "file for a film, .gif or .mp4, or for its last picture, .png (default: a "
               "window)", None, Path)  # fmt: skip
    add.option("--games", "the last game that the file shows (default: all)", None, int)
    add.option("--every", "games from one picture of the film to the next (default: about 100 "
               "pictures)", None, int)  # fmt: skip
    add.option("--rate", "pictures in a second of the film (default: 10)", None, int)
    add.option("--width", "of the window or the film, in pixels (default: depends on the number of "
               "policies)", None, int)  # fmt: skip
    add.option("--theme", "colours", "light", known=("light", "dark"))
    shared.quiet(add)
    shared.environment(add)
    shared.either_environment(add, ("middle",))


def run(given: Given) -> None:
    """Open the window, or write the film and say where it is."""
    given.needs("render")
    from matchenv.benchmarks.watch.showing import (
        DEFAULT_RATE,
        checked_film,
        watch_live,
        write_film,
    )
    from matchenv.benchmarks.watch.stage import Stage

    if given.out is None:
        given.refuse(FILM_OPTIONS, "with --out FILE.gif alone may be given")
    else:
        checked_film(given.out)
    stage = Stage(
        shared.named_policies(given),
        _settings(given),
        seed=given.seed,
        episode=given.episode,
        show_true_skill=not given.hide_true_skill,
    )
    if given.out is None:
        watch_live(stage, width=given.width, theme=given.theme)
        return
    pictures = write_film(
        stage,
        given.out,
        until=given.games,
        rate=DEFAULT_RATE if given.rate is None else given.rate,
        **given.chosen(("width", "every", "theme", "quiet")),
    )
    count = "1 picture" if pictures == 1 else f"{pictures} pictures"
    given.say(f"{given.out}: {count}, {given.out.stat().st_size / 1e6:.2f} MB")


def _settings(given: Given) -> Options:
    """Return the settings of the instance.

    Raises:
        ValueError: for a bad option.
    """
    if shared.in_queue(given):
        from matchenv.benchmarks.compare.comparison import problem_of

        if len(given.load) != 1:
            raise ValueError(f"load must be one, got {' '.join(given.load)}")
        kwargs = shared.queue_kwargs(given)
        _, settings, (cell,) = problem_of(given.env, {"load": given.load}, kwargs)
        found: Options = replace(settings, **cell.options)
        return found
    from matchenv.evaluation.cells import cells_of

    (cell,) = cells_of((given.rank,), (given.prior,), given.num_opponents, given.rank_by)
    return Settings.checked(**{**given.chosen(shared.ENVIRONMENT), **cell.options})
