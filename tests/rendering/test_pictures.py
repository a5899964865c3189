"""What the pictures of each environment show, and where."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pygame")

from matchenv import MatchmakingEnv, MatchmakingQueueEnv
from matchenv.envs.core.rendering import Look, Pixels
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering import one_player, parts, queue
from matchenv.rendering.canvas import THEMES, Box, Canvas, Colour, line_height
from matchenv.rendering.one_player import OnePlayerRenderer, describe_state, moving_mean
from matchenv.rendering.parts import LEAST_HEIGHT, LEAST_WIDTH, Axis, Beliefs, draw_beliefs

LIGHT = THEMES["light"]
SIZES = [(800, 600), (480, 360), (LEAST_WIDTH, LEAST_HEIGHT), (1280, 720)]
LIMITS = (-6.0, 6.0)
ROW = np.zeros(1, dtype=np.int64)

# A text, and the left, top, right and bottom of its letters.
Written = tuple[str, float, float, float, float]


class Episode:
    """An episode that is rendered: player 0 at -3, opponent 1 at 3, opponent 2 at 0."""

    def __init__(self, *, shown: bool = True, games: int = 1, **settings: Any) -> None:
        options = {"num_opponents": 2, "horizon": 10, **settings}
        self.simulator = OnePlayer(Settings.checked(**options))
        self.renderer = OnePlayerRenderer(self.simulator, "rgb_array", 1, render_true_skill=shown)
        self.state: State = self.simulator.new_state(1)
        keys = np.array([3], dtype=np.uint64)
        self.simulator.begin(self.state, ROW, keys)
        if options["num_opponents"] == 2:
            self.state.players[0] = [[-3.0, 0.5, -4.9], [3.0, 0.5, 5.1], [0.0, 0.4, 1.1]]
        self.renderer.begin(self.state, ROW)
        players, running = self.state.players.copy(), np.ones(1, dtype=np.bool_)
        for _ in range(games):
            step = self.simulator.step(self.state, ROW, running)
            self.renderer.add(self.state, ROW, step.reward, running)
        self.state.players[...] = players

    def picture(
        self, width: int = 800, height: int = 600, theme: str = "light", title: str = "title"
    ) -> Pixels:
        return self.renderer.picture(self.state, 0, Look(width, height, title, theme, LIMITS))

    def skills(self, monkeypatch: pytest.MonkeyPatch) -> tuple[Box, Axis]:
        """The box of the curves, and the skill axis."""
        boxes: list[Box] = []

        def noted(canvas: Canvas, box: Box, beliefs: Beliefs) -> None:
            boxes.append(box)
            draw_beliefs(canvas, box, beliefs)

        monkeypatch.setattr(one_player, "draw_beliefs", noted)
        self.picture()
        return boxes[0], Axis(*LIMITS, boxes[0].x, boxes[0].width)


def distance(pixels: Any, colour: Colour) -> Any:
    return np.abs(pixels.astype(int) - np.array(colour)).max(axis=-1)


def queue_env(ticks: int = 60, **options: Any) -> MatchmakingQueueEnv:
    env = MatchmakingQueueEnv(render_mode="rgb_array", **{"horizon": 100, **options})
    env.reset(seed=4)
    env.action_space.seed(0)
    while env.simulator.facts(env._state)["tick"][0] < ticks:
        env.step(env.action_space.sample())
    return env


def picture_of(env: MatchmakingQueueEnv, width: int, height: int) -> Pixels:
    assert env._renderer is not None
    return env._renderer.picture(env._state, 0, Look(width, height, "title"))


@pytest.mark.parametrize("theme", THEMES)
def test_beliefs_of_those_who_play_have_their_colours(
    theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, colours = Episode(), THEMES[theme]
    box, axis = episode.skills(monkeypatch)
    picture = episode.picture(theme=theme)
    np.testing.assert_array_equal(picture, Episode().picture(theme=theme))
    middle = box.y + box.height // 2
    for mu, colour in ((-3.0, colours.player), (3.0, colours.opponent)):
        column = picture[box.y : middle, int(axis.at(mu))]
        assert distance(column, colour).min() < 12, "no outline of its colour"
        # The area between outline and axis is the colour, paler.
        inside = picture[middle, int(axis.at(mu))].astype(float)
        towards = np.array(colour) - np.array(colours.background, dtype=float)
        share = (inside - colours.background) @ towards / (towards @ towards)
        assert 0.15 < share < 0.6
    assert tuple(picture[middle, int(axis.at(-5.5))]) == colours.background
    other = distance(picture[middle, int(axis.at(0.0))], colours.background)
    assert 2 < other < 60


def test_a_narrower_belief_is_a_narrower_and_higher_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    widths, heights = [], []
    for sigma in (0.2, 0.5, 1.0):
        episode = Episode(shown=False)
        episode.state.players[0, 0, 1] = sigma
        box, _ = episode.skills(monkeypatch)
        left = episode.picture()[box.y : box.y + int(0.9 * box.height), box.x : box.x + 280]
        drawn = (left != 255).any(axis=-1)
        widths.append(drawn[int(0.85 * box.height)].sum())
        heights.append(drawn.any(axis=1).sum())
    assert widths[0] < widths[1] < widths[2]
    assert heights[0] > heights[1] > heights[2]


def test_true_skills_are_marked_where_they_are_and_only_when_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = Episode()
    box, axis = episode.skills(monkeypatch)
    shown, hidden = episode.picture(), Episode(shown=False).picture()
    for skill, colour in ((-4.9, LIGHT.player), (5.1, LIGHT.opponent)):
        x = round(float(axis.at(skill)))
        near = np.s_[box.bottom - 40 : box.bottom + 1, x - 6 : x + 7]
        assert (distance(shown[near], colour) < 12).sum() > 20, "no triangle"
        assert (distance(hidden[near], colour) >= 12).all()
        # The dashes above it are far from every belief.
        assert (hidden[box.y : box.y + 40, x] == 255).all()
        assert (shown[box.y : box.y + 40, x] != 255).any()
    x = int(axis.at(1.1))
    line = np.s_[box.bottom - 30 : box.bottom - 16, x - 1 : x + 2]
    assert (distance(shown[line], LIGHT.others) < 40).any()


def test_hidden_true_skills_leave_no_trace() -> None:
    """Neither picture, axis nor totals depend on them."""
    one, other = Episode(shown=False), Episode(shown=False, games=0)
    other.state.players[0, :, 2] += 9.0
    other.renderer.begin(other.state, ROW)
    assert other.renderer.limits(other.state, 0) == Episode(shown=False).renderer.limits(
        one.state, 0
    )
    np.testing.assert_array_equal(other.picture(), Episode(shown=False, games=0).picture())
    assert one.renderer.total(0)[0] == "running total of q"
    np.testing.assert_allclose(
        one.renderer.total(0)[1], one.simulator.facts(one.state)["draw_density"]
    )
    truth = Episode()
    assert truth.renderer.limits(truth.state, 0)[1] >= 5.1
    assert truth.renderer.total(0)[1] == truth.simulator.facts(truth.state)["true_draw_density"]


def written_boxes(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], object]) -> list[Written]:
    """Each text of a picture and the rectangle that its letters take."""
    boxes = []
    original = Canvas.text

    def text(self: Canvas, x: float, y: float, string: str, size: int, *rest: Any, **named: Any):
        wide = original(self, x, y, string, size, *rest, **named)
        shift = {"left": 0.0, "centre": wide / 2, "right": wide}[named.get("anchor", "left")]
        # Lines are apart by more than the height of their letters.
        free = 0.2 * line_height(size)
        boxes.append((string, x - shift, y + free, x - shift + wide, y + line_height(size) - free))
        return wide

    with monkeypatch.context() as patch:
        patch.setattr(Canvas, "text", text)
        draw()
    return boxes


def check_texts(boxes: list[Written], width: int, height: int) -> None:
    assert len(boxes) > 15
    for string, left, top, right, bottom in boxes:
        assert left >= 0, string
        assert right <= width, string
        assert top >= 0, string
        assert bottom <= height, string
    for one, other in itertools.combinations(boxes, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


@pytest.mark.parametrize(
    ("num_opponents", "horizon", "games"),
    [(1, 1, 1), (9, 40, 0), (49, 500, 3), (1000, 1_000_000, 3)],
)
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("shown", [True, False])
def test_no_text_overlaps_another_or_is_cut(
    monkeypatch: pytest.MonkeyPatch,
    num_opponents: int,
    width: int,
    height: int,
    shown: bool,
    horizon: int,
    games: int,
) -> None:
    episode = Episode(
        shown=shown, games=games, num_opponents=num_opponents, horizon=horizon, rank="top"
    )
    title = "knowledge_gradient:finite_horizon=True,belief=full " * 3
    pictures: list[Pixels] = []
    draw = lambda: pictures.append(episode.picture(width, height, title=title))  # noqa: E731
    check_texts(written_boxes(monkeypatch, draw), width, height)
    assert (pictures[0].shape, pictures[0].dtype) == ((height, width, 3), np.uint8)


def test_the_numbers_are_those_of_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    for shown in (True, False):
        episode = Episode(shown=shown, games=3, draw_margin=0.5)
        games = episode.renderer._records[0].games
        q = [game.true_density if shown else game.density for game in games]
        said = {box[0] for box in written_boxes(monkeypatch, episode.picture)}
        outcome = {1: "won", 0: "draw", -1: "lost"}[games[-1].outcome]
        wins = sum(game.outcome == 1 for game in games)
        expected = {
            f"{outcome} vs 1", f"{100 * wins / 3:.0f} %", "7", "game 3 of 10",
            "player 0   μ −3.00  σ 0.50", "opponent 1   μ 3.00  σ 0.50", "all others (1)",
        }  # fmt: skip
        assert expected <= said
        assert ("total true q" in said) == ("true skill" in said) == shown
        number = parts.number_text(sum(q), None if sum(q) < 0.001 else 3)
        assert number in said


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
    players = np.array([mu, sigma, mu]).T
    beliefs = Beliefs(
        players[:, 0], players[:, 1], [(0, LIGHT.player)], limits, float(np.median(sigma)),
        players[:, 2],
    )  # fmt: skip
    canvas = Canvas(800, 600, LIGHT)
    with np.errstate(all="raise", under="ignore"):
        draw_beliefs(canvas, Box(20, 70, 760, 270), beliefs)
    assert (distance(canvas.pixels(), LIGHT.player) < 12).any()


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ({"width": 0}, "width must be"),
        ({"height": 0}, "height must be"),
        ({"height": -1}, "height must be"),
        ({"width": LEAST_WIDTH - 1}, f"width must be .*{LEAST_WIDTH}"),
        ({"width": 800.5}, "width must be"),
        ({"theme": "pink"}, "theme must be one of"),
    ],
)
def test_bad_looks_are_named(look: dict[str, Any], message: str) -> None:
    episode = Episode()
    with pytest.raises(ValueError, match=message):
        episode.renderer.picture(episode.state, 0, Look(800, 600, "title")._replace(**look))


CHANGING = {"num_opponents": 12, "horizon": 9, "availability": 0.5, "mean_stay": 3.0}


def test_the_text_lists_who_is_online() -> None:
    env = MatchmakingEnv(render_mode="ansi", **CHANGING)
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
    """Their beliefs are outlines, so that the more are offline the more background is seen."""
    rng = np.random.default_rng(0)
    beliefs = Beliefs(rng.normal(size=12), np.ones(12), [(0, LIGHT.player)], (-5.0, 5.0), 1.0)
    background = []
    for count in (12, 6, 1):
        canvas = Canvas(800, 600, LIGHT)
        online = np.arange(12) < count
        draw_beliefs(canvas, Box(20, 70, 760, 270), replace(beliefs, online=online))
        background.append((canvas.pixels() == 255).all(axis=2).sum())
    assert background[0] < background[1] < background[2]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("ticks", [0, 60])
def test_a_queue_is_drawn_in_every_size(
    monkeypatch: pytest.MonkeyPatch, width: int, height: int, ticks: int
) -> None:
    env = queue_env(ticks)
    boxes = written_boxes(monkeypatch, lambda: picture_of(env, width, height))
    check_texts(boxes, width, height)


def test_a_queue_shows_its_numbers_and_players(monkeypatch: pytest.MonkeyPatch) -> None:
    env = queue_env()
    waiting, facts = env.waiting_players(), env.simulator.facts(env._state)
    said = {box[0] for box in written_boxes(monkeypatch, lambda: picture_of(env, 800, 600))}
    focal, nearest = waiting.focal, waiting.filled[0]
    assert {
        "tick 60 of 100",
        f"asked: player {waiting.player[focal]}, {waiting.waited[focal]} ticks",
        f"nearest: player {waiting.player[nearest]}, {waiting.waited[nearest]} tick",
        f"others ({waiting.mu.size - 2})",
        str(waiting.mu.size),
        str(waiting.playing),
        str(facts["matched_players"][0]),
        f"{facts['mean_wait'][0]:.2f}",
    } <= said
    beliefs: list[Beliefs] = []
    monkeypatch.setattr(queue, "draw_beliefs", lambda canvas, box, each: beliefs.append(each))
    picture_of(env, 800, 600)
    assert beliefs[0].strong == [(nearest, LIGHT.opponent), (focal, LIGHT.player)]


def test_arcs_join_the_players_of_each_game() -> None:
    canvas = Canvas(400, 200, LIGHT)
    waiting = queue_env().waiting_players()
    none = replace(waiting, mu=waiting.mu[:0], waited=waiting.waited[:0])
    axis, games = Axis(0.0, 4.0, 0, 400), np.array([[3.0, 1.0]])
    queue._draw_games(canvas, Box(0, 0, 400, 200), axis, games, none)
    picture = canvas.pixels()
    middle = int(np.argmax((picture != 255).any(axis=2).sum(axis=1)))
    feet = np.flatnonzero((picture[middle - 3] != 255).any(axis=1))
    assert abs(feet.min() - 100) <= 2
    assert abs(feet.max() - 300) <= 2
    empty = canvas.height // 2
    assert (picture[empty : middle - 8, 195:205] == 255).all()


def test_rewards_and_lengths_of_a_queue_are_those_of_its_ticks() -> None:
    env = MatchmakingQueueEnv(render_mode="rgb_array", horizon=60)
    env.reset(seed=2)
    env.action_space.seed(0)
    assert env._renderer is not None
    rewards, over, before = 0.0, False, {}
    while not over:
        # At the first choice of a tick the total is that of all ticks before.
        before.setdefault(int(env.simulator.facts(env._state)["tick"][0]), rewards)
        _, reward, _, over, _ = env.step(env.action_space.sample())
        rewards += float(reward)
    name, totals = env._renderer.total(0)
    assert name == "running total of the reward"
    assert totals.shape == (60,)
    assert totals[-1] == pytest.approx(rewards)
    for tick, value in list(before.items())[1:]:
        assert totals[tick - 1] == pytest.approx(value)
    assert env._renderer.clock(env._state, 0) == 60
