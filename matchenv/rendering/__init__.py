"""Pictures and texts of episodes.

Each environment has a renderer, named in its record, which describes a scene
(``scene``); ``picture`` draws it with pygame. Pictures need the extra ``render``, texts do not.
"""

from matchenv.envs.core.rendering import RENDER_FPS as RENDER_FPS
from matchenv.envs.core.rendering import RENDER_MODES as RENDER_MODES
from matchenv.envs.core.rendering import Frame as Frame
from matchenv.envs.core.rendering import MissingRenderPackage as MissingRenderPackage
from matchenv.rendering.scene import SceneRenderer as SceneRenderer
