"""Render modes, under their former name."""

from __future__ import annotations

from matchenv.envs.core.rendering import PICTURE_MODES as PICTURE_MODES
from matchenv.envs.core.rendering import RENDER_FPS as RENDER_FPS
from matchenv.envs.core.rendering import RENDER_MODES as RENDER_MODES
from matchenv.envs.core.rendering import MissingRenderPackage as MissingRenderPackage
from matchenv.envs.core.rendering import check_package as check_package
from matchenv.envs.core.rendering import checked_render_mode as checked_render_mode
