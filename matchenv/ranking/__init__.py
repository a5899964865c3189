"""Ranking of named items from pairwise games: record results, choose pairs, decide when to stop."""

from __future__ import annotations

from matchenv.ranking.fit_check import FitCheck as FitCheck
from matchenv.ranking.games import Game as Game
from matchenv.ranking.leaderboard import Ranked as Ranked
from matchenv.ranking.ranker import GamesNeeded as GamesNeeded
from matchenv.ranking.ranker import Ranker as Ranker

__all__ = ["FitCheck", "Game", "GamesNeeded", "Ranked", "Ranker"]
