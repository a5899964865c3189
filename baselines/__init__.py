"""The match-making policies of the papers, and reference policies.

Each accepts knowledge states (``act``) or observations (``predict``, with the signature of
stable-baselines3's models), one or a batch.
"""

from matchenv.baselines.bandits import BayesUCB as BayesUCB
from matchenv.baselines.bandits import InformationDirectedSampling as InformationDirectedSampling
from matchenv.baselines.gittins import Gittins as Gittins
from matchenv.baselines.knowledge_gradient import KnowledgeGradient as KnowledgeGradient
from matchenv.baselines.policy import Policy as Policy
from matchenv.baselines.simple import DrawChance as DrawChance
from matchenv.baselines.simple import OptimisticDrawChance as OptimisticDrawChance
from matchenv.baselines.simple import Oracle as Oracle
from matchenv.baselines.simple import PointEstimate as PointEstimate
from matchenv.baselines.simple import RandomOpponent as RandomOpponent
from matchenv.baselines.simple import ThompsonSampling as ThompsonSampling
from matchenv.environments import MATCHMAKING
from matchenv.evaluation.registry import policy_class

# The baselines by name; ``matchenv.evaluation.registry`` builds policies from text.
POLICIES: dict[str, type[Policy]] = {name: policy_class(name) for name in MATCHMAKING.policies}
