"""The learned policy of ``MatchmakingQueue-v0``: prices of players, and the best plan at them."""
