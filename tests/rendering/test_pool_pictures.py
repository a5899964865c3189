"""Pictures and texts of a pool that changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from matchenv import MatchmakingEnv
from matchenv.rendering.text import describe_state

CHANGING = {"num_opponents": 12, "horizon": 9, "availability": 0.5, "mean_stay": 3.0}


def test_the_text_lists_who_is_online() -> None:
    env = MatchmakingEnv(render_mode="ansi", **CHANGING)  # type: ignore[arg-type]
    env.reset(seed=1)
    for _ in range(5):
        online = np.flatnonzero(env.action_masks()) + 1
        text = str(env.render())
        listed = [int(line.split()[0]) for line in text.splitlines() if line[:8].strip().isdigit()]
        assert set(listed) <= set(online.tolist())
        assert len(listed) == min(10, online.size)
        assert f"offline: {12 - online.size}" in text
        env.step(env.action_space.sample())
    everybody = describe_state(env.knowledge_state, 0, env.settings, None)
    assert "offline" not in everybody


def test_who_is_offline_is_pale() -> None:
    """Their bells are outlines, so that the more are offline the more of the picture is paper."""
    pytest.importorskip("pygame")
    from matchenv.rendering.picture import draw_scene

    env = MatchmakingEnv(render_mode="rgb_array", **CHANGING)  # type: ignore[arg-type]
    env.reset(seed=1)
    assert isinstance(env.render(), np.ndarray)
    scene = replace(env._rendered.scene(0), online=None)
    pictures = [
        draw_scene(replace(scene, online=np.arange(12) < count), 480, 360) for count in (12, 6, 0)
    ]
    np.testing.assert_array_equal(pictures[0], draw_scene(scene, 480, 360))
    paper = [(picture == picture[2, 2]).all(axis=2).sum() for picture in pictures]
    assert paper[0] < paper[1] < paper[2]
