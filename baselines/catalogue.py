"""The baselines by name, each as ``module:attribute``: in the order of tables and messages."""

from __future__ import annotations

ONE_PLAYER = {
    "pe": "matchenv.baselines.simple:PointEstimate",
    "drawchance": "matchenv.baselines.simple:DrawChance",
    "kg": "matchenv.baselines.knowledge_gradient:KnowledgeGradient",
    "gittins": "matchenv.baselines.gittins:Gittins",
    "optimistic": "matchenv.baselines.simple:OptimisticDrawChance",
    "random": "matchenv.baselines.simple:RandomOpponent",
    "thompson": "matchenv.baselines.simple:ThompsonSampling",
    "oracle": "matchenv.baselines.simple:Oracle",
}

QUEUE = {
    "fcfs": "matchenv.baselines.queue.candidates:FirstComeFirstServed",
    "window": "matchenv.baselines.queue.candidates:WideningWindow",
    "drawchance": "matchenv.baselines.queue.candidates:ReservedDrawChance",
    "matching": "matchenv.baselines.queue.matching:MaximumWeightMatching",
    "priced": "matchenv.baselines.queue.matching:PricedMatching",
    "kg_matching": "matchenv.baselines.queue.matching:KnowledgeMatching",
    "kg": "matchenv.baselines.queue.candidates:QueueKnowledgeGradient",
    "reservation": "matchenv.baselines.queue.candidates:Reserved",
    "random": "matchenv.baselines.queue.candidates:RandomCandidate",
    "oracle": "matchenv.baselines.queue.matching:MatchingOracle",
}
