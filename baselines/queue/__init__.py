"""Policies of ``MatchmakingQueue-v0``: rules from waiting players to an opponent.

Each has ``act(queues, rng)`` for a ``matchenv.envs.queue.QueueView`` of many queues, and
``choose(waiting, rng)`` for the ``matchenv.envs.queue.WaitingPlayers`` of one.
"""

from pkgutil import resolve_name

from matchenv.baselines.catalogue import QUEUE
from matchenv.baselines.queue.candidates import (
    FirstComeFirstServed,
    QueueKnowledgeGradient,
    QueuePolicy,
    RandomCandidate,
    Reserved,
    ReservedDrawChance,
    WideningWindow,
)
from matchenv.baselines.queue.matching import (
    KnowledgeMatching,
    MatchingOracle,
    MaximumWeightMatching,
    PlannedPolicy,
    PricedMatching,
)

QUEUE_POLICIES: dict[str, type[QueuePolicy]] = {
    name: resolve_name(spec) for name, spec in QUEUE.items()
}

__all__ = [
    "QUEUE_POLICIES",
    "FirstComeFirstServed",
    "KnowledgeMatching",
    "MatchingOracle",
    "MaximumWeightMatching",
    "PlannedPolicy",
    "PricedMatching",
    "QueueKnowledgeGradient",
    "QueuePolicy",
    "RandomCandidate",
    "Reserved",
    "ReservedDrawChance",
    "WideningWindow",
]
