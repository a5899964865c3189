"""The benchmark: its protocol, scores against plain arithmetic, files and leaderboard."""

import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from matchenv.belief import MU, TRUE_SKILL
from matchenv.benchmarks.bench import benchmark
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.estimates import Record
from matchenv.evaluation.rollout import begin_for
from matchenv.runtime.files import read_json
from matchenv.runtime.jobs import RunOptions

COUNTED = [family.name for family in benchmark.FAMILIES if family.counts]
PAGE = Path(__file__).parents[2] / "docs" / "bench.md"


def test_the_protocol_has_all_families_and_the_marks_of_the_main_ones() -> None:
    families = benchmark.FAMILIES
    assert [family.number for family in families] == list(range(32))
    main = []
    for values in product(("top", "middle"), ("informative", "equal"), (9, 49, 199), (50, 500)):
        main.append("_".join(map(str, values)))
    variants = []
    for variant, rank in product(("matching", "draws", "drift", "pool"), ("top", "middle")):
        variants.append(f"{rank}_{variant}")
    assert [family.name for family in families] == [*main, *variants]
    marks = [benchmark.MARKS[name] for name in main]
    assert [family.mark for family in families] == [*marks, *[None] * 8]
    for mark in marks:
        assert 0.0 < mark.standard_error < mark.difference / 8.0
        assert mark.bound > mark.drawchance
    for family in families[:24]:
        game = family.settings
        assert family.name == f"{game.rank}_{game.prior}_{game.num_opponents}_{game.horizon}"
    for family, rank in zip(families[24:], ("top", "middle") * 4, strict=True):
        assert family.settings.rank == rank
    assert [family.settings.equal_variance for family in families[24:26]] == ["matching"] * 2
    assert [family.settings.draw_margin for family in families[26:28]] == [0.5] * 2
    assert [family.settings.tau for family in families[28:30]] == [0.1] * 2
    assert all(family.settings.pool_changes for family in families[30:])


@pytest.mark.parametrize(("standard_error", "counts"), [(0.19, True), (0.21, False)])
def test_marks_count_from_five_errors(standard_error: float, counts: bool) -> None:
    mark = Record(difference=1.0, standard_error=standard_error)
    assert benchmark.Family(0, "top", Settings(), mark).counts == counts


def test_drawchance_scores_0_and_the_mark_1_and_the_interval_covers() -> None:
    rng = default_rng(0)
    low = rng.normal(70.0, 5.0, (6, 200))
    high = low + rng.normal(8.0, 3.0, low.shape)
    span = high - low
    scores = benchmark.family_scores(np.stack([0.0 * span, span]), span)
    np.testing.assert_allclose(scores, [[0.0] * 6, [1.0] * 6])
    values = np.array([-9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 90.0])
    constant = np.repeat(values[None, :, None], 2, axis=2)
    assert benchmark.overall(constant, np.ones((8, 2))).mean == 3.5
    half = 0.5 * span + rng.normal(0.0, 4.0, low.shape)
    score = benchmark.overall(half[None], span)
    assert score.low < 0.5 < score.high
    # About the error of a mean of 1,200 episodes with a spread of 4 in units of 8.
    assert score.high - score.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(1200), rel=0.5)
    assert benchmark.overall(0.0 * half[None], span).high == 0.0
    # A run that is better is so in all families.
    runs = rng.normal(size=(8, 1, 1))
    one = benchmark.overall(np.tile(runs, (1, 1, 2)), np.ones((1, 2)))
    six = benchmark.overall(np.tile(runs, (1, 6, 2)), np.ones((6, 2)))
    assert six.standard_error == pytest.approx(one.standard_error, rel=0.1)


def test_knows_skill_0_only_changes_the_belief() -> None:
    settings = Settings.checked(num_opponents=5, horizon=9, noise="opponent", belief="full")

    def begun(told: bool) -> Any:
        policy = SimpleNamespace(belief="full", knows_skill_0=told)
        return begin_for(policy, settings, range(6))

    plain = begun(False)
    told = begun(True)
    players = plain.state.players
    known = told.state.players
    np.testing.assert_array_equal(players[..., TRUE_SKILL], known[..., TRUE_SKILL])
    np.testing.assert_array_equal(known[:, 0, MU], known[:, 0, TRUE_SKILL])
    np.testing.assert_array_equal(players[:, 1:, MU], known[:, 1:, MU])
    for n in range(9):
        actions = np.full(6, n % 5)
        plain.step(actions, strict=True)
        told.step(actions, strict=True)
        np.testing.assert_array_equal(plain.state.outcomes, told.state.outcomes)
    assert np.abs(known[:, 0, MU] - known[:, 0, TRUE_SKILL]).max() < 1e-3


def test_a_refused_family_has_drawchances_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "EPISODES", 20)
    drifting = benchmark.Family(
        0,
        "drift",
        Settings.checked(num_opponents=3, horizon=3, tau=0.1, rank="top", noise="opponent"),
    )
    with RunOptions(workers=1, quiet=True).store({}) as store:
        totals, refused = benchmark.play_families(["kg:belief=full"], [drifting], store)
    assert refused == {"kg:belief=full": ("drift",)}
    np.testing.assert_array_equal(totals["kg:belief=full"], totals["drawchance"])
    assert set(totals) == {"kg:belief=full", "drawchance", "oracle", benchmark.TOLD}


def test_scores_in_files_follow_from_the_totals(typed: Any, monkeypatch: Any) -> None:
    """The mark is the bound in main families, and the oracle's total in variants."""
    names = (*COUNTED[:2], "top_draws")
    families = tuple(family for family in benchmark.FAMILIES if family.name in names)
    monkeypatch.setattr(benchmark, "FAMILIES", families)
    monkeypatch.setattr(benchmark, "EPISODES", 20)
    words = "bench --policy kg --workers 1 --out"
    out = Path("out")
    printed = typed(f"{words} out").out
    # Missing blocks are played again with equal results.
    whole = (out / "bench.json").read_bytes()
    for block in [*(out / "blocks").iterdir()][::2]:
        block.unlink()
    assert typed(f"{words} out").status == 0
    assert (out / "bench.json").read_bytes() == whole
    assert sorted(file.name for file in out.glob("*.*")) == [
        "bench.json",
        "bench.md",
        "entry.json",
        "settings.json",
    ]
    result = read_json(out / "bench.json")
    totals = {policy: np.array(values) for policy, values in result["totals"].items()}
    spans = [benchmark.MARKS[name].difference for name in names[:2]]
    spans.append((totals["oracle"] - totals["drawchance"])[2].mean())
    scores = (totals["kg"] - totals["drawchance"]).mean(axis=1) / spans
    score = result["score"]
    assert score["value"] == pytest.approx(scores[:2].mean())
    assert result["variants"]["value"] == pytest.approx(scores[2])
    assert f"{score['value']:.3f} [{score['low']:.3f}, " in printed
    for games in (50, 500):
        of_length = [s for s, name in zip(scores, names, strict=True) if name.endswith(f"_{games}")]
        assert result[f"score_{games}"]["value"] == pytest.approx(np.mean(of_length))
    entry = json.loads((out / "entry.json").read_text())
    assert entry["score"] == score
    assert entry["families"] == pytest.approx(dict(zip(names, scores, strict=True)), abs=1e-4)
    assert entry["command"] == "matchenv bench --policy kg"
    assert entry["runs"] == 1
    assert "some families, no entry" in typed(f"{words} some --only {names[0]}").out
    assert not Path("some", "entry.json").exists()
    assert read_json(Path("some", "bench.json"))["variants"] is None
    assert f"only must be one of '{names[0]}'" in typed(f"{words} some --only middle").refusal


def test_the_leaderboard_of_the_page_equals_its_file() -> None:
    entries = json.loads(Path(benchmark.__file__).with_name("leaderboard.json").read_text())
    entries.sort(key=lambda entry: -entry["score"]["value"])
    rows = re.findall(r"^\| ([^|]+?) \|(.*)\| (\d+) \| (\d+) \|$", PAGE.read_text(), re.M)
    assert {entry["protocol"] for entry in entries} == {"matchenv-bench-v1"}
    for entry, (method, scores, runs, refused) in zip(entries, rows, strict=True):
        assert method == entry["method"]
        assert runs == str(entry["runs"])
        assert refused == str(entry["refused"])
        assert entry["command"].startswith("matchenv bench --policy ")
        expected = []
        for score in (entry["score"], entry["variants"]):
            expected += [score["value"], score["low"], score["high"]]
        numbers = [float(number) for number in re.findall(r"[-.\d]+", scores)]
        assert numbers == pytest.approx(expected, abs=0.00051)
