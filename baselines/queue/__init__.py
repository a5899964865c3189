"""Policies of ``MatchmakingQueue-v0``: rules from waiting players to an opponent.

Each has ``act(queues, rng)`` for a ``matchenv.envs.queue.QueueView`` of many queues, and
``choose(waiting, rng)`` for the ``matchenv.envs.queue.WaitingPlayers`` of one.
"""

from matchenv.baselines.queue.best_pair import QueueKnowledgeGradient, ReservedDrawChance
from matchenv.baselines.queue.catalogue import QUEUE_POLICIES
from matchenv.baselines.queue.planned import (
    KnowledgeMatching,
    MatchingOracle,
    MaximumWeightMatching,
    PlannedPolicy,
)
from matchenv.baselines.queue.policy import QueuePolicy
from matchenv.baselines.queue.reserved import Reserved
from matchenv.baselines.queue.simple import FirstComeFirstServed, RandomCandidate, WideningWindow

__all__ = [
    "QUEUE_POLICIES",
    "FirstComeFirstServed",
    "KnowledgeMatching",
    "MatchingOracle",
    "MaximumWeightMatching",
    "PlannedPolicy",
    "QueueKnowledgeGradient",
    "QueuePolicy",
    "RandomCandidate",
    "Reserved",
    "ReservedDrawChance",
    "WideningWindow",
]
