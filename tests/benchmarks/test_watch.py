"""Policies side by side: games, pictures, window and films."""

from collections.abc import Iterator, Sequence
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
    return watch.Stage(policies or ("pe", "drawchance"), SETTINGS, **arguments)


def queue_stage(*policies: str, **arguments: Any) -> watch.Stage:
    return watch.Stage(policies or ("fcfs", "window"), QUEUE_SETTINGS, **arguments)


def state_of(shown: watch.Stage, place: int = 0) -> Any:
    return shown.performers[place].episodes.state


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
    shown = watch.Stage([policy], settings, seed=4, episode=2, show_true_skill=False)
    for unit in range(1, 13):
        shown.step()
        assert shown.clock == unit
        assert shown.performers[0].renderer.clock(state_of(shown), 0) >= unit
        assert shown.totals()[1][0].shape == (unit,)
    # As in a comparison, whose measures of the queue are sums over visits.
    played = rollout(policy_named(policy, settings), settings, episode_seeds(4, 2, 1, key))
    assert shown.totals()[1][0][-1] == pytest.approx(played[measure][0])


@pytest.mark.parametrize(("make", "other"), [(stage, "pe"), (queue_stage, "fcfs")])
def test_policies_do_not_affect_each_other(make: Any, other: str) -> None:
    alone, beside = make("random", seed=3), make(other, "random", seed=3)
    for each in (alone, beside):
        each.step(12)
    np.testing.assert_array_equal(alone.totals()[1][0], beside.totals()[1][1])


def test_policies_with_different_beliefs_play_the_same_instance() -> None:
    shown = stage("kg", "kg:belief=full", "oracle", seed=1)
    truth = [state_of(shown, place).players[..., 2] for place in range(3)]
    np.testing.assert_array_equal(truth, [truth[0]] * 3)
    other = replace(shown, episode=1)
    assert (state_of(other).players[..., 2] != truth[0]).any()
    shown.step(100)
    assert (shown.clock, other.clock) == (12, 0)
    *others, best = [total[-1] for total in shown.totals()[1]]
    assert all(total <= best + 1e-12 for total in others)


test_bad_arguments_are_refused = refusals(
    *(
        ({"policies": policies}, "policy must name 1 to 6 distinct policies")
        for policies in ((), ("pe", "pe"), [f"kg:multiplier={m}" for m in range(1, 8)])
    ),
    ({"policies": ["nobody"]}, "policy must be one of"),
    ({"policies": ["kg:speed=3"]}, "speed"),
    *(({"seed": value}, "seed must") for value in (-1, 0.5)),
    ({"episode": -1}, "episode must"),
    ({"theme": "pink"}, "theme must"),
    *(({"width": value}, "width must") for value in (0, 641, -5, 1e9, "wide", 8000)),
    call=lambda change: watch.Stage(**{"policies": ["pe", "kg"], "settings": SETTINGS, **change}),
)


def test_policies_share_one_skill_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = stage("pe", "drawchance", "kg", width=1001, theme="dark")
    shown.step(4)
    assert shown.picture().shape[:2] == (430, 1000)
    drawn: list[Any] = []
    monkeypatch.setattr("matchenv.benchmarks.watch.sheet", lambda *given: drawn.append(given))
    shown.picture()
    ((scenes, wide, _, theme, _, footer),) = drawn
    assert (wide, theme, footer) == (332, "dark", None)
    assert [scene.title for scene in scenes] == ["pe", "drawchance", "kg"]
    assert {scene.progress for scene in scenes} == {"game 4 of 12"}
    ends = [each.renderer.limits(each.episodes.state, 0) for each in shown.performers]
    lows, highs = zip(*ends, strict=True)
    assert {scene.beliefs.x for scene in scenes} == {(min(lows), max(highs))}
    for scene, each in zip(scenes, shown.performers, strict=True):
        assert scene.tiles == each.renderer.scene(each.episodes.state, 0, (0.0, 1.0)).tiles


def test_differences_have_a_line_per_other_policy() -> None:
    shown = queue_stage("fcfs", "window", "random", width=1000)
    shown.step(12)
    chart = shown.differences()
    first, *others = shown.totals()[1]
    for curve, total, colour in zip(chart.curves[1:], others, watch.LINES, strict=False):
        assert curve.colour == colour
        np.testing.assert_array_equal(curve.y, total - first)
        assert chart.y[0] <= curve.y.min() <= curve.y.max() <= chart.y[1]
    assert [text for text, _ in chart.titles] == [
        "running total of the reward, minus that of fcfs:",
        "window",
        "random",
    ]
    plain, footed = shown.picture(), shown.picture(("left", "right"))
    assert footed.shape[0] > plain.shape[0]
    assert (plain[-130:-40] != 255).any(axis=2).mean() > 0.01


@pytest.mark.parametrize("count", range(1, watch.MOST_POLICIES + 1))
def test_default_sizes_fit_on_a_screen(count: int) -> None:
    height, width, _ = stage(*POLICIES[:count]).picture().shape
    assert width <= 1440
    assert height - (width * 0.13 if count > 1 else 0) <= 756


def test_a_gif_has_a_frame_per_moment_and_a_png_the_last_one(tmp_path: Path) -> None:
    path, again, last = (tmp_path / name for name in ("film.gif", "again.gif", "last.png"))
    look: dict[str, Any] = {"width": 700, "theme": "dark"}
    for each in (path, again):
        assert watch.write_film(queue_stage(**look), each, until=11, every=5, quiet=True) == 4
    assert path.read_bytes() == again.read_bytes()
    assert watch.write_film(queue_stage(**look), last, until=11, every=5, quiet=True) == 1
    with Image.open(path) as film:
        # Equal frames are merged into a longer one.
        times = [film.seek(place) or film.info["duration"] for place in range(film.n_frames)]
        assert sum(times) == 3 * 100 + 1000 * watch.LAST_SECONDS
        assert film.info["loop"] == 0
        shown = queue_stage(**look)
        for place in (0, film.n_frames - 1):
            film.seek(place)
            expected = shown.picture()
            found = np.asarray(film.convert("RGB"), dtype=int)
            assert found.shape == expected.shape
            # The palette is limited, so pixels differ slightly.
            assert np.abs(found - expected).mean() < 1.0
            shown.step(11)
    with Image.open(last) as picture:
        np.testing.assert_array_equal(np.asarray(picture), expected)
    assert {*tmp_path.iterdir()} == {path, again, last}


@pytest.mark.parametrize("kind", watch.FILMS)
def test_a_film_that_ffmpeg_could_not_write_is_no_result(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(path: Path, *_: Any, **__: Any) -> Iterator[None]:
        path.write_bytes(b"\x89PNG GIF ftyp")
        while True:
            yield

    out = tmp_path / f"film{kind}"
    out.write_bytes(b"an earlier film")
    monkeypatch.setattr(watch, "write_frames", cut)
    with pytest.raises(OSError, match=f"film{kind} is not complete"):
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
    expected = stage(width=701).picture()
    assert metadata["size"] == expected.shape[1::-1]
    found = np.frombuffer(next(pictures), dtype=np.uint8).reshape(expected.shape).astype(int)
    assert np.abs(found - expected).mean() < 4.0
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
    shown = stage()
    with pytest.raises(ValueError, match=message):
        watch.write_film(shown, tmp_path / name, **arguments)
    assert shown.clock == 0
    assert [each.name for each in tmp_path.iterdir()] == ["folder.gif"]


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
        return self.presses.pop(0) if self.presses else ["close"]

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
    assert (last.clock, footers[-1][1]) == (games, footer)
    assert {keys for keys, _ in footers} == {
        "space pause · → one game · ↑ faster · ↓ slower · n next instance · q quit"
    }
    assert max(window.rates) <= 30
    if "games/s" in footer:
        # At most 30 pictures per second, each after several games.
        speed = int(footer.split()[-2])
        assert window.rates[-1] * -(-speed // 30) == pytest.approx(speed)


def test_the_window_is_closed_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.Stage, "picture", lambda *_: None)
    window = ScriptedWindow([])
    with pytest.raises(KeyboardInterrupt):
        watch.watch_live(stage(), window)
    assert window.closed
