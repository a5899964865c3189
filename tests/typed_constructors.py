"""Read by mypy in ``make check``: an error that it should report and does not is an error itself.

``warn_unused_ignores`` refuses each comment below that hides nothing.
"""

from matchenv import MatchmakingEnv, MatchmakingQueueEnv, MatchmakingVectorEnv
from matchenv.envs.ranking import RankingEnv

MatchmakingEnv(num_opponents=5, horizon=20, render_mode=None)
MatchmakingVectorEnv(3, num_opponents=5, autoreset_mode="SameStep")
MatchmakingEnv(num_opponnts=5)  # type: ignore[call-arg]
MatchmakingEnv(horizon="many")  # type: ignore[arg-type]
MatchmakingVectorEnv(3, horizon="many")  # type: ignore[arg-type]
MatchmakingQueueEnv(capacity="large")  # type: ignore[arg-type]
RankingEnv(items=5)  # type: ignore[call-arg]
