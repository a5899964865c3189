"""Baselines of ``Lobby-v0``, and how policies and trainings are compared; no torch."""

from __future__ import annotations

import numpy as np

from lobby.env import LobbyView
from matchenv.agents.environments import Training
from matchenv.evaluation.protocols import Protocol
from matchenv.runtime.arrays import Integers


class Greedy:
    """Choose the highest posterior mean."""

    def act(self, view: LobbyView, rng: np.random.Generator) -> Integers:
        """Return tables, shape (B,)."""
        return view.mu.argmax(axis=1)


class RandomTable:
    """Choose any table."""

    def act(self, view: LobbyView, rng: np.random.Generator) -> Integers:
        """Return tables, shape (B,)."""
        return rng.integers(view.mu.shape[1], size=len(view.mu))


class BestTable:
    """Choose the best table, which no fair policy knows."""

    needs_truth = True

    def act(self, view: LobbyView, rng: np.random.Generator) -> Integers:
        """Return tables, shape (B,)."""
        return np.asarray(view.true_skill).argmax(axis=1)


PROTOCOL = Protocol(policies=("greedy", "random", "best"), against="greedy", measure="level")

TRAINING = Training(rivals=("greedy",), same=("num_tables", "horizon"), means=("level",))
