"""Content and layout of pictures; their shapes, texts, ticks and colours."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pygame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygame import Rect

from matchenv import MatchmakingEnv, MatchmakingQueueEnv
from matchenv.envs.core.rendering import Pixels
from matchenv.envs.ranking import RankingEnv
from matchenv.rendering.picture import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    THEMES,
    Canvas,
    Colour,
    _rendered,
    draw_chart,
    line_height,
    sheet,
    tick_step,
    ticks,
)
from matchenv.rendering.scene import Chart, Curve, belief_chart, number_text, over_time, widened

SIZES = [(800, 600), (480, 360), (LEAST_WIDTH, LEAST_HEIGHT)]
LIMITS = (-6.0, 6.0)
# One skill point is 50 pixels.
BOX = Rect(100, 40, 600, 300)


class Rendered:
    """An environment after some random steps."""

    def __init__(self, make: Any, steps: int, start: Any = None, **options: Any) -> None:
        self.env = make(render_mode="rgb_array", **options)
        self.env.reset(seed=4, options=start)
        self.env.action_space.seed(0)
        for _ in range(steps):
            self.env.step(self.env.action_space.sample())
        self.renderer, self.state = self.env._renderer, self.env._state
        self.limits = self.renderer.limits(self.state, 0)
        self.scene = self.renderer.titled(self.state, 0, "title", LIMITS)
        self.facts = self.env.simulator.info(self.state, 0)


def episode(shown: bool = True, games: int = 1, start: Any = None, **settings: Any) -> Rendered:
    options = {"num_opponents": 2, "horizon": 10, "render_true_skill": shown, **settings}
    return Rendered(MatchmakingEnv, games, start, **options)


def queue(steps: int) -> Rendered:
    return Rendered(MatchmakingQueueEnv, steps, horizon=60)


def beliefs(
    sigma: Any = (0.5, 0.5, 0.4), true_skill: Any = None, limits: Any = LIMITS, online: Any = None
) -> Chart:
    """Return the chart of player 0 at -3, opponent 1 at 3, and another player at 0."""
    truth = None if true_skill is None else np.array(true_skill)
    return belief_chart(
        (np.array([-3.0, 3.0, 0.0]), np.array(sigma), truth), [0, 1], limits, online
    )


def drawn(chart: Chart, theme: str = "light") -> Pixels:
    canvas = Canvas(800, 400, theme)
    with np.errstate(all="raise", under="ignore"):
        draw_chart(canvas, BOX, chart)
    return canvas.pixels()


def near(pixels: Any, theme: str, name: str) -> Any:
    """Return which pixels have a colour, approximately."""
    return np.abs(pixels.astype(int) - np.array(THEMES[theme][name])).max(axis=-1) < 12


def test_beliefs_are_bell_curves_and_narrower_ones_are_higher() -> None:
    area, thin, *strong = beliefs([0.5, 1.0, 0.2]).curves
    assert (area.colour, area.style) == ("others", "area")
    assert [(curve.colour, curve.style) for curve in strong] == [
        ("opponent", "area"), ("opponent", "line"), ("player", "area"), ("player", "line"),
    ]  # fmt: skip
    assert thin.colour == "others"
    for curve, mu, sigma in ((thin, 0.0, 0.2), (strong[1], 3.0, 1.0), (strong[3], -3.0, 0.5)):
        bell = np.exp(-0.5 * ((curve.x - mu) / sigma) ** 2)
        np.testing.assert_allclose(curve.y / curve.y.max(), bell, atol=1e-12)
        assert curve.x[np.argmax(curve.y)] == mu
    assert 1.0 > thin.y.max() > strong[3].y.max() > strong[1].y.max()


def test_true_skills_are_marked() -> None:
    chart = beliefs(true_skill=[-4.0, 5.0, 1.0])
    marked = [(value, colour) for values, colour, _ in chart.marks for value in values]
    assert marked == [(1.0, "others"), (5.0, "opponent"), (-4.0, "player")]
    assert not beliefs().marks
    picture = drawn(chart)
    axis = int(np.argmax((picture[:, BOX.x + 5 : BOX.right - 5] != 255).any(axis=2).sum(axis=1)))
    for x, name in ((200, "player"), (650, "opponent")):
        assert near(picture[axis : axis + 12, x - 6 : x + 7], "light", name).sum() > 20
        # The dashed line above it, far from all beliefs.
        assert near(picture[BOX.y : BOX.y + 40, x - 1 : x + 2], "light", name).any()
    mark = picture[axis + 3 : axis + 10, 440:460].astype(int)
    assert np.argmin(mark.sum(axis=(0, 2))) == 10


def test_offline_players_are_pale_and_only_some_of_many_are_drawn() -> None:
    (_, *here), away = (
        [curve for curve in found.curves if curve.colour == "others"]
        for found in (beliefs(), beliefs(online=np.array([True, True, False])))
    )
    assert [(curve.style, curve.strength) for curve in away] == [("thin", pytest.approx(0.25))]
    assert here[0].strength > 0.5
    many = belief_chart((np.zeros(5000), np.ones(5000), None), [], LIMITS)
    assert 100 <= len(many.curves) <= 200


@pytest.mark.parametrize("theme", THEMES)
def test_curves_match_the_axes(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[Any] = []
    monkeypatch.setattr(Canvas, "text", lambda self, *given: texts.append(given) or 0)
    rising = over_time(np.linspace(0.0, 10.0, 5000), "player")
    chart = Chart((0.0, 5000.0), (0.0, 10.0), [rising], unit="game")
    picture = drawn(chart, theme)
    upright = {text: y for x, y, text, *_ in texts if x < BOX.x + 20 and y < BOX.bottom - 20}
    assert list(upright) == ["0", "2", "4", "6", "8", "10"]
    assert "5,000 games" in [text for _, _, text, *_ in texts]
    found = np.argwhere(near(picture, theme, "player"))
    slope = np.polyfit(found[:, 1], found[:, 0], 1)[0]
    assert slope == pytest.approx(-(found[:, 0].max() - found[:, 0].min()) / 585, rel=0.05)
    texts.clear()
    drawn(Chart((0.0, 3.0), (0.0, 1.0), [], titles=[("title", "ink")], unit="game"))
    rows = {text: (y, y + line_height(size)) for _, y, text, size, *_ in texts}
    assert rows["title"][1] <= rows["1.0"][0]
    assert {"0", "1", "2"} <= {text for _, _, text, *_ in texts}
    assert not any("." in text for x, _, text, *_ in texts if x > BOX.x + 60)
    wide = np.array([-60.0, 60.0])
    across = drawn(Chart(LIMITS, (0.0, 1.0), [Curve(wide, np.full(2, 0.5), "player")]), theme)
    columns = np.flatnonzero(near(across, theme, "player").any(axis=0))
    assert (columns.min(), columns.max()) == (BOX.x, BOX.right - 1)


@pytest.mark.parametrize(
    ("mu", "sigma", "limits"),
    [
        ([1e30, -1e30, 0.0], [1e28, 1.0, 1.0], (-1.1e30, 1.1e30)),
        ([0.0, 0.0, 0.0], [1e-30, 1e-30, 1e-30], (-1e-6, 1e-6)),
        ([0.0, 0.0, 0.0], [1e-30, 1e3, 1.0], (-2500.0, 2500.0)),
    ],
)
def test_extreme_beliefs_are_drawn_without_a_warning(mu: Any, sigma: Any, limits: Any) -> None:
    places = np.array(mu)
    chart = belief_chart((places, np.array(sigma), places), [0], limits)
    assert near(drawn(chart), "light", "player").any()


def test_hidden_true_skills_do_not_affect_pictures() -> None:
    belief = {"mu": [-3.0, 3.0, 0.0], "sigma": [0.5, 0.5, 0.4]}
    starts = [{**belief, "true_skill": np.array([-4.9, 5.1, 1.1]) + more} for more in (0.0, 9.0)]
    pictures = {}
    for shown in (False, True):
        found = [episode(shown, games=0, start=each) for each in starts]
        pictures[shown] = [sheet([each.scene], 800, 0.75) for each in found]
        assert (found[0].limits == found[1].limits) is not shown
        assert found[0].limits[1] >= (5.1 if shown else 3.0)
    np.testing.assert_array_equal(*pictures[False])
    assert (pictures[True][0] != pictures[True][1]).any()
    ranking, waiting = (Rendered(make, 5, render_true_skill=False)
                        for make in (RankingEnv, MatchmakingQueueEnv))  # fmt: skip
    ranking.state.true_skill[:] += 9.0
    for entry in ranking.renderer._log:
        entry[ranking.renderer._facts.index("true_loss")] = 1e6
    waiting.state.players["true_skill"] += 9.0
    for found in (ranking, waiting):
        scenes = found.scene, found.renderer.titled(found.state, 0, "title", LIMITS)
        np.testing.assert_array_equal(*(sheet([each], 800, 0.75) for each in scenes))
        assert found.renderer.limits(found.state, 0) == found.limits


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_texts_neither_overlap_nor_leave_the_picture(
    monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    boxes: list[Any] = []
    original = Canvas.text

    def text(self: Canvas, x: float, y: float, text: str, size: int, *rest: Any, **named: Any):
        wide = original(self, x, y, text, size, *rest, **named)
        left = x - wide * (rest[1] if len(rest) > 1 else 0.0)
        # Letters are lower than lines.
        free = 0.2 * line_height(size)
        if text:
            boxes.append((text, left, y + free, left + wide, y + line_height(size) - free))
        return wide

    pictures = [queue(steps) for steps in (0, 60)]
    for shown in (True, False):
        pictures += [Rendered(RankingEnv, steps, render_true_skill=shown) for steps in (0, 60)]
        for others, horizon, games in ((1, 1, 1), (9, 40, 0), (49, 500, 3), (1000, 10**9, 3)):
            sizes = {"num_opponents": others, "horizon": horizon, "rank": "top"}
            pictures.append(episode(shown, games, **sizes))
    for centre in (0.0, 1e9):  # equal known skills
        pictures.append(episode(start={"mu": np.full(3, centre), "sigma": np.full(3, 1e-9)}))
    title = "knowledge_gradient:finite_horizon=True,belief=full " * 3
    monkeypatch.setattr(Canvas, "text", text)
    for found in pictures:
        boxes.clear()
        sheet([found.renderer.titled(found.state, 0, title)], width, height / width)
        assert len(boxes) > 15
        for string, left, top, right, bottom in boxes:
            assert 0 <= left <= right <= width, string
            assert 0 <= top <= bottom <= height, string
        for one, other in itertools.combinations(boxes, 2):
            beside = one[3] <= other[1] or other[3] <= one[1]
            assert beside or one[4] <= other[2] or other[4] <= one[2], (one, other)


def test_a_film_of_two_policies_names_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def text(self: Canvas, _x: float, _y: float, text: str, size: int, *_: Any, **__: Any) -> int:
        texts.append(text)
        return self.width(text, size)

    monkeypatch.setattr(Canvas, "text", text)
    sheet([episode(horizon=500).scene], 419, 0.9)
    assert {"true q, mean of 25", "believed", "even"} <= {*texts}


@pytest.mark.parametrize("shown", [True, False])
def test_numbers_and_curves_match_the_episode(shown: bool) -> None:
    found = episode(shown, games=3, draw_margin=5.0, horizon=40)
    noted, known = partial(found.renderer.recorded, 0), found.env.knowledge_state
    name = "true_draw_density" if shown else "draw_density"
    q, true = noted(name)[1:], "true " * shown
    last = int(noted("action")[-1]) + 1
    outcome = {1: "won", 0: "draw", -1: "lost"}[noted("outcome")[-1]]
    assert found.scene.progress == "game 3 of 40"
    assert found.scene.strong == [
        f"{name}   μ {number_text(known.mu[k], 2)}  σ {known.sigma[k]:.2f}"
        for name, k in (("player 0", 0), (f"opponent {last}", last))
    ]
    assert found.scene.others == "others (1)"
    assert list(found.scene.tiles) == [
        ("last game", outcome),
        ("win ratio", f"{50 + 50 * sum(noted('outcome')[1:]) / 3:.0f} %"),
        (f"last {true}q", number_text(q[-1], 3)),
        (f"total {true}q", number_text(sum(q), 2)),
        ("games left", "37"),
    ]
    each, total = (chart.curves[-1] for chart in found.scene.charts)
    np.testing.assert_allclose(found.scene.charts[0].curves[1].y, q)
    # Mean of the last two games, 5 % of the horizon.
    np.testing.assert_allclose(each.y, [q[0], (q[0] + q[1]) / 2.0, (q[1] + q[2]) / 2.0])
    np.testing.assert_allclose(total.y, np.cumsum(q))
    label, compared = found.renderer.total(0)
    assert label == f"running total of {true}q"
    np.testing.assert_allclose(compared, total.y)


def test_texts_list_the_opponents_online() -> None:
    env = MatchmakingEnv(
        render_mode="ansi", num_opponents=12, horizon=9, availability=0.5, mean_stay=3.0
    )
    env.reset(seed=1)
    for _ in range(5):
        online = np.flatnonzero(env.action_masks()) + 1
        text = str(env.render())
        listed = [int(line.split()[0]) for line in text.splitlines() if line[:8].strip().isdigit()]
        assert sorted(listed) == online.tolist()
        assert f", {12 - online.size} offline" in text
        env.step(env.action_space.sample())
    many = Rendered(MatchmakingEnv, 0)
    assert "and 29 more" in many.renderer.text(many.state, 0)


def test_a_queue_shows_its_players_games_and_totals() -> None:
    assert queue(0).scene.tiles[-1] == ("mean wait", "–")
    shown = queue(60)
    waiting, facts = shown.env.waiting_players(), shown.facts
    focal, nearest = waiting.focal, waiting.filled[0]
    for entry, name, k in zip(
        shown.scene.strong, ("focal", "nearest"), (focal, nearest), strict=True
    ):
        assert entry.startswith(f"{name}: player {waiting.player[k]}, {waiting.waited[k]} tick")
    assert shown.scene.others == f"others ({waiting.mu.size - 2})"
    assert [text for _, text in shown.scene.tiles] == [
        str(waiting.mu.size), str(waiting.playing), str(facts["matched_players"]),
        str(facts["abandoned"]), f"{facts['mean_wait']:.2f}",
    ]  # fmt: skip
    assert [curve.colour for curve in shown.scene.beliefs.curves[-3::2]] == ["opponent", "player"]
    assert shown.scene.charts[0].y[1] > shown.scene.charts[0].curves[0].y.max() > 4
    text = shown.renderer.text(shown.state, 0).splitlines()
    assert text[0] == f"tick {facts['tick']} of 60"
    assert text[6].split()[:2] == ["focal", str(waiting.player[focal])]
    quality = waiting.candidate_quality()
    assert [line.split()[-1] for line in text[7:]] == [f"{each:.4f}" for each in quality]
    # Arcs join the players of each game; bars below are waiting times.
    ends = shown.env.simulator.games(shown.state, 0)
    curves = shown.scene.charts[1].curves
    arcs = [curve for curve in curves if curve.colour == "truth"]
    found = [sorted((arc.x[0], arc.x[-1])) for arc in arcs]
    np.testing.assert_allclose(found, np.sort(ends, axis=1))
    assert all(arc.y.min() > -1e-9 and arc.y[0] < 1e-9 < arc.y.max() <= 1.0 for arc in arcs)
    bars = curves[1 + len(arcs) :]
    np.testing.assert_array_equal([bar.x for bar in bars], np.stack([waiting.mu] * 2, axis=1))
    lengths = np.array([bar.y[0] - bar.y[1] for bar in bars])
    np.testing.assert_array_equal(np.argsort(lengths), np.argsort(waiting.waited))
    assert [bar.colour for bar in bars].index("player") == waiting.focal


def test_totals_and_lengths_of_a_queue_follow_its_ticks() -> None:
    found = queue(0)
    env, rewards, over, before, waiting = found.env, 0.0, False, {}, {}
    while not over:
        # At the first decision of a tick, the total covers all earlier ticks.
        facts = env.simulator.info(env._state, 0)
        before.setdefault(int(facts["tick"]), rewards)
        waiting[int(facts["tick"])] = int(facts["waiting"])
        _, reward, _, over, _ = env.step(env.action_space.sample())
        rewards += float(reward)
    name, totals = found.renderer.total(0)
    lengths = found.renderer.lengths(0)
    assert name == "running total of the reward"
    assert totals.shape == lengths.shape == (60,)
    assert totals[-1] == pytest.approx(rewards)
    assert {tick: totals[tick - 1] for tick in before if tick} == pytest.approx(
        {tick: total for tick, total in before.items() if tick}
    )
    assert all(lengths[tick] == length for tick, length in waiting.items() if tick < 59)
    assert found.renderer.clock(env._state, 0) == 60


def test_a_ranking_shows_its_losses_and_deviations() -> None:
    found = Rendered(RankingEnv, 5)
    losses = found.renderer.recorded(0, "true_loss")
    name, total = found.renderer.total(0)
    assert name == "decrease of the true loss"
    np.testing.assert_allclose(total, losses[0] - np.array(losses[1:]))
    true, expected = found.scene.charts[0].curves
    np.testing.assert_allclose(true.y, losses[1:])
    numbers = [losses[-1], found.facts["kendall_tau"], found.facts["top_errors"]]
    tiles = [float(text.replace("−", "-")) for _, text in found.scene.tiles]
    assert tiles == pytest.approx([expected.y[-1], *numbers], abs=0.006)
    deviations = found.scene.charts[1].curves[0].y
    np.testing.assert_allclose(deviations, np.sort(found.renderer.players(found.state, 0)[1])[::-1])
    upset = Rendered(RankingEnv, 1, num_items=2, sigma=0.3)
    pair = ["last pair: item 0", "and item 1", "others (0)"]
    assert upset.renderer.text(upset.state, 0).splitlines()[1:4] == pair
    assert ", Kendall's tau: −1.000, wrong of top 1: 1" in upset.renderer.text(upset.state, 0)


ROWS, COLUMNS = 40, 60


def covered(draw: Callable[[Canvas], None]) -> np.ndarray:
    """Return the share of ink in each pixel of a picture."""
    canvas = Canvas(COLUMNS, ROWS, "light")
    canvas.theme = {"background": (255, 255, 255), "ink": (0, 0, 0)}
    draw(canvas)
    return 1.0 - canvas.pixels()[:, :, 0] / 255.0


def distances(x: float, y: float) -> np.ndarray:
    """Return the distance of each pixel's centre from a point."""
    columns, rows = np.meshgrid(np.arange(COLUMNS) + 0.5, np.arange(ROWS) + 0.5)
    return np.hypot(columns - x, rows - y)


@pytest.mark.parametrize("slope", [0.0, 0.7, -3.0])
def test_the_width_of_a_line_does_not_depend_on_its_slope(slope: float) -> None:
    x = np.linspace(5.0, 55.0, 30)
    x = x[np.abs(slope * (x - 30.0)) < 14.0]
    y = 20.0 + slope * (x - 30.0)
    found = covered(lambda canvas: canvas.line(x, y, 3.0, "ink"))
    length = math.hypot(x[-1] - x[0], slope * (x[-1] - x[0]))
    assert found.sum() == pytest.approx(3.0 * length, rel=0.12, abs=8.0)
    nearest = np.min([distances(*place) for place in zip(x, y, strict=True)], axis=0)
    assert (found[nearest > 4.0] == 0.0).all()


def test_dots_and_single_points_are_discs_and_areas_are_transparent() -> None:
    place, away = (np.array([30.3]), np.array([17.8])), distances(30.3, 17.8)
    for found in (
        covered(lambda canvas: canvas.dots(*place, 2.5, "ink")),
        covered(lambda canvas: canvas.line(*place, 2.5, "ink")),
    ):
        assert found.sum() == pytest.approx(math.pi * 2.5**2, rel=0.1)
        assert found[away < 1.5].min() == pytest.approx(1.0)
        assert found[away > 3.5].max() == 0.0
    pale = covered(lambda canvas: canvas.area(*np.array([[0, 60, 30], [0, 0, 40]]), "ink", 0.3))
    assert pale.max() == pytest.approx(0.3, abs=0.01)
    assert pale.mean() == pytest.approx(0.15, abs=0.01)


def test_boxes_fill_whole_pixels_inside_the_clip() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.clip(Rect(0, 0, 50, 40))
        canvas.box(40, 10, 0.2, 5.4, "ink")
        canvas.box(48, 20, 9, 1, "ink", 0.5)

    found = covered(draw)
    assert np.unique(found) == pytest.approx([0.0, 0.5, 1.0], abs=0.01)
    assert found[10:15, 40].sum() == 5
    assert found[20, 48:].sum() == found[:, 38:].sum() - 5 == pytest.approx(1.0, abs=0.01)


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e9), most=st.integers(1, 20))
def test_ticks_are_round_evenly_spaced_and_few(low: float, span: float, most: int) -> None:
    high = low + span
    step = tick_step(high - low, most)
    lead = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(lead - each) for each in (1.0, 2.0, 5.0, 10.0)) < 1e-6
    found = [value for value, _ in ticks(low, high, most)]
    assert len(found) <= most + 1
    slack = 1e-6 * step + 1e-12 * max(abs(low), abs(high))
    assert all(low - slack <= value <= high + slack for value in found)
    assert np.allclose(np.diff(found), step, rtol=1e-6)


def test_formats_of_numbers_and_limits_of_axes() -> None:
    assert [text for _, text in ticks(-7.3, 5.1, 8)] == ["−6", "−4", "−2", "0", "2", "4"]
    assert [text for _, text in ticks(0.0, 0.1, 2)] == ["0.00", "0.05", "0.10"]
    assert [text for _, text in ticks(-2000.0, 0.0, 2)] == ["−2,000", "−1,000", "0"]
    written = {(-0.0, 2): "0.00", (-1.236, 2): "−1.24", (-1e-7, None): "−1e−07"}
    written |= {(-0.00123, 2): "−0.0012", (2.8e-5, 3): "2.8e−05", (0.0051, 2): "0.01"}
    assert {each: number_text(*each) for each in written} == written
    # Limits grow by whole steps.
    assert widened((0.0, 8.0), (1.0, 7.0)) == (0.0, 8.0)
    assert widened((0.0, 8.0), (0.0, 8.5)) == (0.0, 9.0)
    assert widened((0.0, 8.0), (-1.5, 8.0)) == (-2.0, 8.0)


@pytest.mark.parametrize("anchor", [0.0, 0.5, 1.0])
def test_texts_are_anchored(anchor: float) -> None:
    found = covered(lambda canvas: canvas.text(30, 5, "mm", 12, "ink", anchor))
    middle = np.flatnonzero(found.any(axis=0)).mean()
    width = Canvas(COLUMNS, ROWS, "light").width("mm", 12)
    assert middle - 30 == pytest.approx((0.5 - anchor) * width, abs=1.5)


def test_long_texts_end_in_an_ellipsis_and_fonts_have_all_characters() -> None:
    canvas = Canvas(COLUMNS, ROWS, "light")
    short = canvas.shortened("knowledge gradient", 15, 80.0)
    assert short.endswith("…")
    assert canvas.width(short, 15) <= 80
    assert canvas.shortened("knowledge", 15, 500.0) == "knowledge"
    assert canvas.shortened("knowledge", 15, 1.0) == ""
    for bold in (False, True):
        # The first character is missing, and so rendered as a box.
        surfaces = [_rendered(each, 12, bold, (0, 0, 0)) for each in "\u4e2d→↑↓·μσ−–…é%"]
        missing, *rendered = [pygame.image.tobytes(surface, "RGBA") for surface in surfaces]
        assert missing not in rendered


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    share = np.array([one, other]) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((bright + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("theme", THEMES)
def test_colours_have_enough_contrast(theme: str) -> None:
    colours = THEMES[theme]
    least = {"ink": 4.5, "muted": 4.5, "truth": 4.5, "player": 3.0, "opponent": 3.0}
    for name, ratio in least.items():
        assert contrast(colours[name], colours["background"]) >= ratio
