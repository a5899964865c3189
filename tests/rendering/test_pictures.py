"""What the pictures of each environment show, and where."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pygame")

from pygame import Rect

from matchenv import MatchmakingEnv, MatchmakingQueueEnv
from matchenv.envs.core.rendering import Pixels
from matchenv.envs.ranking import RankingEnv
from matchenv.rendering.canvas import THEMES, Canvas, Colour, line_height
from matchenv.rendering.one_player import moving_mean
from matchenv.rendering.picture import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    Axis,
    draw_beliefs,
    draw_games,
    sheet,
)
from matchenv.rendering.scene import Beliefs, Games, number_text

LIGHT = THEMES["light"]
SIZES = [(800, 600), (480, 360), (LEAST_WIDTH, LEAST_HEIGHT)]
LIMITS = (-6.0, 6.0)
SKILLS = Rect(20, 70, 760, 270)


class Rendered:
    """An environment after some random steps."""

    def __init__(self, env: Any, steps: int, options: dict[str, Any] | None = None) -> None:
        env.reset(seed=4, options=options)
        env.action_space.seed(0)
        for _ in range(steps):
            env.step(env.action_space.sample())
        self.env, self.renderer = env, env._renderer

    def picture(self, width: int = 800, height: int = 600, title: str = "title") -> Pixels:
        panel = self.renderer.panel(self.env._state, 0, title, LIMITS)
        return sheet([panel], width, height / width)

    def scene(self) -> Any:
        return self.renderer.scene(self.env._state, 0)

    def limits(self) -> tuple[float, float]:
        return self.renderer.limits(self.env._state, 0)


def episode(
    shown: bool = True, games: int = 1, start: dict[str, Any] | None = None, **settings: Any
) -> Rendered:
    options = {"num_opponents": 2, "horizon": 10, "render_true_skill": shown, **settings}
    return Rendered(MatchmakingEnv(render_mode="rgb_array", **options), games, start)


def queue(steps: int = 60, **options: Any) -> Rendered:
    return Rendered(MatchmakingQueueEnv(render_mode="rgb_array", horizon=100, **options), steps)


def distance(pixels: Any, colour: Colour) -> Any:
    return np.abs(pixels.astype(int) - np.array(colour)).max(axis=-1)


def drawn_beliefs(beliefs: Beliefs, theme: str = "light") -> tuple[Pixels, Axis]:
    canvas = Canvas(800, 600, theme)
    draw_beliefs(canvas, SKILLS, beliefs, LIMITS)
    return canvas.pixels(), Axis(*LIMITS, SKILLS.x, SKILLS.width)


def three(**change: Any) -> Beliefs:
    """Beliefs of player 0 at -3, opponent 1 at 3 and opponent 2 at 0."""
    strong = [(1, "opponent"), (0, "player")]
    mu, sigma = np.array([-3.0, 3.0, 0.0]), np.array([0.5, 0.5, 0.4])
    return replace(Beliefs(mu, sigma, np.array([-4.9, 5.1, 1.1]), strong), **change)


@pytest.mark.parametrize("theme", THEMES)
def test_beliefs_of_those_who_play_have_their_colours(theme: str) -> None:
    colours, (picture, axis) = THEMES[theme], drawn_beliefs(three(), theme)
    middle = SKILLS.y + SKILLS.height // 2
    for mu, name in ((-3.0, "player"), (3.0, "opponent")):
        column = picture[SKILLS.y : middle, int(axis.at(mu))]
        assert distance(column, colours[name]).min() < 12, "no outline of its colour"
        # The area between outline and axis is the colour, paler.
        inside = picture[middle, int(axis.at(mu))].astype(float)
        towards = np.array(colours[name]) - np.array(colours["background"], dtype=float)
        share = (inside - colours["background"]) @ towards / (towards @ towards)
        assert 0.15 < share < 0.6
    assert tuple(picture[middle, int(axis.at(-5.5))]) == colours["background"]
    other = distance(picture[middle, int(axis.at(0.0))], colours["background"])
    assert 2 < other < 60


def test_a_narrower_belief_is_a_narrower_and_higher_curve() -> None:
    widths, heights = [], []
    for sigma in (0.2, 0.5, 1.0):
        picture, _ = drawn_beliefs(three(sigma=np.array([sigma, 0.5, 0.4]), true_skill=None))
        drawn = (picture[SKILLS.y : 310, SKILLS.x : SKILLS.x + 280] != 255).any(axis=-1)
        widths.append(drawn[215].sum())
        heights.append(drawn.any(axis=1).sum())
    assert widths[0] < widths[1] < widths[2]
    assert heights[0] > heights[1] > heights[2]


def test_true_skills_are_marked_where_they_are_and_only_when_shown() -> None:
    (shown, axis), (hidden, _) = drawn_beliefs(three()), drawn_beliefs(three(true_skill=None))
    for skill, name in ((-4.9, "player"), (5.1, "opponent")):
        x = round(float(axis.at(skill)))
        near = np.s_[SKILLS.bottom - 40 : SKILLS.bottom + 1, x - 6 : x + 7]
        assert (distance(shown[near], LIGHT[name]) < 12).sum() > 20, "no triangle"
        assert (distance(hidden[near], LIGHT[name]) >= 12).all()
        # The dashes above it are far from every belief.
        assert (hidden[SKILLS.y : SKILLS.y + 40, x] == 255).all()
        assert (shown[SKILLS.y : SKILLS.y + 40, x] != 255).any()
    x = int(axis.at(1.1))
    line = np.s_[SKILLS.bottom - 30 : SKILLS.bottom - 16, x - 1 : x + 2]
    assert (distance(shown[line], LIGHT["others"]) < 40).any()


def test_who_is_offline_is_pale() -> None:
    """Their beliefs are outlines, so that the more are offline the more background is seen."""
    mu = np.random.default_rng(0).normal(size=12)
    background = []
    for count in (12, 6, 1):
        beliefs = three(mu=mu, sigma=np.ones(12), true_skill=None, online=np.arange(12) < count)
        background.append((drawn_beliefs(beliefs)[0] == 255).all(axis=2).sum())
    assert background[0] < background[1] < background[2]


def test_hidden_true_skills_leave_no_trace() -> None:
    """Neither picture, axis nor totals depend on them."""
    belief = {"mu": [-3.0, 3.0, 0.0], "sigma": [0.5, 0.5, 0.4]}
    starts = [{**belief, "true_skill": np.array([-4.9, 5.1, 1.1]) + more} for more in (0.0, 9.0)]
    one, other = (episode(shown=False, games=0, start=each) for each in starts)
    assert one.limits() == other.limits()
    np.testing.assert_array_equal(one.picture(), other.picture())
    one, other = (episode(games=0, start=each) for each in starts)
    assert one.limits()[1] >= 5.1
    assert (one.picture() != other.picture()).any()
    for shown, name in ((False, "draw_density"), (True, "true_draw_density")):
        found = episode(shown=shown)
        label, total = found.renderer.total(0)
        assert label == f"running total of {'true ' * shown}q"
        np.testing.assert_allclose(total, found.env.simulator.facts(found.env._state)[name])


def check_texts(monkeypatch: pytest.MonkeyPatch, env: Rendered, width: int, height: int) -> None:
    """See that no letters of a picture overlap others or leave it."""
    boxes = []
    original = Canvas.text

    def text(self: Canvas, x: float, y: float, string: str, size: int, *rest: Any, **named: Any):
        wide = original(self, x, y, string, size, *rest, **named)
        left = x - {"left": 0.0, "centre": wide / 2, "right": wide}[named.get("anchor", "left")]
        # Lines are apart by more than the height of their letters.
        free = 0.2 * line_height(size)
        if string:
            boxes.append((string, left, y + free, left + wide, y + line_height(size) - free))
        return wide

    with monkeypatch.context() as patch:
        patch.setattr(Canvas, "text", text)
        env.picture(width, height, "knowledge_gradient:finite_horizon=True,belief=full " * 3)
    assert len(boxes) > 15
    for string, left, top, right, bottom in boxes:
        assert min(left, top) >= 0, string
        assert right <= width, string
        assert bottom <= height, string
    for one, other in itertools.combinations(boxes, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_no_text_overlaps_another_or_is_cut(
    monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    for others, horizon, games in ((1, 1, 1), (9, 40, 0), (49, 500, 3), (1000, 1_000_000, 3)):
        for shown in (True, False):
            options = {"num_opponents": others, "horizon": horizon, "rank": "top"}
            check_texts(monkeypatch, episode(shown, games, **options), width, height)
    for steps in (0, 60):
        check_texts(monkeypatch, queue(steps), width, height)
        for shown in (True, False):
            env = RankingEnv(render_mode="rgb_array", render_true_skill=shown)
            check_texts(monkeypatch, Rendered(env, steps), width, height)


@pytest.mark.parametrize("shown", [True, False])
def test_the_numbers_are_those_of_the_episode(shown: bool) -> None:
    found = episode(shown, games=3, draw_margin=0.5)
    noted, known = found.renderer.history[0], found.env.knowledge_state
    q = noted["true_draw_density" if shown else "draw_density"][1:]
    last, outcome = noted["action"][-1] + 1, {1: "won", 0: "draw", -1: "lost"}[noted["outcome"][-1]]
    scene, true = found.scene(), "true " * shown
    assert [entry.name for entry in scene.legend] == [
        *(f"{name}   μ {number_text(known.mu[k], 2)}  σ {known.sigma[k]:.2f}"
          for name, k in (("player 0", 0), (f"opponent {last}", last))), "others (1)",
    ]  # fmt: skip
    assert list(scene.tiles) == [
        ("last game", outcome),
        ("win ratio", f"{100 * noted['outcome'][1:].count(1) / 3:.0f} %"),
        (f"last {true}q", number_text(q[-1], 3)),
        (f"total {true}q", number_text(sum(q), 2)),
        ("games left", "7"),
    ]


def test_a_moving_mean_has_fewer_values_at_the_start() -> None:
    np.testing.assert_allclose(moving_mean(np.array([1.0, 3.0, 5.0, 1.0]), 2), [1.0, 2.0, 4.0, 3.0])


@pytest.mark.parametrize(
    ("mu", "sigma", "limits"),
    [
        ([1e30, -1e30, 0.0], [1e28, 1.0, 1.0], (-1.1e30, 1.1e30)),
        ([0.0, 0.0, 0.0], [1e-30, 1e-30, 1e-30], (-1e-6, 1e-6)),
        ([0.0, 0.0, 0.0], [1e-30, 1e3, 1.0], (-2500.0, 2500.0)),
    ],
)
def test_extreme_beliefs_are_drawn_without_a_warning(
    mu: list[float], sigma: list[float], limits: tuple[float, float]
) -> None:
    places, widths = np.array(mu), np.array(sigma)
    beliefs = Beliefs(places, widths, places, [(0, "player")])
    canvas = Canvas(800, 600, "light")
    with np.errstate(all="raise", under="ignore"):
        draw_beliefs(canvas, SKILLS, beliefs, limits)
    assert (distance(canvas.pixels(), LIGHT["player"]) < 12).any()


def test_the_text_lists_who_is_online() -> None:
    env = MatchmakingEnv(
        render_mode="ansi", num_opponents=12, horizon=9, availability=0.5, mean_stay=3.0
    )
    env.reset(seed=1)
    for _ in range(5):
        online = np.flatnonzero(env.action_masks()) + 1
        text = str(env.render())
        listed = [int(line.split()[0]) for line in text.splitlines() if line[:8].strip().isdigit()]
        assert set(listed) <= set(online.tolist())
        assert len(listed) == online.size
        assert f", {12 - online.size} offline" in text
        env.step(env.action_space.sample())


def test_a_queue_shows_its_numbers_and_players() -> None:
    shown = queue()
    waiting, facts = shown.env.waiting_players(), shown.env.simulator.facts(shown.env._state)
    focal, nearest = waiting.focal, waiting.filled[0]
    scene = shown.scene()
    for entry, name, k in zip(scene.legend, ("asked", "nearest"), (focal, nearest), strict=False):
        assert entry.name.startswith(
            f"{name}: player {waiting.player[k]}, {waiting.waited[k]} tick"
        )
    assert scene.legend[2].name == f"others ({waiting.mu.size - 2})"
    assert [text for _, text in scene.tiles] == [
        str(waiting.mu.size), str(waiting.playing), str(facts["matched_players"][0]),
        str(facts["abandoned"][0]), f"{facts['mean_wait'][0]:.2f}",
    ]  # fmt: skip
    assert scene.beliefs.strong == [(nearest, "opponent"), (focal, "player")]
    text = shown.renderer.text(shown.env._state, 0).splitlines()
    assert text[0] == f"tick {facts['tick'][0]} of 100"
    quality = waiting.candidate_quality()
    assert text[6].split()[:2] == ["asked", str(waiting.player[focal])]
    assert [line.split()[-1] for line in text[7:]] == [f"{each:.4f}" for each in quality]


def test_arcs_join_the_players_of_each_game() -> None:
    canvas, none = Canvas(400, 200, "light"), np.zeros(0)
    games = Games(np.array([[3.0, 1.0]]), none, none.astype(np.int64), 1, -1)
    draw_games(canvas, Rect(0, 0, 400, 200), games, Axis(0.0, 4.0, 0, 400))
    picture = canvas.pixels()
    middle = int(np.argmax((picture != 255).any(axis=2).sum(axis=1)))
    feet = np.flatnonzero((picture[middle - 3] != 255).any(axis=1))
    assert abs(feet.min() - 100) <= 2
    assert abs(feet.max() - 300) <= 2
    assert (picture[100 : middle - 8, 195:205] == 255).all()


def test_rewards_and_lengths_of_a_queue_are_those_of_its_ticks() -> None:
    env = MatchmakingQueueEnv(render_mode="rgb_array", horizon=60)
    env.reset(seed=2)
    env.action_space.seed(0)
    assert env._renderer is not None
    rewards, over, before, waiting = 0.0, False, {}, {}
    while not over:
        # At the first choice of a tick the total is that of all ticks before.
        facts = env.simulator.facts(env._state)
        before.setdefault(int(facts["tick"][0]), rewards)
        waiting[int(facts["tick"][0])] = int(facts["waiting"][0])
        _, reward, _, over, _ = env.step(env.action_space.sample())
        rewards += float(reward)
    name, totals = env._renderer.total(0)
    lengths = env._renderer.lengths(0)
    assert name == "running total of the reward"
    assert totals.shape == (len(lengths),) == (60,)
    assert totals[-1] == pytest.approx(rewards)
    for tick, value in list(before.items())[1:]:
        assert totals[tick - 1] == pytest.approx(value)
    assert all(lengths[tick] == length for tick, length in waiting.items() if tick < 59)
    assert env._renderer.clock(env._state, 0) == 60
