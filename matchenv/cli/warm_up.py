"""Compile what environments and baselines need, and keep it for later processes.

The first episode after an installation does so otherwise.

Example:
    matchenv warm-up
"""

from __future__ import annotations

from matchenv.cli import options as shared
from matchenv.cli.output import show
from matchenv.cli.parser import Given, Parser


def options(add: Parser) -> None:
    """Declare the options."""
    add.group("work")
    shared.quiet(add)


def run(given: Given) -> None:
    """Compile, and say what is compiled."""
    from matchenv.baselines.warm_up import warm_up

    warm_up((lambda text: None) if given.quiet else lambda text: show(text, flush=True))
