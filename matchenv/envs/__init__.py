"""The environments: simulators, which share one scalar and one vector environment.

``matchenv.environments`` registers the environments of this package.
"""

from matchenv.envs.core.registration import ENVIRONMENTS as ENVIRONMENTS
from matchenv.envs.core.registration import Environment as Environment
from matchenv.envs.core.registration import environment_named as environment_named
from matchenv.envs.core.registration import environment_of as environment_of
from matchenv.envs.core.registration import register_environment as register_environment
from matchenv.envs.core.registration import simulator_of as simulator_of
