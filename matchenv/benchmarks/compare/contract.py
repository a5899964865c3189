"""What the further results of an environment read of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from matchenv.evaluation.episode_table import Cell, EpisodeTable
from matchenv.runtime.arrays import Floats


class Compared(Protocol):
    """Policies that have played equal episodes; ``Comparison`` implements it."""

    @property
    def rows(self) -> EpisodeTable:
        """The episodes."""

    @property
    def against(self) -> str:
        """Label of the policy that the others are compared with."""

    @property
    def settings(self) -> Any:
        """Settings that all cells share."""

    @property
    def asked(self) -> Mapping[str, Any]:
        """Everything that decides the results, as plain data."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """Return a measure of each episode, shape (E,)."""
