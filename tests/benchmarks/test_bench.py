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

COUNTED = [each.name for each in benchmark.FAMILIES if each.counts]
PAGE = Path(__file__).parents[2] / "docs" / "bench.md"


def test_the_protocol_has_all_families_and_the_marks_of_the_main_ones() -> None:
    families = benchmark.FAMILIES
    assert [family.number for family in families] == list(range(32))
    kinds = product(("top", "middle"), ("informative", "equal"), (9, 49, 199), (50, 500))
    main = ["_".join(map(str, each)) for each in kinds]
    more = product(("matching", "draws", "drift", "pool"), ("top", "middle"))
    variants = [f"{rank}_{variant}" for variant, rank in more]
    assert [family.name for family in families] == [*main, *variants]
    marks = [benchmark.MARKS[name] for name in main]
    assert [family.mark for family in families] == [*marks, *[None] * 8]
    for mark in marks:
        assert 0.0 < mark.standard_error < mark.difference / 8.0
        assert mark.bound > mark.drawchance
    settings = [family.settings for family in families]
    for name, its in zip(main, settings, strict=False):
        assert name == f"{its.rank}_{its.prior}_{its.num_opponents}_{its.horizon}"
    assert [each.rank for each in settings[24:]] == ["top", "middle"] * 4
    assert [each.equal_variance for each in settings[24:26]] == ["matching"] * 2
    assert [each.draw_margin for each in settings[26:28]] == [0.5] * 2
    assert [each.tau for each in settings[28:30]] == [0.1] * 2
    assert all(each.pool_changes for each in settings[30:])


def test_marks_count_from_five_errors_and_score_0_and_1_and_the_interval_covers() -> None:
    marks = (Record(difference=1.0, standard_error=error) for error in (0.19, 0.21))
    counts = [benchmark.Family(0, "top", Settings(), mark).counts for mark in marks]
    assert counts == [True, False]
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
    found = benchmark.overall(half[None], span)
    assert found.low < 0.5 < found.high
    # About the error of a mean of 1,200 episodes with a spread of 4 in units of 8.
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(1200), rel=0.5)
    assert benchmark.overall(0.0 * half[None], span).high == 0.0
    # A run that is better is so in all families.
    runs = rng.normal(size=(8, 1, 1))
    one, six = (benchmark.overall(np.tile(runs, (1, n, 2)), np.ones((n, 2))) for n in (1, 6))
    assert six.standard_error == pytest.approx(one.standard_error, rel=0.1)


def test_knows_skill_0_only_changes_the_belief() -> None:
    settings = Settings.checked(num_opponents=5, horizon=9, noise="opponent", belief="full")

    def begun(told: bool) -> Any:
        policy = SimpleNamespace(belief="full", knows_skill_0=told)
        return begin_for(lambda *_: policy, settings, range(6))[1]

    plain, told = begun(False), begun(True)
    players, known = plain.state.players, told.state.players
    np.testing.assert_array_equal(players[..., TRUE_SKILL], known[..., TRUE_SKILL])
    np.testing.assert_array_equal(known[:, 0, MU], known[:, 0, TRUE_SKILL])
    np.testing.assert_array_equal(players[:, 1:, MU], known[:, 1:, MU])
    for n in range(9):
        for each in (plain, told):
            each.step(np.full(6, n % 5))
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
    some = tuple(each for each in benchmark.FAMILIES if each.name in names)
    monkeypatch.setattr(benchmark, "FAMILIES", some)
    monkeypatch.setattr(benchmark, "EPISODES", 20)
    words, out = "bench --policy kg --workers 1 --out", Path("out")
    printed = typed(f"{words} out").out
    # Missing blocks are played again with equal results.
    whole = (out / "bench.json").read_bytes()
    for block in [*(out / "blocks").iterdir()][::2]:
        block.unlink()
    assert typed(f"{words} out").status == 0
    assert (out / "bench.json").read_bytes() == whole
    assert sorted(each.name for each in out.glob("*.*")) == [
        "bench.json",
        "bench.md",
        "entry.json",
        "settings.json",
    ]
    found = read_json(out / "bench.json")
    mine, low, high = (np.array(found["totals"][name]) for name in ("kg", "drawchance", "oracle"))
    spans = [*(benchmark.MARKS[name].difference for name in names[:2]), (high - low)[2].mean()]
    scores = (mine - low).mean(axis=1) / spans
    assert found["score"]["value"] == pytest.approx(scores[:2].mean())
    assert found["variants"]["value"] == pytest.approx(scores[2])
    assert f"{found['score']['value']:.3f} [{found['score']['low']:.3f}, " in printed
    entry = json.loads((out / "entry.json").read_text())
    assert entry["score"] == found["score"]
    assert entry["families"] == pytest.approx(dict(zip(names, scores, strict=True)), abs=1e-4)
    assert (entry["command"], entry["runs"]) == ("matchenv bench --policy kg", 1)
    assert "some families, no entry" in typed(f"{words} some --only {names[0]}").out
    assert not Path("some", "entry.json").exists()
    assert read_json(Path("some", "bench.json"))["variants"] is None
    assert f"only must be one of '{names[0]}'" in typed(f"{words} some --only middle").refusal


def test_the_leaderboard_of_the_page_equals_its_file() -> None:
    entries = json.loads(Path(benchmark.__file__).with_name("leaderboard.json").read_text())
    entries.sort(key=lambda entry: -entry["score"]["value"])
    rows = re.findall(r"^\| (\S+) \|(.*)\| (\d+) \| (\d+) \|$", PAGE.read_text(), re.M)
    assert {entry["protocol"] for entry in entries} == {"matchenv-bench-v1"}
    for entry, (method, scores, *others) in zip(entries, rows, strict=True):
        assert method == entry["method"]
        assert others == [str(entry[name]) for name in ("runs", "refused")]
        assert entry["command"].startswith("matchenv bench --policy ")
        expected = [
            entry[name][end] for name in ("score", "variants") for end in ("value", "low", "high")
        ]
        found = [float(number) for number in re.findall(r"[-.\d]+", scores)]
        assert found == pytest.approx(expected, abs=0.00051)
