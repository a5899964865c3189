"""Command line of the replay of match logs."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from matchenv.benchmarks.replay.command import run
from matchenv.benchmarks.replay.measures.prediction_error import (
    DRAWN_PAIRS,
    PREDICTED_TIES,
    TieRule,
)
from matchenv.benchmarks.replay.reader import ReadingSettings
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.benchmarks.replay.systems import ELO_TEAMS, SYSTEMS, SystemSettings


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.replay",
        description="Rate a log of matches in order of play, and report how well each rating "
        "system foresaw them. See docs/replay.md.",
    )
    defaults, reading, rated = ReplaySettings(), ReadingSettings(), SystemSettings()
    made.add_argument("log", type=Path, metavar="LOG.csv", help="the log, .csv or .csv.gz")
    made.add_argument(
        "--systems",
        default=",".join(defaults.systems),
        help=f"rating systems, out of {', '.join(SYSTEMS)} (default: %(default)s)",
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for report and plots")
    made.add_argument("--quiet", action="store_true", help="no table on the screen")
    group = made.add_argument_group("reading")
    group.add_argument(
        "--columns", default="", metavar="ROLE=NAME,...",
        help="columns with unusual names; roles: game, time, team, player, score, rank, or "
        "home, away, home_score, away_score",
    )  # fmt: skip
    group.add_argument("--strict", action="store_true", help="stop at bad rows")
    group.add_argument("--encoding", default=reading.encoding, help="default: %(default)s")
    group.add_argument(
        "--time-format", metavar="FORMAT",
        help="number, iso, month/day/year, day/month/year or a strptime format "
        "(default: the first that reads the most)",
    )  # fmt: skip
    group = made.add_argument_group("measures")
    ties = defaults.ties
    for option, choices, default, text in (
        ("--drawn-pairs", DRAWN_PAIRS, ties.drawn_pairs, "that came out even"),
        ("--predicted-ties", PREDICTED_TIES, ties.predicted_ties, "without a predicted order"),
    ):
        text = f"how pairs {text} count (default: {default})"
        group.add_argument(option, choices=choices, default=default, help=text)
    for option, kind, text in (
        ("challenge_share", float, "share of the games put forward as most even"),
        ("fair_share", float, "share of the games, most even first, for win ratios"),
        ("quality_threshold", float, "least quality of those games, instead of a share"),
        ("bins", int, "bins of the calibration"),
        ("top_players", int, "players whose convergence is shown"),
    ):
        _add_number(group, option, kind, getattr(defaults, option), text)
    group = made.add_argument_group("rating systems")
    for option, text in (
        ("mu", "TrueSkill's prior mean"),
        ("sigma", "its standard deviation"),
        ("beta", "spread of one performance"),
        ("tau", "drift of the skill between games"),
        ("draw_probability", "of two even sides; counted in the log if not given"),
        ("elo_start", "Elo's first rating"),
        ("elo_beta", "spread of one performance in Elo's points"),
        ("elo_alpha", "Elo's weight of new evidence"),
    ):
        _add_number(group, option, float, getattr(rated, option), text)
    group.add_argument(
        "--elo-teams",
        choices=ELO_TEAMS,
        default=rated.elo_teams,
        help=f"how members' ratings make a side's (default: {rated.elo_teams})",
    )
    return made


def _add_number(
    group: argparse._ArgumentGroup, option: str, kind: type, default: float | None, text: str
) -> None:
    shown = "" if default is None else f" (default: {default:.6g})"
    group.add_argument(
        f"--{option.replace('_', '-')}", type=kind, default=default, metavar="X", help=text + shown
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the screen cannot show must not cost the result.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        settings = ReplaySettings(
            systems=tuple(options.systems.split(",")),
            reading=ReadingSettings(
                options.columns, options.encoding, options.time_format, options.strict
            ),
            parameters=SystemSettings(
                **{name: getattr(options, name) for name in SystemSettings.__dataclass_fields__}
            ),
            ties=TieRule(options.drawn_pairs, options.predicted_ties),
            challenge_share=options.challenge_share,
            fair_share=options.fair_share,
            quality_threshold=options.quality_threshold,
            bins=options.bins,
            top_players=options.top_players,
        )
        run(options.log, settings, options.out, quiet=options.quiet)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
