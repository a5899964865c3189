"""``Matchmaking-v0``: one player, game after game."""
