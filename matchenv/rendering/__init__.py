"""Pictures and texts of episodes.

``canvas`` draws with pygame, ``parts`` are what pictures have in common; each environment has a
file with its renderer, which ``matchenv.envs.ENVIRONMENTS`` names. Pictures need the extra
``render``, texts do not.
"""

from matchenv.envs.core.rendering import RENDER_FPS as RENDER_FPS
from matchenv.envs.core.rendering import RENDER_MODES as RENDER_MODES
from matchenv.envs.core.rendering import Frame as Frame
from matchenv.envs.core.rendering import Look as Look
from matchenv.envs.core.rendering import MissingRenderPackage as MissingRenderPackage
from matchenv.envs.core.rendering import Renderer as Renderer
