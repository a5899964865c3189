"""``MatchmakingQueue-v0``: match the waiting players of a game service."""

from matchenv.envs.queue.population import NormalPopulation as NormalPopulation
from matchenv.envs.queue.population import Population as Population
from matchenv.envs.queue.population import RatedPopulation as RatedPopulation
from matchenv.envs.queue.settings import QueueSettings as QueueSettings
from matchenv.envs.queue.simulator import usual_quality as usual_quality
from matchenv.envs.queue.state import NOBODY as NOBODY
from matchenv.envs.queue.view import QueueView as QueueView
from matchenv.envs.queue.view import WaitingParties as WaitingParties
