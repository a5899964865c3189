"""Pictures and texts of ``MatchmakingQueue-v0``."""
