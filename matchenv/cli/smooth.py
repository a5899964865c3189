"""Compute every player's skill through time from a whole log.

This is TrueSkill Through Time. See docs/ratings.md.

Example:
    matchenv smooth games.csv --players ann bob --plot curves.png
"""

from __future__ import annotations

from pathlib import Path

from matchenv.benchmarks.replay.fits import SmoothSettings, refuse_both, run_smooth, smooth_text
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.logs.reading import ReadingSettings


def options(add: Parser) -> None:
    """Declare the options."""
    shared.log(add)
    add.fields_of(ReadingSettings)
    add.group("model")
    add.fields_of(SmoothSettings)
    shared.results(add, parallel=False)
    add.option("--plot", "file of a figure of the players' curves, .png, .svg or .pdf", None, Path)


def run(given: Given) -> None:
    """Smooth and print the table."""
    refuse_both(given.fitted, set(given.said))
    given.needs("logs", *(() if given.plot is None else ("benchmarks",)))
    read, settings = shared.reading(given), given.made(SmoothSettings)
    found = run_smooth(read, settings, out=given.out, plot=given.plot, quiet=given.quiet)
    given.say(smooth_text(read.log, *found))
    given.say_where(f"{given.out} has curves.csv and smooth.json")
    given.say_where(f"{given.plot} has the figure", given.plot)
