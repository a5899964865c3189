"""The benchmark: its scores against plain arithmetic, and files that cannot be made up."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from matchenv.belief import MU, TRUE_SKILL
from matchenv.benchmarks.bench import protocol, running
from matchenv.benchmarks.bench.playing import TOLD, play_families
from matchenv.benchmarks.bench.protocol import Mark, read_marks
from matchenv.benchmarks.bench.result import (
    Result,
    entries,
    family_scores,
    leaderboard_table,
    overall,
)
from matchenv.cli import run_command
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.rollout import begin_for
from matchenv.runtime.files import CHECKSUM, json_bytes
from matchenv.runtime.jobs import RunOptions

COUNTED = [each.name for each in protocol.FAMILIES if each.mark and each.mark.counts]
FIRST = COUNTED[0]
PAGE = Path(__file__).parents[2] / "docs" / "bench.md"


def patch_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("playing", "result", "protocol"):
        monkeypatch.setattr(f"matchenv.benchmarks.bench.{module}.EPISODES", 20)


@pytest.fixture(autouse=True)
def few_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_episodes(monkeypatch)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a run of one family."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch_episodes(patch)
        running.run_bench(["kg"], only=[FIRST], run=RunOptions(folder, workers=1, quiet=True))
    assert "no entry" in (folder / "bench.md").read_text()
    return (folder / "bench.json").read_bytes()


@pytest.fixture
def file(result: bytes, tmp_path: Path) -> Path:
    (tmp_path / "bench.json").write_bytes(result)
    return tmp_path / "bench.json"


def test_the_protocol_has_all_families_once() -> None:
    families = protocol.FAMILIES
    assert [family.number for family in families] == list(range(32))
    assert len({family.name for family in families}) == 32
    for rank in ("top", "middle"):
        here = [each.settings for each in families if each.settings.rank == rank]
        for size in ((m, n) for m in (9, 49, 199) for n in (50, 500)):
            found = {each.prior for each in here if (each.num_opponents, each.horizon) == size}
            assert found == {"informative", "equal"}
        for has in (
            lambda each: each.tau > 0.0,
            lambda each: each.draw_margin > 0.0,
            lambda each: each.pool_changes,
            lambda each: each.equal_variance == "matching",
        ):
            assert any(map(has, here))


def test_every_main_family_has_its_mark_and_no_variant_has() -> None:
    marks = read_marks()
    main = [family for family in protocol.FAMILIES if family.group == protocol.MAIN]
    assert list(marks) == [family.name for family in main]
    for family in protocol.FAMILIES:
        assert family.mark == marks.get(family.name)
    for mark in marks.values():
        assert mark.difference > 0.0
        # Small beside what it is to measure.
        assert 0.0 < mark.standard_error < mark.difference / 8.0
        assert mark.paths >= 20
        assert mark.bound > mark.drawchance


@pytest.mark.parametrize(("error", "counts"), [(0.19, True), (0.21, False)])
def test_a_mark_counts_that_is_five_errors_above_drawchance(error: float, counts: bool) -> None:
    assert Mark(77.0, 76.0, 1.0, error, 100).counts is counts


def test_marks_score_0_and_1_and_the_interval_covers() -> None:
    rng = default_rng(0)
    low = rng.normal(70.0, 5.0, (6, 200))
    high = low + rng.normal(8.0, 3.0, low.shape)
    span = high - low
    above = np.stack([np.zeros_like(low), span])
    np.testing.assert_allclose(family_scores(above, span), [[0.0] * 6, [1.0] * 6])
    values = np.array([-9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 90.0])
    constant = np.repeat(values[None, :, None], 2, axis=2)
    assert overall(constant, np.ones((8, 2)), default_rng(1)).mean == 3.5
    half = 0.5 * span + rng.normal(0.0, 4.0, low.shape)
    found = overall(half[None], span, default_rng(1))
    assert found.low < 0.5 < found.high
    # About the error of a mean of 1,200 episodes with a spread of 4 in units of 8.
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(1200), rel=0.5)
    assert overall(0.0 * half[None], span, default_rng(1)).high == 0.0


def test_a_score_is_the_share_of_the_way_to_the_mark() -> None:
    """By plain arithmetic: the bound in main families, the oracle's own total in variants."""
    names = (*COUNTED[:2], "middle_draws")
    families = protocol.families_named(names)
    rng = default_rng(3)
    labels = ("mine", "drawchance", "oracle", TOLD)
    totals = {label: rng.normal(70.0 + 2.0 * k, 3.0, (3, 40)) for k, label in enumerate(labels)}
    result = Result("mine", {"mine": "mine"}, families, totals, {})
    above = (totals["mine"] - totals["drawchance"]).mean(axis=1)
    spans = [read_marks()[name].difference for name in names[:2]]
    spans.append((totals["oracle"] - totals["drawchance"])[2].mean())
    by_name = [row.score.mean for row in result.family_scores()]
    np.testing.assert_allclose(by_name, above / spans)
    found = result.scores
    assert found["variants"] is not None
    assert found["variants"].mean == pytest.approx(by_name[2])
    assert found["score"] is not None
    assert found["score"].mean == pytest.approx(np.mean(by_name[:2]))
    assert not result.whole
    assert Result("mine", {"mine": ""}, families[:2], totals, {}).scores["variants"] is None


def test_told_skill_changes_the_belief_alone() -> None:
    settings = Settings.checked(num_opponents=5, horizon=9, noise="opponent", belief="full")
    plain, told = (
        begin_for(
            lambda *_, told=told: SimpleNamespace(belief="full", told_skill=told),
            settings,
            range(6),
        )[1]
        for told in (False, True)
    )
    players, known = plain.state.players, told.state.players
    np.testing.assert_array_equal(players[..., TRUE_SKILL], known[..., TRUE_SKILL])
    np.testing.assert_array_equal(known[:, 0, MU], known[:, 0, TRUE_SKILL])
    np.testing.assert_array_equal(players[:, 1:, MU], known[:, 1:, MU])
    for n in range(9):
        for each in (plain, told):
            each.step(np.full(6, n % 5))
        np.testing.assert_array_equal(plain.state.outcomes, told.state.outcomes)
    assert np.abs(known[:, 0, MU] - known[:, 0, TRUE_SKILL]).max() < 1e-3


def test_who_refuses_a_family_scores_0_there() -> None:
    drifting = protocol.Family(0, "drift", "drift", Settings.checked(
        num_opponents=3, horizon=3, tau=0.1, rank="top", noise="opponent"
    ))  # fmt: skip
    totals, refused = play_families(
        ["kg:belief=full"], [drifting], None, RunOptions(workers=1, quiet=True)
    )
    assert refused == {"kg:belief=full": ("drift",)}
    np.testing.assert_array_equal(totals["kg:belief=full"], totals["drawchance"])
    assert set(totals) == {"kg:belief=full", "drawchance", "oracle", TOLD}


def test_a_result_is_checked_by_playing_it_anew(file: Path, capsys: Any) -> None:
    assert run_command(["bench", "--check", str(file), "--workers", "1"]) == 0
    assert FIRST in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda said: said["totals"]["kg"][0].insert(0, said["totals"]["kg"][0].pop() + 1.0),
            "has another score|other totals",
        ),
        (lambda said: said["score"].update(value=0.9), "another score"),
        (lambda said: said.update(protocol="another"), "must be of matchenv-bench-v1"),
        (lambda said: said["totals"].pop("oracle"), "must hold the totals"),
    ],
)
def test_what_was_made_up_is_found(file: Path, change: Any, message: str) -> None:
    """Also where the digest was made anew."""
    said = json.loads(file.read_text())
    change(said)
    file.write_text(json.dumps(said))
    with pytest.raises(ValueError, match="checksum"):
        running.check_result(file, workers=1)
    del said[CHECKSUM]
    file.write_bytes(json_bytes(said, checked=True))
    with pytest.raises(ValueError, match=message):
        running.check_result(file, workers=1)


def test_totals_made_up_with_all_that_follows_from_them_are_found(file: Path) -> None:
    said = json.loads(file.read_text())
    better = Result.from_plain(said)
    better.totals["kg"] += 1.0
    file.write_bytes(better.files()["bench.json"])
    with pytest.raises(ValueError, match="must hold what the policies reach; 'kg' has other"):
        running.check_result(file, workers=1)


def test_the_page_has_the_leaderboard_as_it_is_in_its_file() -> None:
    assert "\n".join(leaderboard_table()) in PAGE.read_text()
    values = [entry["score"]["value"] for entry in entries()]
    assert values == sorted(values, reverse=True)
    # An entry of an older protocol would be compared with what it never played.
    assert {entry["protocol"] for entry in entries()} == {"matchenv-bench-v1"}
