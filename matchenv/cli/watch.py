"""Watch policies side by side, in one episode and with the same random numbers.

Keys in the window: space pauses, right plays one game, up and down change the
speed, n shows the next episode, q quits; in the queue, c makes one choice. With
--out it writes a film instead.

Example:
    matchenv watch --policy drawchance kg --rank top --out watch.gif
"""

from __future__ import annotations

from dataclasses import replace

from matchenv.cli.extras import check_extras
from matchenv.cli.options import (
    PRIORS,
    RANKS,
    add_environment,
    add_policies,
    add_quiet,
    add_seed,
    problem_from,
    single,
)
from matchenv.cli.output import print_result
from matchenv.cli.parser import Arguments, Parser, path, refuse
from matchenv.evaluation.registry import expanded, known_policies, runs_of
from matchenv.runtime.checks import counted

# Policies that are watched by default: the first two that the environment has.
WATCHED = ("drawchance", "kg", "information")


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_policies(parser.add_argument_group("policies"), WATCHED[:2])
    episode = parser.add_argument_group("episode")
    episode.add_argument("--rank", default="top", help=RANKS)
    episode.add_argument("--prior", default="informative", help=PRIORS)
    add_seed(episode)
    episode.add_argument(
        "--episode",
        type=int,
        default=0,
        help="index of the episode, as in compare with the same seed",
    )
    episode.add_argument(
        "--hide-true-skill",
        action="store_true",
        help="hide true skills, and show q under the belief",
    )
    film = parser.add_argument_group("film")
    film.add_argument(
        "--out", type=path, help=".gif or .mp4, or .png for the last frame (default: window)"
    )
    film.add_argument("--games", type=int, help="last game (or tick) of the film (default: all)")
    film.add_argument(
        "--every", type=int, help="games from one frame to the next (default: about 100 frames)"
    )
    film.add_argument(
        "--choices",
        type=int,
        default=0,
        help="further choices after the last tick, with a frame each: how a lobby forms "
        "(default: %(default)s)",
    )
    film.add_argument(
        "--width", type=int, help="width in pixels (default: depends on the number of policies)"
    )
    film.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="colour theme of the pictures"
    )
    add_quiet(film)
    add_environment(parser, loads=("middle",))


def run(arguments: Arguments) -> None:
    """Show a window, or write a film."""
    check_extras("watch", "render")
    from matchenv.benchmarks.compare.comparison import problem_of
    from matchenv.benchmarks.watch import Stage, watch_live, write_film

    if arguments.out is None:
        refuse(arguments, ("games", "every", "choices"), "these options need --out FILE.gif")
    problem = problem_from(arguments)
    for name, values in problem["cells"].items():
        single(name, values)
    _, settings, (cell, *others) = problem_of(**problem)
    if others:
        raise ValueError(
            f"watch needs one value of each option, got those of {cell.title} and others"
        )
    policies = runs_of(expanded(arguments.policy))
    if "policy" not in arguments.explicit:
        known = known_policies(arguments.env)
        usual = [name for name in WATCHED if name in known]
        policies = usual[:2] or list(known[:2])
    stage = Stage(
        policies,
        replace(settings, **cell.options),
        seed=arguments.seed,
        episode=arguments.episode,
        show_true_skill=not arguments.hide_true_skill,
        width=arguments.width,
        theme=arguments.theme,
    )
    if arguments.out is None:
        watch_live(stage)
        return
    film = arguments.out
    pictures = write_film(
        stage,
        film,
        until=arguments.games,
        every=arguments.every,
        choices=arguments.choices,
        quiet=arguments.quiet,
    )
    megabytes = film.stat().st_size / 1e6
    print_result(f"{film}: {counted(pictures, 'picture')}, {megabytes:.2f} MB", arguments.quiet)
