"""``matchenv warm-up``: compile beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.cli.options import Command
from matchenv.cli.output import show


@dataclass(frozen=True, kw_only=True)
class WarmUp(Command):
    """Compile what the environments and the baselines need, and keep it for later processes.

    The first episode after an installation does so otherwise.

    Example:
        matchenv warm-up
    """

    def run(self) -> None:
        """Compile, telling what comes."""
        from matchenv.baselines.warm_up import warm_up

        warm_up((lambda text: None) if self.quiet else lambda text: show(text, flush=True))
