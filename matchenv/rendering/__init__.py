"""Pictures and texts of episodes.

Each environment has a renderer, named in its record, which describes a scene (``scene``);
``picture`` draws it with pygame. Pictures need the extra ``render``, texts do not.
"""

import os

from matchenv.envs.core.rendering import RENDER_FPS as RENDER_FPS
from matchenv.envs.core.rendering import RENDER_MODES as RENDER_MODES
from matchenv.envs.core.rendering import Frame as Frame
from matchenv.envs.core.rendering import MissingRenderPackage as MissingRenderPackage
from matchenv.rendering.renderer import Column as Column
from matchenv.rendering.renderer import Columns as Columns
from matchenv.rendering.renderer import SceneRenderer as SceneRenderer
from matchenv.rendering.scene import Chart as Chart
from matchenv.rendering.scene import Curve as Curve
from matchenv.rendering.scene import Limits as Limits
from matchenv.rendering.scene import Players as Players
from matchenv.rendering.scene import Scene as Scene
from matchenv.rendering.scene import belief_chart as belief_chart
from matchenv.rendering.scene import number_text as number_text
from matchenv.rendering.scene import over_time as over_time

# pygame, which is imported later, prints a greeting otherwise.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
