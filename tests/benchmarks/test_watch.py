"""Policies side by side: games, pictures, window and films."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image
from refusals import refusals

from matchenv.benchmarks import watch
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.evaluation.seeds import INSTANCES, OTHERS, QUEUE_RUNS, REPORT, episode_seeds

SETTINGS = Settings.checked(num_opponents=5, horizon=12)
QUEUE_SETTINGS = QueueSettings(horizon=12, capacity=5)
RANKING_SETTINGS = RankingSettings(num_items=4, horizon=12)
POLICIES = ("pe", "drawchance", "kg", "random", "oracle", "kg:multiplier=3")


def stage(*policies: str, **arguments: Any) -> watch.Stage:
    arguments.setdefault("episodes", 2)
    return watch.Stage(policies or ("pe", "drawchance"), SETTINGS, **arguments)


def queue_stage(*policies: str, **arguments: Any) -> watch.Stage:
    arguments.setdefault("episodes", 2)
    return watch.Stage(policies or ("fcfs", "window"), QUEUE_SETTINGS, **arguments)


def state_of(stage: watch.Stage, performer: int = 0) -> Any:
    return stage.performers[performer].episodes.state


def totals_of(stage: watch.Stage) -> list[Any]:
    """Return the running total of each policy."""
    _, totals = stage.totals()
    return totals


@pytest.mark.parametrize(
    ("policy", "settings", "key", "measure"),
    [
        ("drawchance", SETTINGS, (INSTANCES,), "draw_density"),
        ("window", QUEUE_SETTINGS, (QUEUE_RUNS, REPORT, INSTANCES), "reward"),
        ("kg", RANKING_SETTINGS, (OTHERS, REPORT, INSTANCES), "reward"),
    ],
)
def test_a_policy_plays_the_episode_of_its_seed(
    policy: str, settings: Any, key: tuple[int, ...], measure: str
) -> None:
    watched = watch.Stage([policy], settings, seed=4, episode=2, show_true_skill=False)
    for unit in range(1, 13):
        watched.step()
        assert watched.clock == unit
        assert watched.performers[0].renderer.clock(state_of(watched), 0) >= unit
        (total,) = totals_of(watched)
        assert total.shape == (unit,)
    # As in a comparison, whose measures of the queue are sums over visits.
    summary = rollout(policy_named(policy, settings), settings, episode_seeds(4, 2, 1, key))
    assert total[-1] == pytest.approx(summary[measure][0])


@pytest.mark.parametrize(("make", "other"), [(stage, "pe"), (queue_stage, "fcfs")])
def test_policies_do_not_affect_each_other(make: Any, other: str) -> None:
    alone = make("random", seed=3)
    beside = make(other, "random", seed=3)
    alone.step(12)
    beside.step(12)
    np.testing.assert_array_equal(totals_of(alone)[0], totals_of(beside)[1])


def test_policies_with_different_beliefs_play_the_same_instance() -> None:
    watched = stage("kg", "kg:belief=full", "oracle", seed=1)
    true_skills = [state_of(watched, performer).players[..., 2] for performer in range(3)]
    np.testing.assert_array_equal(true_skills, [true_skills[0]] * 3)
    other = replace(watched, episode=1)
    assert (state_of(other).players[..., 2] != true_skills[0]).any()
    watched.step(100)
    assert watched.clock == 12
    assert other.clock == 0
    kg, full, oracle = (total[-1] for total in totals_of(watched))
    assert kg <= oracle + 1e-12
    assert full <= oracle + 1e-12


COUNT = "policy must name 1 to 6 distinct policies"
test_bad_arguments_are_refused = refusals(
    ({"policies": ()}, COUNT),
    ({"policies": ("pe", "pe")}, COUNT),
    ({"policies": [f"kg:multiplier={m}" for m in range(1, 8)]}, COUNT),
    ({"policies": ["nobody"]}, "policy must be one of"),
    ({"policies": ["kg:speed=3"]}, "speed"),
    ({"seed": -1}, "seed must"),
    ({"seed": 0.5}, "seed must"),
    ({"episode": -1}, "episode must"),
    ({"theme": "pink"}, "theme must"),
    ({"episodes": 1}, "episodes must"),
    ({"width": 0}, "width must"),
    ({"width": 641}, "width must"),
    ({"width": -5}, "width must"),
    ({"width": 1e9}, "width must"),
    ({"width": "wide"}, "width must"),
    ({"width": 8000}, "width must"),
    call=lambda change: watch.Stage(**{"policies": ["pe", "kg"], "settings": SETTINGS, **change}),
)


def test_policies_share_one_skill_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = stage("pe", "drawchance", "kg", width=1001, theme="dark")
    watched.step(4)
    assert watched.picture().shape[:2] == (496, 1000)
    sheets: list[Any] = []
    monkeypatch.setattr("matchenv.benchmarks.watch.sheet", lambda *sheet: sheets.append(sheet))
    watched.picture()
    ((scenes, width, _, theme, _, footer),) = sheets
    assert width == 332
    assert theme == "dark"
    assert footer is None
    assert [scene.title for scene in scenes] == ["pe", "drawchance", "kg"]
    assert {scene.progress for scene in scenes} == {"game 4 of 12"}
    lows = []
    highs = []
    for scene, performer in zip(scenes, watched.performers, strict=True):
        state = performer.episodes.state
        assert scene.tiles == performer.renderer.scene(state, 0, (0.0, 1.0)).tiles
        low, high = performer.renderer.limits(state, 0)
        lows.append(low)
        highs.append(high)
    assert {scene.beliefs.x for scene in scenes} == {(min(lows), max(highs))}


def test_differences_have_a_line_per_other_policy() -> None:
    watched = queue_stage("fcfs", "window", "random", width=1000)
    watched.step(12)
    chart = watched.differences()
    first, *others = totals_of(watched)
    for curve, total, colour in zip(chart.curves[1:], others, watch.LINE_COLOURS, strict=False):
        assert curve.colour == colour
        np.testing.assert_array_equal(curve.y, total - first)
        assert chart.y[0] <= curve.y.min() <= curve.y.max() <= chart.y[1]
    assert "running total of the reward, minus that of fcfs" in chart.heading
    assert [title.split()[0] for title, _ in chart.titles] == ["window", "random"]
    plain = watched.picture()
    footed = watched.picture(("left", "right"))
    assert footed.shape[0] > plain.shape[0]
    assert (plain[-130:-40] != 255).any(axis=2).mean() > 0.01


@pytest.mark.parametrize("count", range(1, watch.MOST_POLICIES + 1))
def test_default_sizes_fit_on_a_screen(count: int) -> None:
    height, width, _ = stage(*POLICIES[:count]).picture().shape
    assert width <= 1440
    if count > 1:
        height -= width * 0.13  # the chart below
    assert height <= 756


def test_a_gif_has_a_frame_per_moment_and_a_png_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    again = tmp_path / "again.gif"
    last = tmp_path / "last.png"
    look: dict[str, Any] = {"width": 700, "theme": "dark"}
    for film in (path, again):
        assert watch.write_film(queue_stage(**look), film, until=11, every=5, quiet=True) == 4
    assert path.read_bytes() == again.read_bytes()
    assert watch.write_film(queue_stage(**look), last, until=11, every=5, quiet=True) == 1
    with Image.open(path) as images:
        assert images.info["loop"] == 0
        duration = 0
        for frame in range(images.n_frames):  # equal frames are merged into a longer one
            images.seek(frame)
            duration += images.info["duration"]
        assert duration == 3 * 100 + 1000 * watch.LAST_SECONDS
        watched = queue_stage(**look)
        for frame in (0, images.n_frames - 1):
            images.seek(frame)
            pixels = np.asarray(images.convert("RGB"), dtype=int)
            watched.end_at(11)
            expected = watched.picture(watched.caption)
            assert pixels.shape == expected.shape
            # The palette is limited, so pixels differ slightly.
            assert np.abs(pixels - expected).mean() < 1.0
            watched.step(11)
    with Image.open(last) as picture:
        np.testing.assert_array_equal(np.asarray(picture), expected)
    assert {*tmp_path.iterdir()} == {path, again, last}


def test_films_are_slow_while_policies_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    first = np.arange(400.0)
    other = first + np.interp(np.arange(400), [99, 199], [0.0, 5.0])
    monkeypatch.setattr(watch.Stage, "totals", lambda _: ("reward", [first, other]))
    watched = watch.Stage(("drawchance", "pe"), replace(SETTINGS, horizon=400))
    moments = watch.moments_of(watched, 400)
    assert watched.clock == 0
    assert (moments[0], moments[-1]) == (0, 400)
    lengths = np.diff(moments)
    assert lengths.min() > 0
    ends = np.array(moments[1:])
    slow = lengths[(ends > 105) & (ends <= 199)]
    fast = lengths[(ends < 80) | (ends > 230)]
    assert slow.max() <= 2
    assert 5 * slow.mean() < fast[:-1].mean()


def test_alike_policies_and_single_ones_have_even_frames() -> None:
    for policies in (("pe",), ("kg", "kg:multiplier=0")):
        moments = watch.moments_of(stage(*policies), 12)
        assert moments == list(range(13)) or len(set(np.diff(moments))) <= 3


def test_mean_differences_are_those_of_the_first_episodes() -> None:
    watched = stage("pe", "kg", seed=5, episodes=4)
    (mean,) = watched.mean_differences()
    differences = []
    for episode in range(4):
        one = stage("pe", "kg", seed=5, episode=episode)
        one.step(12)
        pe, kg = totals_of(one)
        differences.append(kg[-1] - pe[-1])
    assert mean.mean == pytest.approx(np.mean(differences))
    assert mean.standard_error == pytest.approx(np.std(differences, ddof=1) / 2.0)
    assert stage("kg").mean_differences() == []
    # The next instance does not compute them again.
    assert replace(watched, episode=1).mean_differences() is watched.means


@pytest.mark.parametrize("suffix", watch.FILMS)
def test_a_film_that_ffmpeg_could_not_write_is_no_result(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(path: Path, *_: Any, **__: Any) -> Iterator[None]:
        path.write_bytes(b"\x89PNG GIF ftyp")
        while True:
            yield

    out = tmp_path / f"film{suffix}"
    out.write_bytes(b"an earlier film")
    monkeypatch.setattr(watch, "write_frames", cut)
    with pytest.raises(OSError, match=f"film{suffix} is not complete"):
        watch.write_film(stage(), out, quiet=True)
    assert out.read_bytes() == b"an earlier film"


def test_an_mp4_can_be_decoded(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    count = watch.write_film(stage(width=701), path, every=4, quiet=True)
    assert count == 4
    pictures = imageio_ffmpeg.read_frames(path)
    metadata = next(pictures)
    assert metadata["fps"] == 10
    assert metadata["duration"] == pytest.approx((count - 1) / 10 + watch.LAST_SECONDS, abs=0.11)
    watched = stage(width=701)
    expected = watched.picture(watched.caption)
    assert metadata["size"] == expected.shape[1::-1]
    pixels = np.frombuffer(next(pictures), dtype=np.uint8).reshape(expected.shape)
    assert np.abs(pixels.astype(int) - expected).mean() < 4.0
    pictures.close()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("film.avi", {}, r"out must end in \.gif, \.mp4, \.png"),
        ("nowhere/film.gif", {}, "existing folder"),
        ("folder.gif", {}, "must be a file"),
        ("film.gif", {"every": 0}, "every must"),
        ("film.gif", {"every": 13}, "every must"),
        ("film.gif", {"until": 0}, "games must"),
        ("film.gif", {"until": 13}, "games must"),
    ],
)
def test_bad_films_are_refused_before_playing(
    tmp_path: Path, name: str, arguments: dict[str, Any], message: str
) -> None:
    (tmp_path / "folder.gif").mkdir()
    watched = stage()
    with pytest.raises(ValueError, match=message):
        watch.write_film(watched, tmp_path / name, **arguments)
    assert watched.clock == 0
    assert [path.name for path in tmp_path.iterdir()] == ["folder.gif"]


class ScriptedWindow:
    """A window with scripted key presses: a list after each picture."""

    def __init__(self, presses: Sequence[Sequence[str]]) -> None:
        self.presses = list(presses)
        self.rates: list[float] = []
        self.closed = False

    def show(self, picture: Any, frames_per_second: float) -> Sequence[str]:
        if picture is None:
            raise KeyboardInterrupt
        self.rates.append(frames_per_second)
        if not self.presses:
            return ["close"]
        return self.presses.pop(0)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("presses", "games", "footer"),
    [
        ([[], [], [], ["q"]], 3, "instance 0 · 10 games/s"),
        ([[], ["space"], [], [], ["q"]], 1, "instance 0 · paused"),
        ([[], ["space"], [], ["space"], ["q"]], 2, "instance 0 · 10 games/s"),
        ([["right"], [], ["right", "right"], ["q"]], 3, "instance 0 · paused"),
        ([*([[]] * 20), ["escape"]], 12, "instance 0 · the end"),
        ([[], ["n"], [], ["f5", "close"]], 1, "instance 1 · 10 games/s"),
        ([["up"], ["space"], ["space", "down"], ["down"], ["q"]], 3, "instance 0 · 5 games/s"),
        ([["down"]] * 9, 9, "instance 0 · 1 games/s"),
        ([["up"] * 9], 1, "instance 0 · 640 games/s"),
        ([["up"] * 2, []], 3, "instance 0 · 40 games/s"),
    ],
    ids=["runs", "pause", "goes on", "steps", "the end", "next", "speed", "slow", "fast", "two"],
)
def test_keys(presses: Any, games: int, footer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    footers: list[tuple[str, str]] = []
    monkeypatch.setattr(watch.Stage, "picture", lambda self, footer: footers.append(footer) or 1)
    window = ScriptedWindow(presses)
    last = watch.watch_live(stage(), window)
    assert window.closed
    assert last.clock == games
    assert footers[-1][1] == footer
    assert {keys for keys, _ in footers} == {
        "space pause · → one game · ↑ faster · ↓ slower · n next instance · q quit"
    }
    assert max(window.rates) <= 30
    if "games/s" in footer:
        # At most 30 pictures per second, each after several games.
        speed = int(footer.split()[-2])
        assert window.rates[-1] * -(-speed // 30) == pytest.approx(speed)


def lobby_stage() -> watch.Stage:
    settings = QueueSettings(
        side_size=3, party_sizes=(0.6, 0.4), arrival_rate=2.0, horizon=40, capacity=8
    )
    return watch.Stage(["fcfs", "window"], settings, seed=3)


def test_a_lobby_forms_choice_by_choice_in_a_film_and_a_window(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stages = {"film": lobby_stage(), "window": lobby_stage()}
    seats: dict[str, list[int]] = {"film": [], "window": []}

    def picture(self: watch.Stage, footer: Any) -> Any:
        name = "film" if self is stages["film"] else "window"
        state = self.performers[0].episodes.state
        seats[name].append(int(state.clock["seats_taken"][0]))
        return np.zeros((16, 16, 3), np.uint8)

    monkeypatch.setattr(watch.Stage, "picture", picture)
    monkeypatch.setattr(watch, "_encode", lambda _, path, pictures: write_all(path, pictures))
    film = tmp_path / "film.gif"
    count = watch.write_film(stages["film"], film, until=20, every=20, choices=6, quiet=True)
    assert count == len(seats["film"]) == 2 + 6
    formed = seats["film"][1:]
    # A founder is asked first; then seats fill up, until a game begins or it gives up.
    assert any(later > before for before, later in itertools.pairwise(formed))
    watch.watch_live(stages["window"], ScriptedWindow([["right"] * 20, *[["c"]] * 6]))
    assert seats["window"][1:] == formed
    with pytest.raises(ValueError, match="choices must"):
        watch.write_film(lobby_stage(), film, choices=-1)


def write_all(path: Path, pictures: Iterable[Any]) -> None:
    """Write something that passes for a film of the pictures."""
    path.write_bytes(b"".join(picture.tobytes() for picture in pictures) + b";")


def test_the_window_is_closed_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.Stage, "picture", lambda *_: None)
    window = ScriptedWindow([])
    with pytest.raises(KeyboardInterrupt):
        watch.watch_live(stage(), window)
    assert window.closed
