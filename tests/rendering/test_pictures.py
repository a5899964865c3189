"""Content and layout of pictures; their shapes, texts, ticks and colours."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pygame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygame import Rect
from scipy.stats import norm

from matchenv import MatchmakingEnv, MatchmakingQueueEnv
from matchenv.envs.core.rendering import Pixels
from matchenv.envs.ranking import RankingEnv
from matchenv.rendering.canvas import THEMES, Canvas, Colour, _rendered, line_height
from matchenv.rendering.chart import draw_chart, tick_step, ticks
from matchenv.rendering.picture import LEAST_HEIGHT, LEAST_WIDTH, sheet
from matchenv.rendering.scene import (
    Chart,
    Curve,
    Players,
    belief_chart,
    number_text,
    over_time,
    widened,
)

SIZES = [(800, 600), (480, 360), (LEAST_WIDTH, LEAST_HEIGHT)]
LIMITS = (-6.0, 6.0)
# One skill point is 50 pixels.
BOX = Rect(100, 40, 600, 300)


class Rendered:
    """An environment after some random steps."""

    def __init__(self, make: Any, steps: int, start: Any = None, **options: Any) -> None:
        self.options = options
        self.env = make(render_mode="rgb_array", **options)
        self.env.reset(seed=4, options=start)
        self.env.action_space.seed(0)
        for _ in range(steps):
            self.env.step(self.env.action_space.sample())
        self.renderer = self.env._renderer
        self.state = self.env._state
        self.limits = self.renderer.limits(self.state, 0)
        self.scene = self.renderer.titled(self.state, 0, "title", LIMITS)
        self.info = self.env.simulator.info(self.state, 0)

    def text(self) -> str:
        """Return the description of the episode."""
        return str(self.renderer.text(self.state, 0))


def episode(truth: bool = True, games: int = 1, start: Any = None, **settings: Any) -> Rendered:
    """Return an episode with two opponents, after ``games`` games."""
    options = {"num_opponents": 2, "horizon": 10, "render_true_skill": truth, **settings}
    return Rendered(MatchmakingEnv, games, start, **options)


def queue(steps: int) -> Rendered:
    return Rendered(MatchmakingQueueEnv, steps, horizon=60)


def beliefs(
    sigma: Any = (0.5, 0.5, 0.4), true_skill: Any = None, limits: Any = LIMITS, online: Any = None
) -> Chart:
    """Return the chart of player 0 at -3, opponent 1 at 3, and another player at 0."""
    if true_skill is not None:
        true_skill = np.array(true_skill)
    players = Players(np.array([-3.0, 3.0, 0.0]), np.array(sigma), true_skill)
    return belief_chart(players, [0, 1], limits, online)


def drawn(chart: Chart, theme: str = "light") -> Pixels:
    canvas = Canvas(800, 400, theme)
    with np.errstate(all="raise", under="ignore"):
        draw_chart(canvas, BOX, chart)
    return canvas.pixels()


def near(pixels: Any, theme: str, name: str) -> Any:
    """Return which pixels have a colour, approximately."""
    return np.abs(pixels.astype(int) - np.array(THEMES[theme][name])).max(axis=-1) < 12


def test_beliefs_are_bell_curves_and_narrower_ones_are_higher() -> None:
    curves = beliefs([0.5, 1.0, 0.2]).curves
    assert [(curve.colour, curve.style) for curve in curves] == [
        ("others", "area"),
        ("others", "thin"),
        ("opponent", "area"),
        ("opponent", "line"),
        ("player", "area"),
        ("player", "line"),
    ]
    other = curves[1]
    opponent = curves[3]
    player = curves[5]
    for curve, mu, sigma in ((other, 0.0, 0.2), (opponent, 3.0, 1.0), (player, -3.0, 0.5)):
        bell = np.exp(-0.5 * ((curve.x - mu) / sigma) ** 2)
        np.testing.assert_allclose(curve.y / curve.y.max(), bell, atol=1e-12)
        assert curve.x[np.argmax(curve.y)] == mu
    assert 1.0 > other.y.max() > player.y.max() > opponent.y.max()


def test_true_skills_are_marked() -> None:
    chart = beliefs(true_skill=[-4.0, 5.0, 1.0])
    marks = {marks.colour: marks.values.tolist() for marks in chart.marks if marks.values.size > 0}
    assert marks == {"others": [1.0], "opponent": [5.0], "player": [-4.0]}
    assert not beliefs().marks
    picture = drawn(chart)
    inked = (picture[:, BOX.x + 5 : BOX.right - 5] != 255).any(axis=2)
    axis = int(np.argmax(inked.sum(axis=1)))  # the row with most ink
    for x, name in ((200, "player"), (650, "opponent")):
        assert near(picture[axis : axis + 12, x - 6 : x + 7], "light", name).sum() > 20
        # The dashed line above it, far from all beliefs.
        assert near(picture[BOX.y : BOX.y + 40, x - 1 : x + 2], "light", name).any()
    mark = picture[axis + 3 : axis + 10, 440:460].astype(int)
    assert np.argmin(mark.sum(axis=(0, 2))) == 10


def test_offline_players_are_pale() -> None:
    online = curves_of_others(beliefs())
    assert [curve.style for curve in online] == ["area", "thin"]
    assert online[1].strength > 0.5
    offline = curves_of_others(beliefs(online=np.array([True, True, False])))
    assert [curve.style for curve in offline] == ["thin"]
    assert offline[0].strength == pytest.approx(0.25)


def test_a_band_shows_the_sum_of_many_beliefs_and_chosen_players_keep_their_curves() -> None:
    rng = np.random.default_rng(0)
    mu = rng.normal(size=500)
    sigma = rng.uniform(0.5, 1.5, size=500)
    games = np.zeros(500, dtype=np.int64)
    games[[7, 8]] = (1, 4)
    chart = belief_chart(Players(mu, sigma, None), [0], LIMITS, games=games)
    area, outline = curves_of_others(chart)
    assert (area.style, outline.style) == ("area", "thin")
    others = np.delete(np.arange(500), [0, 7, 8])
    density = norm.pdf(outline.x[:, np.newaxis], mu[others], sigma[others]).sum(axis=1)
    np.testing.assert_allclose(outline.y / outline.y.max(), density / density.max(), atol=1e-9)
    chosen = [curve for curve in chart.curves if curve.colour == "opponent"]
    assert [curve.x.mean() for curve in chosen] == pytest.approx(mu[[7, 8]])
    assert chosen[0].strength < chosen[1].strength == 1.0
    few_chosen = belief_chart(Players(mu, sigma, None), [], LIMITS, games=np.ones(500, dtype=int))
    assert curves_of_others(few_chosen) == []
    assert len(few_chosen.curves) <= 100


def test_cells_touch_and_are_coloured_by_their_shades() -> None:
    shades = np.array([0.0, 0.5, 1.0])
    cells = Curve(np.array([0.5, 1.5, 2.5]), np.full(3, 0.5), "truth", "cells", shades=shades)
    picture = drawn(Chart((0.0, 3.0), (0.0, 1.0), [cells]))
    uneven = np.array(THEMES["light"]["uneven"])
    even = np.array(THEMES["light"]["truth"])
    row = picture[BOX.y + 60, BOX.x : BOX.right].astype(int)
    for place, colour in ((100, uneven), (300, (uneven + even) / 2), (500, even)):
        assert np.abs(row[place] - colour).max() <= 1
    assert (row < 255).any(axis=1).all()


def curves_of_others(chart: Chart) -> list[Curve]:
    return [curve for curve in chart.curves if curve.colour == "others"]


class Line(NamedTuple):
    """A line of text on a canvas."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """Return a list to which every line of text that is drawn is appended."""
    drawn_lines: list[Line] = []
    draw = Canvas.text

    def record(
        self: Canvas,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        anchor: float = 0.0,
        bold: bool = False,
    ) -> int:
        width = draw(self, x, y, text, size, colour, anchor, bold)
        left = x - anchor * width
        drawn_lines.append(Line(text, left, y, left + width, y + line_height(size)))
        return width

    monkeypatch.setattr(Canvas, "text", record)
    return drawn_lines


@pytest.mark.parametrize("theme", THEMES)
def test_curves_match_the_axes(theme: str, lines: list[Line]) -> None:
    rising = over_time(np.linspace(0.0, 10.0, 5000), "player")
    picture = drawn(Chart((0.0, 5000.0), (0.0, 10.0), [rising], unit="game"), theme)
    values = [line.text for line in lines if line.right < BOX.x + 20 and line.top < BOX.bottom - 20]
    assert values == ["0", "2", "4", "6", "8", "10"]
    assert "5,000 games" in [line.text for line in lines]
    rows, columns = np.nonzero(near(picture, theme, "player"))
    slope = np.polyfit(columns, rows, 1)[0]
    assert slope == pytest.approx(-(rows.max() - rows.min()) / 585, rel=0.05)


def test_titles_are_above_the_ticks_and_counts_are_integers(lines: list[Line]) -> None:
    drawn(Chart((0.0, 3.0), (0.0, 1.0), [], titles=[("title", "ink")], unit="game"))
    by_text = {line.text: line for line in lines}
    assert by_text["title"].bottom <= by_text["1.0"].top
    counts = [line.text for line in lines if line.left > BOX.x + 60]
    assert counts == ["3 games", "1", "2"]


@pytest.mark.parametrize("theme", THEMES)
def test_curves_over_the_skill_axis_are_clipped(theme: str) -> None:
    curve = Curve(np.array([-60.0, 60.0]), np.full(2, 0.5), "player")
    picture = drawn(Chart(LIMITS, (0.0, 1.0), [curve]), theme)
    columns = np.flatnonzero(near(picture, theme, "player").any(axis=0))
    assert columns.min() == BOX.x
    assert columns.max() == BOX.right - 1


@pytest.mark.parametrize(
    ("mu", "sigma", "limits"),
    [
        ([1e30, -1e30, 0.0], [1e28, 1.0, 1.0], (-1.1e30, 1.1e30)),
        ([0.0, 0.0, 0.0], [1e-30, 1e-30, 1e-30], (-1e-6, 1e-6)),
        ([0.0, 0.0, 0.0], [1e-30, 1e3, 1.0], (-2500.0, 2500.0)),
    ],
)
def test_extreme_beliefs_are_drawn_without_a_warning(mu: Any, sigma: Any, limits: Any) -> None:
    means = np.array(mu)
    chart = belief_chart(Players(means, np.array(sigma), means), [0], limits)
    assert near(drawn(chart), "light", "player").any()


def starts_that_differ_in_true_skill() -> list[dict[str, Any]]:
    belief = {"mu": [-3.0, 3.0, 0.0], "sigma": [0.5, 0.5, 0.4]}
    true_skill = np.array([-4.9, 5.1, 1.1])
    return [{**belief, "true_skill": true_skill}, {**belief, "true_skill": true_skill + 9.0}]


def test_hidden_true_skills_do_not_affect_pictures() -> None:
    one, other = (episode(False, 0, start) for start in starts_that_differ_in_true_skill())
    np.testing.assert_array_equal(picture_of(one), picture_of(other))
    assert one.limits == other.limits
    assert one.limits[1] >= 3.0


def test_shown_true_skills_affect_pictures_and_axes() -> None:
    one, other = (episode(True, 0, start) for start in starts_that_differ_in_true_skill())
    assert (picture_of(one) != picture_of(other)).any()
    assert one.limits != other.limits
    assert one.limits[1] >= 5.1


def picture_of(rendered: Rendered) -> Pixels:
    return sheet([rendered.scene], 800, 0.75)


def change_true_skills_of_ranking(ranking: Rendered) -> None:
    ranking.state.true_skill[:] += 9.0
    for record in ranking.renderer._records:
        record.values["true_loss"][:] = 1e6


def change_true_skills_of_queue(waiting: Rendered) -> None:
    waiting.state.players["true_skill"] += 9.0


@pytest.mark.parametrize(
    ("make", "change_true_skills"),
    [
        (RankingEnv, change_true_skills_of_ranking),
        (MatchmakingQueueEnv, change_true_skills_of_queue),
    ],
)
def test_hidden_true_skills_do_not_affect_other_environments(
    make: Any, change_true_skills: Callable[[Rendered], None]
) -> None:
    rendered = Rendered(make, 5, render_true_skill=False)
    before = picture_of(rendered)
    change_true_skills(rendered)
    rendered.scene = rendered.renderer.titled(rendered.state, 0, "title", LIMITS)
    np.testing.assert_array_equal(picture_of(rendered), before)
    assert rendered.renderer.limits(rendered.state, 0) == rendered.limits


def crowded_episodes() -> list[Rendered]:
    """Return episodes whose pictures have long texts, many players or equal values."""
    episodes = [queue(0), queue(60)]
    for truth in (True, False):
        for steps in (0, 60):
            episodes.append(Rendered(RankingEnv, steps, render_true_skill=truth))
        for others, horizon, games in ((1, 1, 1), (9, 40, 0), (49, 500, 3), (1000, 10**9, 3)):
            episodes.append(
                episode(truth, games, num_opponents=others, horizon=horizon, rank="top")
            )
    for centre in (0.0, 1e9):
        known_skills = {"mu": np.full(3, centre), "sigma": np.full(3, 1e-9)}
        episodes.append(episode(start=known_skills))
    return episodes


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_texts_neither_overlap_nor_leave_the_picture(
    lines: list[Line], width: int, height: int
) -> None:
    title = "knowledge_gradient:finite_horizon=True,belief=full " * 3
    for rendered in crowded_episodes():
        lines.clear()
        sheet([rendered.renderer.titled(rendered.state, 0, title)], width, height / width)
        visible = [letters_of(line) for line in lines if line.text]
        assert len(visible) > 15
        for line in visible:
            assert 0 <= line.left <= line.right <= width, line
            assert 0 <= line.top <= line.bottom <= height, line
        for one, other in itertools.combinations(visible, 2):
            beside = one.right <= other.left or other.right <= one.left
            above = one.bottom <= other.top or other.bottom <= one.top
            assert beside or above, (one, other)


def letters_of(line: Line) -> Line:
    """Return the box of the letters, which are lower than lines."""
    margin = 0.2 * (line.bottom - line.top)
    return line._replace(top=line.top + margin, bottom=line.bottom - margin)


def test_a_film_of_two_policies_names_every_line(lines: list[Line]) -> None:
    sheet([episode(horizon=500).scene], 419, 0.9)
    texts = {line.text for line in lines}
    assert {"place by skill:", "uneven", "true q, mean of 25", "believed", "even"} <= texts


@pytest.mark.parametrize(
    ("truth", "q_name", "info"),
    [(True, "true q", "true_draw_density"), (False, "q", "draw_density")],
)
def test_numbers_and_curves_match_the_episode(truth: bool, q_name: str, info: str) -> None:
    rendered = episode(truth, games=3, draw_margin=5.0, horizon=40)
    renderer = rendered.renderer
    q = renderer.recorded(0, info)[1:]
    outcomes = renderer.recorded(0, "outcome")[1:]
    last_outcome = {1: "won", 0: "draw", -1: "lost"}[outcomes[-1]]
    scene = rendered.scene
    assert scene.progress == "game 3 of 40"
    assert scene.others.startswith("others (1)")
    assert list(scene.tiles) == [
        ("last game", last_outcome),
        ("win ratio", f"{50 + 50 * sum(outcomes) / 3:.0f} %"),
        (f"last {q_name}", number_text(q[-1], 3)),
        (f"total {q_name}", number_text(sum(q), 2)),
        ("games left", "37"),
    ]
    _, q_chart = scene.charts
    np.testing.assert_allclose(q_chart.curves[1].y, q)
    # Mean of the last two games, 5 % of the horizon.
    means = [q[0], (q[0] + q[1]) / 2.0, (q[1] + q[2]) / 2.0]
    np.testing.assert_allclose(q_chart.curves[-1].y, means)
    measure, total = renderer.total(0)
    assert measure == f"running total of {q_name}"
    np.testing.assert_allclose(total, np.cumsum(q))


@pytest.mark.parametrize("truth", [True, False])
def test_the_strip_shows_the_opponent_of_each_game_by_place(truth: bool) -> None:
    env = MatchmakingEnv(
        render_mode="rgb_array", num_opponents=30, horizon=40, render_true_skill=truth, rank="top"
    )
    env.reset(seed=2)
    env.action_space.seed(1)
    places = []
    for _ in range(25):
        skills = env.true_skill.copy() if truth else env.knowledge_state.mu.copy()
        action = env.action_space.sample()
        order = sorted(range(30), key=lambda k: -skills[k + 1])
        places.append(order.index(action))
        env.step(action)
    renderer = env._renderer
    scene = renderer.titled(env._state, 0, "", LIMITS)
    strip, _ = scene.charts
    cells, line = strip.curves
    np.testing.assert_array_equal(cells.x, np.arange(25) + 0.5)
    np.testing.assert_array_equal(cells.y, -np.array(places) - 0.5)
    q = renderer.recorded(0, "true_draw_density" if truth else "draw_density")[1:]
    assert np.corrcoef(cells.shades, q)[0, 1] == pytest.approx(1.0)
    assert 0.0 <= cells.shades.min() <= cells.shades.max() <= 1.0
    if truth:
        assert set(line.y) == {-np.count_nonzero(env.true_skill[1:] > env.true_skill[0])}
    low, high = strip.y
    assert low <= cells.y.min() <= cells.y.max() <= high
    for height, label in strip.y_ticks:
        assert height == 0.5 - int(label)


def test_axes_end_where_the_episode_ends() -> None:
    rendered = episode(games=3, horizon=40)
    rendered.renderer.end = 20
    scene = rendered.renderer.titled(rendered.state, 0, "", LIMITS)
    assert [chart.x[1] for chart in scene.charts] == [20, 20]


def test_highlighted_players_are_named_with_their_beliefs() -> None:
    rendered = episode(games=3)
    known = rendered.env.knowledge_state
    last = int(rendered.renderer.recorded(0, "action")[-1]) + 1
    for name, role, k in zip(
        rendered.scene.highlighted, ("player 0", f"opponent {last}"), (0, last), strict=True
    ):
        assert name == f"{role}   μ {number_text(known.mu[k], 2)}  σ {known.sigma[k]:.2f}"


def test_texts_list_the_opponents_online() -> None:
    env = MatchmakingEnv(
        render_mode="ansi", num_opponents=12, horizon=9, availability=0.5, mean_stay=3.0
    )
    env.reset(seed=1)
    for _ in range(5):
        online = np.flatnonzero(env.action_masks()) + 1
        description = str(env.render())
        listed = []
        for line in description.splitlines():
            first_column = line[:8].strip()
            if first_column.isdigit():
                listed.append(int(first_column))
        assert sorted(listed) == online.tolist()
        assert f", {12 - online.size} offline" in description
        env.step(env.action_space.sample())
    assert "and 29 more" in Rendered(MatchmakingEnv, 0).text()


def test_a_queue_shows_its_players_and_totals() -> None:
    assert queue(0).scene.tiles[-1] == ("mean wait", "–")
    rendered = queue(60)
    waiting = rendered.env.waiting_parties()
    info = rendered.info
    scene = rendered.scene
    assert info["matched_players"] > 0
    for name, role, k in zip(
        scene.highlighted,
        ("focal", "nearest"),
        (waiting.focal, waiting.candidates[0]),
        strict=True,
    ):
        assert name.startswith(f"{role}: player {waiting.party[k]}, {waiting.waited[k]} tick")
    assert scene.others == f"others ({waiting.mu.size - 2})"
    assert [number for _, number in scene.tiles] == [
        str(waiting.mu.size),
        str(waiting.playing),
        str(info["matched_players"]),
        str(info["abandoned"]),
        f"{info['mean_wait']:.2f}",
    ]
    assert [curve.colour for curve in scene.beliefs.curves[-3::2]] == ["opponent", "player"]
    lengths = scene.charts[0]
    assert lengths.y[1] > lengths.curves[0].y.max() > 4


def test_the_text_of_a_queue_lists_the_candidates_with_qualities() -> None:
    rendered = queue(60)
    waiting = rendered.env.waiting_parties()
    lines = rendered.text().splitlines()
    assert lines[0] == f"tick {rendered.info['tick']} of 60"
    assert lines[6].split()[:2] == ["focal", str(waiting.party[waiting.focal])]
    listed = [line.split()[-1] for line in lines[7:]]
    assert listed == [f"{quality:.4f}" for quality in waiting.candidate_quality()]


def test_arcs_join_the_players_of_games_and_bars_are_waiting_times() -> None:
    rendered = queue(60)
    waiting = rendered.env.waiting_parties()
    curves = rendered.scene.charts[1].curves
    arcs = [curve for curve in curves if curve.colour == "game"]
    means = rendered.env.simulator.means_in_games(rendered.state, 0)
    ends = [sorted((arc.x[0], arc.x[-1])) for arc in arcs]
    np.testing.assert_allclose(ends, np.sort(means, axis=1))
    for arc in arcs:
        assert arc.y.min() > -1e-9
        assert arc.y[0] < 1e-9 < arc.y.max() <= 1.0
    bars = curves[1 + len(arcs) :]
    np.testing.assert_array_equal([bar.x for bar in bars], np.stack([waiting.mu] * 2, axis=1))
    lengths = np.array([bar.y[0] - bar.y[1] for bar in bars])
    np.testing.assert_array_equal(np.argsort(lengths), np.argsort(waiting.waited))
    assert [bar.colour for bar in bars].index("player") == waiting.focal


def teams(steps: int, **options: Any) -> Rendered:
    """Return a queue of 3 against 3 with parties."""
    settings = {"side_size": 3, "party_sizes": (0.5, 0.3, 0.2), "arrival_rate": 2.0, "horizon": 60}
    return Rendered(MatchmakingQueueEnv, steps, **{**settings, **options})


def dots_at(chart: Chart, y: float) -> list[float]:
    """Return the values at which a chart has dots in a row."""
    values: list[float] = []
    for curve in chart.curves:
        if curve.style == "dots" and (curve.y == y).all():
            values += curve.x.tolist()
    return sorted(values)


def steps_to_a_lobby() -> int:
    """Return after how many steps a lobby has several parties, and a game is under way."""
    for steps in range(40, 90):
        rendered = teams(steps)
        waiting = rendered.env.waiting_parties()
        if waiting.lobby.size > 1 and rendered.info["playing"] > 0:
            return steps
    raise AssertionError


@pytest.mark.parametrize("truth", [True, False])
def test_the_open_lobby_and_the_last_split_are_shown(truth: bool) -> None:
    steps = steps_to_a_lobby()
    rendered = teams(steps, render_true_skill=truth)
    waiting = rendered.env.waiting_parties()
    chart = rendered.scene.charts[1]
    in_lobby = []
    for party in waiting.lobby:
        in_lobby += waiting.member_mu[party, : waiting.size[party]].tolist()
    assert dots_at(chart, 2.0) == sorted(in_lobby)
    founder, joined = rendered.scene.highlighted
    assert f"party {waiting.party[waiting.focal]} ({waiting.size[waiting.focal]} player" in founder
    assert f"{waiting.lobby_size} of 6 seats" in joined
    sides = [dots_at(chart, 1.0), dots_at(chart, 0.0)]
    means = rendered.env.simulator.means_in_games(rendered.state, 0)[-1]
    np.testing.assert_allclose(np.mean(sides, axis=1), means)
    # The labels are those of the last game that began.
    last = last_game_of(rendered, steps)
    for (_, label), believed, true in zip(chart.y_ticks[1:], *last, strict=True):
        expected = f"{believed:.2f}"
        if truth:
            expected += f" ({true:.2f})"
        assert label == expected


def last_game_of(rendered: Rendered, steps: int) -> tuple[Any, Any]:
    """Return the win probabilities of the last game that began in the same steps."""
    env = MatchmakingQueueEnv(**rendered.options)
    env.reset(seed=4)
    env.action_space.seed(0)
    last = (np.zeros(2), np.zeros(2))
    for _ in range(steps):
        *_, info = env.step(env.action_space.sample())
        if info["match_quality"] > 0.0:
            last = (info["win_probability"], info["true_win_probability"])
    return last


def test_the_text_of_a_lobby_lists_its_parties_and_the_candidates() -> None:
    rendered = teams(steps_to_a_lobby())
    waiting = rendered.env.waiting_parties()
    lines = rendered.text().splitlines()
    rows = [line.split() for line in lines[6:]]
    lobby = rows[: waiting.lobby.size]
    assert [row[0] for row in lobby] == ["founder"] + ["joined"] * (waiting.lobby.size - 1)
    parties = [*waiting.lobby, *waiting.candidates]
    assert [int(row[1]) for row in rows] == waiting.party[parties].tolist()
    assert [int(row[2]) for row in rows] == waiting.size[parties].tolist()
    qualities = [f"{quality:.4f}" for quality in waiting.candidate_quality()]
    assert [row[-1] for row in rows[waiting.lobby.size :]] == qualities


def test_dots_can_lie_on_any_skill_axis() -> None:
    for limits in ((-9.0, -3.0), (0.0, 1e-3), (-2e5, 2e5)):
        middle = np.full(1, np.mean(limits))
        dots = Curve(middle, np.full(1, 0.5), "player", "dots")
        assert near(drawn(Chart(limits, (0.0, 1.0), [dots])), "light", "player").any()


def test_totals_and_lengths_of_a_queue_follow_its_ticks() -> None:
    rendered = queue(0)
    env = rendered.env
    rewards = 0.0
    rewards_before: dict[int, float] = {}  # before the first decision of a tick
    waiting: dict[int, int] = {}  # players at the first decision of a tick
    truncated = False
    while not truncated:
        info = env.simulator.info(env._state, 0)
        tick = int(info["tick"])
        rewards_before.setdefault(tick, rewards)
        waiting.setdefault(tick, int(info["waiting"]))
        _, reward, _, truncated, _ = env.step(env.action_space.sample())
        rewards += float(reward)
    name, totals = rendered.renderer.total(0)
    lengths = rendered.renderer.lengths(0)
    assert name == "running total of the reward"
    assert totals.shape == lengths.shape == (60,)
    assert totals[-1] == pytest.approx(rewards)
    # Ticks without a decision are in neither dictionary.
    assert len(rewards_before) > 20
    for tick, total in rewards_before.items():
        if tick > 0:
            assert totals[tick - 1] == pytest.approx(total)
    for tick, length in waiting.items():
        if tick < 60:
            assert lengths[tick] == length
    assert rendered.renderer.clock(env._state, 0) == 60


def test_a_ranking_shows_its_losses_and_deviations() -> None:
    rendered = Rendered(RankingEnv, 5)
    info = rendered.info
    losses = rendered.renderer.recorded(0, "true_loss")
    name, total = rendered.renderer.total(0)
    assert name == "decrease of the true loss"
    np.testing.assert_allclose(total, losses[0] - losses[1:])
    loss_chart, deviation_chart = rendered.scene.charts
    true, expected = loss_chart.curves
    np.testing.assert_allclose(true.y, losses[1:])
    numbers = [expected.y[-1], losses[-1], info["kendall_tau"], info["top_errors"]]
    tiles = [float(number.replace("−", "-")) for _, number in rendered.scene.tiles]
    assert tiles == pytest.approx(numbers, abs=0.006)
    sigma = rendered.renderer.players(rendered.state, 0).sigma
    np.testing.assert_allclose(deviation_chart.curves[0].y, np.sort(sigma)[::-1])


def test_the_text_of_a_ranking_names_the_last_pair_and_the_errors() -> None:
    upset = Rendered(RankingEnv, 1, num_items=2, sigma=0.3).text()
    assert upset.splitlines()[1:4] == ["last pair: item 0", "and item 1", "others (0)"]
    assert ", Kendall's tau: −1.000, wrong of top 1: 1" in upset


ROWS = 40
COLUMNS = 60


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
    ink = covered(lambda canvas: canvas.line(x, y, 3.0, "ink"))
    length = math.hypot(x[-1] - x[0], slope * (x[-1] - x[0]))
    assert ink.sum() == pytest.approx(3.0 * length, rel=0.12, abs=8.0)
    distance = np.min([distances(*point) for point in zip(x, y, strict=True)], axis=0)
    assert (ink[distance > 4.0] == 0.0).all()


def test_dots_and_single_points_are_discs_and_areas_are_transparent() -> None:
    x = np.array([30.3])
    y = np.array([17.8])
    distance = distances(30.3, 17.8)
    for ink in (
        covered(lambda canvas: canvas.dots(x, y, 2.5, "ink")),
        covered(lambda canvas: canvas.line(x, y, 2.5, "ink")),
    ):
        assert ink.sum() == pytest.approx(math.pi * 2.5**2, rel=0.1)
        assert ink[distance < 1.5].min() == pytest.approx(1.0)
        assert ink[distance > 3.5].max() == 0.0
    corners_x = np.array([0.0, 60.0, 30.0])
    corners_y = np.array([0.0, 0.0, 40.0])
    pale = covered(lambda canvas: canvas.area(corners_x, corners_y, "ink", 0.3))
    assert pale.max() == pytest.approx(0.3, abs=0.01)
    assert pale.mean() == pytest.approx(0.15, abs=0.01)


def test_boxes_fill_whole_pixels_inside_the_clip() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.clip(Rect(0, 0, 50, 40))
        canvas.box(40, 10, 0.2, 5.4, "ink")
        canvas.box(48, 20, 9, 1, "ink", 0.5)

    ink = covered(draw)
    assert np.unique(ink) == pytest.approx([0.0, 0.5, 1.0], abs=0.01)
    assert ink[10:15, 40].sum() == 5
    assert ink[20, 48:].sum() == pytest.approx(1.0, abs=0.01)
    assert ink.sum() == pytest.approx(6.0, abs=0.01)


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e9), most=st.integers(1, 20))
def test_ticks_are_round_evenly_spaced_and_few(low: float, span: float, most: int) -> None:
    high = low + span
    step = tick_step(high - low, most)
    lead = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert np.isclose(lead, [1.0, 2.0, 5.0, 10.0], rtol=0.0, atol=1e-6).any()
    values = np.array([tick.value for tick in ticks(low, high, most)])
    assert values.size <= most + 1
    slack = 1e-6 * step + 1e-12 * max(abs(low), abs(high))
    assert (values >= low - slack).all()
    assert (values <= high + slack).all()
    assert np.allclose(np.diff(values), step, rtol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "most", "labels"),
    [
        (-7.3, 5.1, 8, ["−6", "−4", "−2", "0", "2", "4"]),
        (0.0, 0.1, 2, ["0.00", "0.05", "0.10"]),
        (-2000.0, 0.0, 2, ["−2,000", "−1,000", "0"]),
    ],
)
def test_labels_of_ticks(low: float, high: float, most: int, labels: Sequence[str]) -> None:
    assert [tick.label for tick in ticks(low, high, most)] == labels


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [
        (-0.0, 2, "0.00"),
        (-1.236, 2, "−1.24"),
        (0.0051, 2, "0.01"),
        (-0.00123, 2, "−0.0012"),  # two significant digits rather than -0.00
        (2.8e-5, 3, "2.8e−05"),
        (-1e-7, None, "−1e−07"),
    ],
)
def test_formats_of_numbers(value: float, places: int | None, expected: str) -> None:
    assert number_text(value, places) == expected


def test_limits_of_axes_grow_by_whole_steps() -> None:
    assert widened((0.0, 8.0), (1.0, 7.0)) == (0.0, 8.0)
    assert widened((0.0, 8.0), (0.0, 8.5)) == (0.0, 9.0)
    assert widened((0.0, 8.0), (-1.5, 8.0)) == (-2.0, 8.0)


@pytest.mark.parametrize("anchor", [0.0, 0.5, 1.0])
def test_texts_are_anchored(anchor: float) -> None:
    ink = covered(lambda canvas: canvas.text(30, 5, "mm", 12, "ink", anchor))
    middle = np.flatnonzero(ink.any(axis=0)).mean()
    width = Canvas(COLUMNS, ROWS, "light").width("mm", 12)
    assert middle - 30 == pytest.approx((0.5 - anchor) * width, abs=1.5)


def test_long_texts_end_in_an_ellipsis() -> None:
    canvas = Canvas(COLUMNS, ROWS, "light")
    short = canvas.shortened("knowledge gradient", 15, 80.0)
    assert short.endswith("…")
    assert canvas.width(short, 15) <= 80
    assert canvas.shortened("knowledge", 15, 500.0) == "knowledge"
    assert canvas.shortened("knowledge", 15, 1.0) == ""


@pytest.mark.parametrize("bold", [False, True])
def test_fonts_have_all_characters(bold: bool) -> None:
    def glyph(character: str) -> bytes:
        surface = _rendered(character, 12, bold, (0, 0, 0))
        return pygame.image.tobytes(surface, "RGBA")

    missing = glyph("\u4e2d")  # a Chinese character, rendered as a box
    for character in "→↑↓·μσ−–…é%":
        assert glyph(character) != missing, character


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    share = np.array([one, other]) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((bright + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("theme", THEMES)
def test_colours_have_enough_contrast(theme: str) -> None:
    colours = THEMES[theme]
    texts = {"ink", "muted", "truth", "uneven", "game", "second", "third", "fourth", "fifth"}
    for name in texts:
        assert contrast(colours[name], colours["background"]) >= 4.5, name
    for name in ("player", "opponent", "others"):
        assert contrast(colours[name], colours["background"]) >= 3.0, name
    # No colour has two names.
    assert len(set(colours.values())) == len(colours)
