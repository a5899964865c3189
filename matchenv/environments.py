"""The environments of this package: one record each, with parts from all rooms.

A package of your own registers an environment in the same way; see CONTRIBUTING.md.
"""

from __future__ import annotations

from matchenv.envs.core.registration import (
    POLICY_SOURCES,
    Environment,
    register_environment,
)

MATCHMAKING = Environment(
    env_id="Matchmaking-v0",
    settings="matchenv.envs.one_player.settings:Settings",
    simulator="matchenv.envs.one_player.simulator:OnePlayer",
    env="matchenv.envs.one_player.env:MatchmakingEnv",
    vector_env="matchenv.envs.one_player.env:MatchmakingVectorEnv",
    renderer="matchenv.rendering.one_player:OnePlayerRenderer",
    protocol="matchenv.evaluation.protocols:ONE_PLAYER_PROTOCOL",
    policies={
        "pe": "matchenv.baselines.simple:PointEstimate",
        "drawchance": "matchenv.baselines.simple:DrawChance",
        "kg": "matchenv.baselines.knowledge_gradient:KnowledgeGradient",
        "gittins": "matchenv.baselines.gittins:Gittins",
        "optimistic": "matchenv.baselines.simple:OptimisticDrawChance",
        "random": "matchenv.baselines.simple:RandomOpponent",
        "thompson": "matchenv.baselines.simple:ThompsonSampling",
        "bayes_ucb": "matchenv.baselines.bandits:BayesUCB",
        "ids": "matchenv.baselines.bandits:InformationDirectedSampling",
        "oracle": "matchenv.baselines.simple:Oracle",
    },
    reader="matchenv.agents.network:OpponentReader",
    training="matchenv.agents.environments:ONE_PLAYER_TRAINING",
    hyperparameters="matchenv.agents:hyperparameters",
)

MATCHMAKING_QUEUE = Environment(
    env_id="MatchmakingQueue-v0",
    settings="matchenv.envs.queue.settings:QueueSettings",
    simulator="matchenv.envs.queue.simulator:QueueSimulator",
    env="matchenv.envs.queue.env:MatchmakingQueueEnv",
    vector_env="matchenv.envs.queue.env:MatchmakingQueueVectorEnv",
    renderer="matchenv.rendering.queue:QueueRenderer",
    protocol="matchenv.evaluation.protocols:QUEUE_PROTOCOL",
    policies={
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
    },
    reader="matchenv.agents.network:CandidateReader",
    training="matchenv.agents.environments:QUEUE_TRAINING",
    hyperparameters="matchenv.agents:hyperparameters",
)

RANKING = Environment(
    env_id="Ranking-v0",
    settings="matchenv.envs.ranking:RankingSettings",
    simulator="matchenv.envs.ranking:RankingSimulator",
    env="matchenv.envs.ranking:RankingEnv",
    vector_env="matchenv.envs.ranking:RankingVectorEnv",
    renderer="matchenv.rendering.ranking:RankingRenderer",
    protocol="matchenv.evaluation.protocols:RANKING_PROTOCOL",
    policies={
        "random": "matchenv.baselines.ranking:RandomPair",
        "round-robin": "matchenv.baselines.ranking:RoundRobin",
        "swiss": "matchenv.baselines.ranking:Swiss",
        "widest": "matchenv.baselines.ranking:Widest",
        "thompson": "matchenv.baselines.ranking:ThompsonPair",
        "information": "matchenv.baselines.ranking:InformationGain",
        "shrinkage": "matchenv.baselines.ranking:Shrinkage",
        "kg": "matchenv.baselines.ranking:PairKnowledgeGradient",
        "oracle": "matchenv.baselines.ranking:RankingOracle",
    },
    reader="matchenv.agents.network:PairReader",
    training="matchenv.agents.environments:RANKING_TRAINING",
    hyperparameters="matchenv.agents:hyperparameters",
)

for _environment in (MATCHMAKING, MATCHMAKING_QUEUE, RANKING):
    register_environment(_environment)

# Policies that were trained.
POLICY_SOURCES.append("matchenv.agents.learned_names:LEARNED_POLICIES")
