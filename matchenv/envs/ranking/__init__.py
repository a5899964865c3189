"""``Ranking-v0``: which two items should play next, so that their order becomes known."""
