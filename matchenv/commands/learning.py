"""What the commands that train networks with torch have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matchenv.commands.options import Command


@dataclass(frozen=True, kw_only=True)
class Learning(Command):
    """A command that trains a network.

    Attributes:
        config: YAML file of the settings (default: the package's own).
        device: where torch computes; auto: a GPU where there is one.
        threads: of torch; the last digits of the weights depend on their number.
    """

    config: Path | None = None
    device: str = "cpu"
    threads: int = 1

    @property
    def extras(self) -> tuple[str, ...]:
        """It needs torch."""
        return ("agents",)
