"""``MatchmakingQueue-v0``: everyone who waits, games under way, and who plays whom."""
