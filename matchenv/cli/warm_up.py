"""Compile environments and baselines in advance, for later processes.

Otherwise the first episode after an installation compiles them.

Example:
    matchenv warm-up
"""

from __future__ import annotations

from matchenv.cli.options import add_quiet
from matchenv.cli.output import print_result
from matchenv.cli.parser import Arguments, Parser


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_quiet(parser.add_argument_group("work"))


def run(arguments: Arguments) -> None:
    """Compile."""
    from matchenv.baselines.warm_up import warm_up

    warm_up(lambda line: print_result(line, arguments.quiet))
