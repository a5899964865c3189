"""Policies of ``MatchmakingQueue-v0``: rules that fill lobbies with waiting parties.

Each has ``act(view, rng)`` for a ``matchenv.envs.queue.QueueView`` of B queues.
"""

from matchenv.baselines.queue.candidates import FirstComeFirstServed as FirstComeFirstServed
from matchenv.baselines.queue.candidates import QueueKnowledgeGradient as QueueKnowledgeGradient
from matchenv.baselines.queue.candidates import QueuePolicy as QueuePolicy
from matchenv.baselines.queue.candidates import RandomCandidate as RandomCandidate
from matchenv.baselines.queue.candidates import Reserved as Reserved
from matchenv.baselines.queue.candidates import ReservedDrawChance as ReservedDrawChance
from matchenv.baselines.queue.candidates import WideningWindow as WideningWindow
from matchenv.baselines.queue.matching import KnowledgeMatching as KnowledgeMatching
from matchenv.baselines.queue.matching import MatchingOracle as MatchingOracle
from matchenv.baselines.queue.matching import MaximumWeightMatching as MaximumWeightMatching
from matchenv.baselines.queue.matching import PricedMatching as PricedMatching
from matchenv.baselines.queue.planned import PlannedPolicy as PlannedPolicy
