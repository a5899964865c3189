"""Write ``games.csv``, the sample log of the documentation: python examples/make_games.py.

Sixty players with normal skills (mean 25, deviation 25/3) play 500 games in three weeks of
evenings. A side's performance is the sum of its members' skills plus noise (deviation 25/6 each);
sides closer than the margin draw. Opponents are random.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

NUM_PLAYERS, NUM_GAMES, NUM_DAYS = 60, 500, 21
MEAN, DEVIATION, BETA, MARGIN = 25.0, 25.0 / 3.0, 25.0 / 6.0, 1.2
FIRST = datetime(2025, 3, 1, 18, tzinfo=UTC)
SYLLABLES = ("ka", "lo", "mi", "ne", "ra", "su", "ti", "vo")
HEADER = ("match_id", "ended_at", "account_id", "side", "outcome", "rounds_won")


def main(seed: int = 0) -> None:
    """Draw the games and write them in order of play, a row for each player in each game."""
    rng, path = np.random.default_rng(seed), Path(__file__).with_name("games.csv")
    names = [f"{SYLLABLES[k // 8]}{SYLLABLES[k % 8]}" for k in range(NUM_PLAYERS)]
    skill = rng.normal(MEAN, DEVIATION, NUM_PLAYERS)
    days = np.sort(rng.integers(0, NUM_DAYS, NUM_GAMES))
    minutes = np.sort(days * 1440 + rng.integers(0, 300, NUM_GAMES))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for game, minute in enumerate(minutes.tolist(), start=1):
            size = int(rng.choice((1, 2), p=(0.8, 0.2)))
            online = rng.permutation(NUM_PLAYERS)[: 2 * size]
            noise = BETA * np.sqrt(size) * rng.normal(size=2)
            first, second = skill[online].reshape(2, size).sum(axis=1) + noise
            winner = 0 if abs(first - second) < MARGIN else 1 if first > second else 2
            rounds = (6, 6) if winner == 0 else (7, int(rng.integers(0, 7)))
            time = f"{FIRST + timedelta(minutes=minute):%Y-%m-%d %H:%M:%S} UTC"
            for place, player in enumerate(online.tolist()):
                side = place // size + 1
                outcome = "DRAW" if winner == 0 else "WIN" if side == winner else "LOSS"
                score = rounds[0] if side == max(winner, 1) else rounds[1]
                row = (f"m{game:03}", time, names[player], ("red", "blue")[side - 1])
                writer.writerow((*row, outcome, score))


if __name__ == "__main__":
    main()
