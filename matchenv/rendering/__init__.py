"""Pictures and texts of an episode.

``scene`` says what a picture shows, ``picture`` draws it, ``text`` says it in words. Only
``picture`` and what it calls load pygame, the extra ``render``.
"""

from matchenv.rendering.batch import Frame as Frame
from matchenv.rendering.batch import RenderedBatch as RenderedBatch
from matchenv.rendering.modes import RENDER_FPS as RENDER_FPS
from matchenv.rendering.modes import RENDER_MODES as RENDER_MODES
from matchenv.rendering.modes import MissingRenderPackage as MissingRenderPackage
from matchenv.rendering.rendered import RenderedEpisodes as RenderedEpisodes
