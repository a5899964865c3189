"""The study against the environment, against quadrature, and against interruptions."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from matchenv import MatchmakingVectorEnv
from matchenv.agents.policies import policy_named
from matchenv.baselines import POLICIES
from matchenv.belief.printed import printed_update, printed_win_probability
from matchenv.benchmarks.study import progress
from matchenv.benchmarks.study.blocks import Sums, jobs_of, play_block, sums_of, windows_of
from matchenv.benchmarks.study.cells import CELLS, Cell
from matchenv.benchmarks.study.estimates import CellResult, closeness, mean_of_sums
from matchenv.benchmarks.study.instances import drawn_prior, instances_of, lots_of
from matchenv.benchmarks.study.paths import MEASURES
from matchenv.benchmarks.study.players import games_of
from matchenv.benchmarks.study.settings import REPORT, TUNING, StudySettings
from matchenv.benchmarks.study.study import run_study
from matchenv.commands import run_command
from matchenv.settings import Settings
from matchenv.trueskill import draw_density, update, win_probability

SMALL = {"paths": 6, "horizon": 12, "opponents": 5}
CELL = {cell.name: cell for cell in CELLS}


def test_the_cells_are_those_of_the_paper() -> None:
    assert [cell.index(50) for cell in CELLS] == 2 * [0, 11, 24, 36, 49]
    assert Cell("rank25", "equal").index(50) == Settings.checked(rank="middle").place
    assert [Cell(place, "equal").index(2) for place in ("top", "rank37", "bottom")] == [0, 1, 1]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_player_0_stands_where_the_cell_says(cell: Cell) -> None:
    settings = StudySettings.checked(paths=4)
    found = instances_of(settings, cell, 0, 0, 4)
    prior_mu, _ = drawn_prior(settings, 0)
    by_mean = cell.prior == "informative"
    for mu, skill in zip(found.mu, found.true_skill, strict=True):
        values = mu if by_mean else skill
        assert int((values > values[0]).sum()) == cell.index(50)
        np.testing.assert_array_equal(np.sort(mu), np.sort(prior_mu) if by_mean else 0.0 * mu)


def test_all_cells_and_blocks_have_the_same_truths_and_noise() -> None:
    settings = StudySettings.checked(paths=8, horizon=20)
    whole = [instances_of(settings, cell, 1, 0, 8) for cell in CELLS]
    for other in whole[1:]:
        np.testing.assert_array_equal(other.noise, whole[0].noise)
        np.testing.assert_array_equal(
            np.sort(other.true_skill, axis=1), np.sort(whole[0].true_skill, axis=1)
        )
    part = instances_of(settings, CELLS[2], 1, 3, 2)
    np.testing.assert_array_equal(part.true_skill, whole[2].true_skill[3:5])
    np.testing.assert_array_equal(part.noise, whole[2].noise[3:5])


def test_truths_come_from_the_prior() -> None:
    settings = StudySettings.checked(paths=2000, horizon=1, opponents=3)
    found = instances_of(settings, CELLS[0], 0, 0, 2000)
    scores = (found.true_skill - found.mu) / found.sigma
    assert stats.kstest(scores.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(found.noise.ravel(), "norm").pvalue > 1e-3


def test_tuning_and_report_never_meet() -> None:
    report = StudySettings.checked(**SMALL, stream=REPORT)
    tuning = StudySettings.checked(**SMALL, stream=TUNING)
    ours, theirs = (instances_of(each, CELLS[0], 0, 0, 6) for each in (report, tuning))
    assert not set(ours.seeds) & set(theirs.seeds)
    assert not np.intersect1d(ours.mu, theirs.mu).size


@pytest.mark.parametrize("name", ["pe", "drawchance", "kg", "kg:finite_horizon=true", "oracle"])
@pytest.mark.parametrize("cell", ["informative_top", "equal_rank12"])
def test_compiled_paths_are_the_environments_games(name: str, cell: str) -> None:
    """Step for step, the policy asked as a user asks it, in an environment of its own."""
    settings = StudySettings.checked(policies=[name], paths=5, horizon=25, opponents=9, seed=4)
    block = instances_of(settings, CELL[cell], 0, 0, 5)
    games = games_of(
        settings.contestants[0], settings.game, block, printed=False, rng=np.random.default_rng(0)
    )
    env = MatchmakingVectorEnv(5, num_opponents=9, horizon=25)
    given = {"mu": block.mu, "sigma": block.sigma, "true_skill": block.true_skill}
    env.reset(seed=block.seeds, options=given)
    policy = policy_named(name, settings.game, lambda: env.true_skill)
    for n in range(25):
        info = env.step(policy.act(env.knowledge_state, 25 - n))[4]
        for m, measure in enumerate(MEASURES[:3]):
            np.testing.assert_array_equal(games[:, m, n], info[measure])
        np.testing.assert_array_equal(games[:, 3, n], info["won"])


def test_every_baseline_joins_and_each_on_the_same_games() -> None:
    names = [*POLICIES, "kg:belief=full"]
    settings = StudySettings.checked(policies=names, paths=3, horizon=6, opponents=4)
    alone = StudySettings.checked(policies=names[::-1], paths=3, horizon=6, opponents=4)
    sums = play_block(jobs_of(settings)[0])
    again = play_block(jobs_of(alone)[0])
    np.testing.assert_array_equal(sums.curves, again.curves[::-1])
    best = sums.curves[names.index("oracle"), 0, :, 0]
    assert (sums.curves[:, 0, :, 0] <= best + 1e-12).all()


def test_lots_depend_on_policy_and_block() -> None:
    settings = StudySettings.checked(**SMALL)
    draws = {
        (prior, first, label): lots_of(settings, prior, first, label).random()
        for prior in (0, 1)
        for first in (0, 3)
        for label in ("random", "thompson")
    }
    assert len(set(draws.values())) == len(draws)


def test_sums_are_those_of_the_games() -> None:
    rng = np.random.default_rng(0)
    games = [rng.normal(size=(7, 4, 250)) for _ in range(3)]
    whole = sums_of(games)
    parts = sums_of([each[:3] for each in games]) + sums_of([each[3:] for each in games])
    for name in ("curves", "windows", "pairs"):
        np.testing.assert_allclose(getattr(whole, name), getattr(parts, name), atol=1e-12)
    result = CellResult(CELLS[0], ("a", "b", "c"), 7, (whole,))
    window = [slice(0, 100), slice(100, 250), slice(150, 250), slice(0, 250)]
    for w, name in enumerate(("first", "after", "last", "all")):
        ours = games[2][:, 1, window[w]].mean(axis=1)
        theirs = games[0][:, 1, window[w]].mean(axis=1)
        found = result.paired("c", "a", MEASURES[1], name)
        expected = stats.ttest_rel(ours, theirs).confidence_interval()
        assert float(found.low) == pytest.approx(expected.low)
        assert float(found.high) == pytest.approx(expected.high)
        assert float(result.paired("a", "c", MEASURES[1], name).mean) == -float(found.mean)
    curve = result.curve("b", MEASURES[3])
    np.testing.assert_allclose(curve.standard_error, stats.sem(games[1][:, 3]))


def test_several_priors_count_as_so_many_values() -> None:
    rng = np.random.default_rng(1)
    games = [rng.normal(size=(9, 4, 10)) + rng.normal() for _ in range(5)]
    result = CellResult(CELLS[0], ("a",), 9, tuple(sums_of([each]) for each in games))
    means = [each[:, 0].mean() for each in games]
    np.testing.assert_allclose(result.prior_means("a", MEASURES[0], "all"), means)
    found = result.window("a", MEASURES[0], "all")
    assert float(found.standard_error) == pytest.approx(stats.sem(means))


def test_short_horizons_have_windows_too() -> None:
    for horizon in (1, 2, 99, 100, 101, 500):
        games = np.arange(horizon)
        assert all(games[window].size for window in windows_of(horizon))
    assert [w.indices(500)[:2] for w in windows_of(500)] == [
        (0, 100), (100, 500), (400, 500), (0, 500),
    ]  # fmt: skip


@pytest.mark.parametrize("goals", [(0.6, 0.7), (0.3, 0.45), (0.42, 0.55)])
def test_closeness_is_how_much_nearer(goals: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    shared = rng.normal(size=4000)
    ours = goals[0] + 0.1 * (shared + rng.normal(size=4000))
    theirs = goals[1] + 0.1 * (shared + rng.normal(size=4000))

    def mean(values: np.ndarray):
        return mean_of_sums(values.sum(), (values**2).sum(), values.size)

    found = closeness(mean(ours), mean(theirs), mean(ours - theirs), 0.5)
    side = np.sign([ours.mean() - 0.5, theirs.mean() - 0.5])
    nearer = side[1] * (theirs - 0.5) - side[0] * (ours - 0.5)
    assert float(found.mean) == pytest.approx(nearer.mean())
    assert float(found.standard_error) == pytest.approx(stats.sem(nearer), rel=1e-9)


def test_printed_equations_are_the_papers_letter_for_letter() -> None:
    """Eq. (1), (2) and (10) as they stand in the text, with v and w of the page below them."""
    rng = np.random.default_rng(3)
    beta = math.sqrt(2.5)

    def v(x: float) -> float:
        return stats.norm.pdf(x) / stats.norm.cdf(x)

    for _ in range(50):
        mu_i, mu_j = rng.normal(size=2) * 3.0
        sigma_i, sigma_j = rng.uniform(0.2, 2.0, 2)
        c2 = sigma_i**2 + sigma_j**2 + 2.0 * beta**2
        assert printed_win_probability(mu_i - mu_j, c2) == pytest.approx(
            stats.norm.cdf((mu_i - mu_j) / c2)
        )
        for outcome in (1, -1):
            x = outcome * (mu_i - mu_j) / c2
            w = v(x) * (v(x) + x)
            expected = (
                mu_i + outcome * sigma_i**2 / c2 * v(x),
                sigma_i * math.sqrt(1.0 - sigma_i**2 / c2 * w),
                mu_j - outcome * sigma_j**2 / c2 * v(x),
                sigma_j * math.sqrt(1.0 - sigma_j**2 / c2 * w),
            )
            found = printed_update(mu_i, sigma_i, mu_j, sigma_j, outcome, beta)
            assert found == pytest.approx(expected)


def test_printed_equations_are_not_bayes_rule() -> None:
    def weight(s: float) -> float:
        return stats.norm.pdf(s, 1.0, 1.5) * stats.norm.cdf((s - 0.2) / math.sqrt(4.0 + 5.0))

    total = quad(weight, -15, 15)[0]
    exact = quad(lambda s: s * weight(s), -15, 15)[0] / total
    beta = math.sqrt(2.5)
    assert update(1.0, 1.5, 0.2, 2.0, 1, beta)[0] == pytest.approx(exact, abs=1e-9)
    assert abs(printed_update(1.0, 1.5, 0.2, 2.0, 1, beta)[0] - exact) > 0.1


def test_printed_paths_follow_the_printed_equations() -> None:
    """The first two games of KG by enumeration, written from the paper."""
    settings = StudySettings.checked(
        policies=["kg"], equations="printed", paths=4, horizon=2, opponents=3
    )
    block = instances_of(settings, CELL["informative_rank25"], 0, 0, 4)
    games = games_of(
        settings.contestants[0], settings.game, block, printed=True, rng=np.random.default_rng(0)
    )
    beta = math.sqrt(2.5)
    for b in range(4):
        mu, sigma, skill = block.mu[b].copy(), block.sigma[b].copy(), block.true_skill[b]
        for n in range(2):
            scores = []
            for j in (1, 2, 3):
                score = float(draw_density(mu[0], sigma[0], mu[j], sigma[j], beta))
                for outcome in (1, -1):
                    after_mu, after_sigma = mu.copy(), sigma.copy()
                    after_mu[0], after_sigma[0], after_mu[j], after_sigma[j] = printed_update(
                        mu[0], sigma[0], mu[j], sigma[j], outcome, beta
                    )
                    c2 = sigma[0] ** 2 + sigma[j] ** 2 + 2.0 * beta**2
                    chance = stats.norm.cdf(outcome * (mu[0] - mu[j]) / c2)
                    score += 99.0 * chance * draw_density(
                        after_mu[0], after_sigma[0], after_mu[1:], after_sigma[1:], beta
                    ).max()  # fmt: skip
                scores.append(score)
            j = 1 + int(np.argmax(scores))
            assert games[b, 2, n] == skill[0] - skill[j]
            won = skill[0] - skill[j] + math.sqrt(5.0) * block.noise[b, n] > 0.0
            assert games[b, 3, n] == won
            mu[0], sigma[0], mu[j], sigma[j] = printed_update(
                mu[0], sigma[0], mu[j], sigma[j], 1 if won else -1, beta
            )


def test_win_ratio_follows_from_true_skills() -> None:
    """Over many paths the games won are those that the true skills promise."""
    settings = StudySettings.checked(policies=["pe"], paths=400, horizon=40, opponents=9)
    block = instances_of(settings, CELL["informative_top"], 0, 0, 400)
    games = games_of(
        settings.contestants[0], settings.game, block, printed=False, rng=np.random.default_rng(0)
    )
    chance = win_probability(games[:, 2], 1e-9, 0.0, 1e-9, math.sqrt(2.5))
    error = math.sqrt(float((chance * (1.0 - chance)).sum()))
    assert abs(float((games[:, 3] - chance).sum())) < 4.0 * error


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


SETTINGS = {"paths": 9, "horizon": 8, "opponents": 4, "cells": ["equal_rank25", "equal_top"]}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.benchmarks.study.settings.LARGEST_BLOCK", 4)


@pytest.mark.usefixtures("small_blocks")
def test_results_do_not_depend_on_interruptions(tmp_path: Path) -> None:
    settings = StudySettings.checked(**SETTINGS)
    run_study(settings, tmp_path / "once", workers=1, quiet=True)
    run_study(settings, tmp_path / "twice", workers=1, quiet=True)
    lost = sorted((tmp_path / "twice" / "blocks").iterdir())[1::3]
    for path in lost:
        path.unlink()
    (tmp_path / "twice" / "blocks" / ".x.npz.unfinished").write_bytes(b"half")
    run_study(settings, tmp_path / "twice", workers=1, quiet=True)
    once, twice = files_of(tmp_path / "once"), files_of(tmp_path / "twice")
    assert once == twice
    assert {name.split("/")[0] for name in once} >= {"figures", "curves", "paired.csv"}


def test_the_command_can_be_killed_and_goes_on(tmp_path: Path) -> None:
    """Two workers, killed without warning, then one: the same bytes as in one go."""
    options = ["--episodes", "1500", "--horizon", "40", "--num-opponents", "9", "--quiet",
               "--cell", "informative_top", "equal_rank25"]  # fmt: skip
    command = [sys.executable, "-m", "matchenv", "study", *options]
    killed = subprocess.Popen([*command, "--out", str(tmp_path / "a"), "--workers", "2"])
    blocks = tmp_path / "a" / "blocks"
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline and not (blocks.exists() and len(list(blocks.iterdir()))):
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert run_command(["study", *options, "--out", str(tmp_path / "a"), "--workers", "1"]) == 0
    assert run_command(["study", *options, "--out", str(tmp_path / "b"), "--workers", "1"]) == 0
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


@pytest.mark.usefixtures("small_blocks")
def test_a_folder_of_another_study_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--out", str(tmp_path / "s"), "--episodes", "5", "--horizon", "4", "--quiet",
               "--num-opponents", "3", "--workers", "1", "--cell", "informative_top"]  # fmt: skip
    assert run_command(["study", *options]) == 0
    before = files_of(tmp_path / "s")
    assert run_command(["study", *options, "--seed", "7", "--policy", "pe"]) == 2
    message = capsys.readouterr().err
    assert "seed was 0 and is 7" in message
    assert "policies was" in message
    assert "horizon" not in message
    assert files_of(tmp_path / "s") == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    assert run_command(["study", *options[:1], str(tmp_path / "other"), *options[2:]]) == 2
    assert files_of(tmp_path / "other") == {"thesis.txt": b"mine"}


@pytest.mark.usefixtures("small_blocks")
def test_a_full_disk_leaves_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = StudySettings.checked(**SETTINGS)
    saved: list[Path] = []
    save = progress.save_block

    def save_until_full(folder: Path, job, sums: Sums) -> None:
        if len(saved) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(folder, job, sums)
        saved.append(folder)

    monkeypatch.setattr(progress, "save_block", save_until_full)
    options = ["--out", str(tmp_path), "--episodes", "9", "--horizon", "8", "--num-opponents", "4",
               "--cell", "equal_rank25", "equal_top", "--workers", "1", "--quiet"]  # fmt: skip
    assert run_command(["study", *options]) == 1
    assert "No space left" in capsys.readouterr().err
    monkeypatch.setattr(progress, "save_block", save)
    assert len(list((tmp_path / "blocks").iterdir())) == 4
    run_study(settings, tmp_path, workers=1, quiet=True)


def test_a_damaged_block_is_named(tmp_path: Path) -> None:
    settings = StudySettings.checked(**SMALL, cells=["equal_top"])
    run_study(settings, tmp_path, workers=1, quiet=True)
    block = next((tmp_path / "blocks").iterdir())
    block.write_bytes(b"not a block")
    with pytest.raises(ValueError, match=block.name):
        run_study(settings, tmp_path, workers=1, quiet=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("paths", 1), ("paths", 2.5), ("horizon", 0), ("opponents", 0), ("priors", 0),
        ("seed", -1), ("equations", "wrong"), ("equal_variance", "other"), ("cells", ["top"]),
        ("cells", []), ("policies", []), ("policies", ["nobody"]), ("policies", ["pe", "pe"]),
        ("policies", "pe"), ("policies", [3]),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"policy|polic" if name == "policies" else name):
        StudySettings.checked(**{name: value})


def test_policies_that_know_no_misprints_are_refused(tmp_path: Path) -> None:
    settings = StudySettings.checked(**SMALL, policies=["pe", "thompson"], equations="printed")
    with pytest.raises(ValueError, match="thompson"):
        run_study(settings, tmp_path / "new", workers=1, quiet=True)
    assert not (tmp_path / "new").exists()


def test_priors_are_drawn_as_the_paper_says() -> None:
    settings = StudySettings.checked(opponents=4000, paths=2, horizon=1)
    mu, sigma = drawn_prior(settings, 0)
    assert stats.kstest(mu / 2.0, "norm").pvalue > 1e-3
    assert stats.kstest(sigma**2 - 2.0, "uniform").pvalue > 1e-3
    assert not np.array_equal(mu, drawn_prior(settings, 1)[0])
    assert np.array_equal(mu, drawn_prior(replace(settings, horizon=9), 0)[0])
