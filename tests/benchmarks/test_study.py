"""The study against the environment, against quadrature, and against interruptions."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from matchenv import MatchmakingVectorEnv
from matchenv.baselines import POLICIES
from matchenv.belief.printed import printed_update, printed_win_probability
from matchenv.benchmarks.study import run_study
from matchenv.benchmarks.study.results import results_of
from matchenv.benchmarks.study.settings import (
    MEASURES,
    StudySettings,
    paper_places,
    place_at_share,
    windows_of,
)
from matchenv.envs.one_player.priors import DrawnPrior
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OUTCOME
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import jobs_of, play
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Sums, column_of, rollout
from matchenv.evaluation.seeds import REPORT, TUNING
from matchenv.runtime import jobs
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.random import uniforms
from matchenv.trueskill import draw_density, update, win_probability

SMALL: dict[str, Any] = {"episodes": 6, "horizon": 12, "num_opponents": 5}
ONE_WORKER = RunOptions(workers=1, quiet=True)
NAMES = [
    f"{prior}_{place}"
    for prior in ("informative", "equal")
    for place in ("top", "12th", "25th", "37th", "bottom")
]


def batch_of(settings: StudySettings, name: str, draw: int = 0) -> Batch:
    """The first block of a cell, before its first game."""
    job = next(
        job for job in jobs_of(settings.plan())
        if job.name.startswith(f"{name}_policy00_prior{draw:03d}")
    )  # fmt: skip
    return Batch(job.settings, job.block.seeds)


def instances(settings: StudySettings, name: str, draw: int = 0) -> SimpleNamespace:
    """The instances of the first block of a cell."""
    mu, sigma, skill = batch_of(settings, name, draw).state.players.transpose(2, 0, 1).copy()
    return SimpleNamespace(mu=mu, sigma=sigma, true_skill=skill)


def luck_of(settings: StudySettings, draw: int = 0) -> np.ndarray:
    """The uniform numbers that decide the games of the first block, shape (B, N)."""
    batch = batch_of(settings, settings.cells[0].name, draw)
    return uniforms(batch.state.key, OUTCOME, 0, settings.game.horizon)


def games_of(settings: StudySettings, name: str) -> np.ndarray:
    """Every measure of every game of the first block, shape (B, 4, N)."""
    job = next(j for j in jobs_of(settings.plan()) if j.name.startswith(name))
    windows = {str(n): slice(n, n + 1) for n in range(settings.game.horizon)}
    found = rollout(
        job.candidate.make, job.settings, job.block.seeds, np.random.default_rng(0),
        lambda: Sums(MEASURES, windows),
    )  # fmt: skip
    columns = [[found.episodes[column_of(each, n)] for n in windows] for each in MEASURES]
    return np.array(columns).transpose(2, 0, 1)


def prior_of(settings: StudySettings, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of a draw of the prior."""
    prior = settings.settings_of(settings.cells[0], draw).prior
    assert isinstance(prior, DrawnPrior)
    return prior.mu, prior.sigma


def test_the_cells_are_those_of_the_paper() -> None:
    settings = StudySettings.checked()
    assert [cell.name for cell in settings.cells] == NAMES
    assert [cell.place for cell in settings.cells] == 2 * [0, 11, 24, 36, 49]
    assert Cell(24, "equal", 49).place == Settings.checked(rank="middle").place


@pytest.mark.parametrize("num_players", [2, 3, 4, 10, 20, 50, 1000])
def test_cells_are_right_for_any_number_of_players(num_players: int) -> None:
    places = paper_places(num_players)
    settings = StudySettings.checked(num_opponents=num_players - 1, priors=["equal"])
    found = [cell.place for cell in settings.cells]
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (0, num_players - 1)
    for place in places[1:-1]:
        assert isinstance(place, int)
        name = next(cell.title for cell in settings.cells if cell.place == place)
        assert name.startswith(f"{place + 1}")
        assert f" of {num_players} " in f"{name} ".replace(",", " ")
    assert place_at_share(25, 20) == 9  # the 10th, not the 25th


@pytest.mark.parametrize("name", NAMES)
def test_player_0_stands_where_the_cell_says(name: str) -> None:
    settings = StudySettings.checked(episodes=4)
    cell = next(cell for cell in settings.cells if cell.name == name)
    found = instances(settings, name)
    prior_mu, _ = prior_of(settings, 0)
    by_mean = cell.prior == "informative"
    for mu, skill in zip(found.mu, found.true_skill, strict=True):
        values = mu if by_mean else skill
        assert int((values > values[0]).sum()) == cell.place
        np.testing.assert_array_equal(np.sort(mu), np.sort(prior_mu) if by_mean else 0.0 * mu)


def test_places_can_be_by_the_mean_that_equal_priors_hide() -> None:
    settings = StudySettings.checked(episodes=4, equal_rank_by="prior_mean")
    for cell in settings.cells:
        found = instances(settings, cell.name)
        prior_mu, prior_sigma = prior_of(settings, 0)
        place = int(np.flatnonzero(prior_sigma == found.sigma[0, 0])[0])
        assert int((prior_mu > prior_mu[place]).sum()) == cell.place
        assert ("hidden mean" in cell.title) == (cell.prior == "equal")
    by_skill = StudySettings.checked(episodes=4).described()
    assert settings.described() != by_skill
    with pytest.raises(ValueError, match="equal_rank_by must be one of"):
        StudySettings.checked(equal_rank_by="luck")


def test_all_cells_and_sizes_have_the_same_truths() -> None:
    settings = StudySettings.checked(episodes=8, horizon=20, prior_draws=2)
    whole = [instances(settings, name, 1).true_skill for name in NAMES]
    for other in whole[1:]:
        np.testing.assert_array_equal(np.sort(other), np.sort(whole[0]))
    fewer = StudySettings.checked(episodes=3, horizon=20, prior_draws=2)
    np.testing.assert_array_equal(instances(fewer, NAMES[2], 1).true_skill, whole[2][:3])
    np.testing.assert_array_equal(luck_of(fewer, 1), luck_of(settings, 1)[:3])


def test_truths_come_from_the_prior() -> None:
    settings = StudySettings.checked(episodes=240, horizon=8, num_opponents=40)
    found = instances(settings, "informative_top")
    scores = (found.true_skill - found.mu) / found.sigma
    assert stats.kstest(scores.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(luck_of(settings).ravel(), "uniform").pvalue > 1e-3


def test_tuning_and_report_never_meet() -> None:
    seeds, means = [], []
    for purpose in (REPORT, TUNING):
        settings = StudySettings.checked(**SMALL, purpose=purpose)
        seeds.append({s for block in settings.plan().blocks for s in block.seeds})
        means.append(prior_of(settings, 0)[0])
    assert not seeds[0] & seeds[1]
    assert not np.intersect1d(*means).size


@pytest.mark.parametrize("name", ["pe", "drawchance", "kg", "kg:finite_horizon=true", "oracle"])
@pytest.mark.parametrize("cell", ["informative_top", "equal_3rd"])
def test_games_are_the_environments(name: str, cell: str) -> None:
    """Step for step, the policy asked as a user asks it, in an environment of its own."""
    settings = StudySettings.checked([name], episodes=5, horizon=25, num_opponents=9, seed=4)
    given = instances(settings, cell)
    games = games_of(settings, cell)
    env = MatchmakingVectorEnv(5, num_opponents=9, horizon=25)
    options = {"mu": given.mu, "sigma": given.sigma, "true_skill": given.true_skill}
    env.reset(seed=list(settings.plan().blocks[0].seeds), options=options)
    policy = policy_named(name, settings.game, lambda: env.true_skill)
    for n in range(25):
        info = env.step(policy.act(env.knowledge_state, 25 - n))[4]
        for m, measure in enumerate(MEASURES[:3]):
            np.testing.assert_array_equal(games[:, m, n], info[measure])
        np.testing.assert_array_equal(games[:, 3, n], info["won"])


def test_every_baseline_joins_and_each_on_the_same_games() -> None:
    names = [*POLICIES, "kg:belief=full", "kg:belief=printed"]
    rows = [
        play(
            StudySettings.checked(order, episodes=3, horizon=6, num_opponents=4).plan(),
            None, ONE_WORKER,
        )
        for order in (names, names[::-1])
    ]  # fmt: skip
    np.testing.assert_array_equal(rows[0].totals["curves"], rows[1].totals["curves"][:, ::-1])
    densities = rows[0].columns["true_draw_density"]
    assert (densities <= densities[:, [names.index("oracle")]] + 1e-12).all()


def test_windows_and_curves_are_those_of_the_games() -> None:
    settings = StudySettings.checked(["pe", "kg"], episodes=6, horizon=130, num_opponents=5,
                                     ranks=[2], priors=["equal"])  # fmt: skip
    (result,) = results_of(play(settings.plan(), None, ONE_WORKER), 130)
    spans = {"first": slice(0, 100), "after": slice(100, 130), "last": slice(30, 130),
             "all": slice(0, 130)}  # fmt: skip
    games = {
        policy: games_of(settings, f"equal_3rd_policy{p:02d}")
        for p, policy in enumerate(("pe", "kg"))
    }
    for m, measure in enumerate(MEASURES):
        for window, span in spans.items():
            ours, theirs = (games[policy][:, m, span].mean(axis=1) for policy in ("kg", "pe"))
            np.testing.assert_allclose(result.values("kg", measure, window)[0], ours, rtol=1e-12)
            found = result.paired("kg", "pe", measure, window)
            expected = stats.ttest_rel(ours, theirs).confidence_interval()
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        curve = result.curve("kg", measure)
        np.testing.assert_allclose(curve.mean, games["kg"][:, m].mean(axis=0), atol=1e-12)
        # Sums of squares lose digits where the games of all episodes are alike.
        errors = stats.sem(games["kg"][:, m])
        np.testing.assert_allclose(curve.standard_error, errors, rtol=1e-6, atol=1e-7)


def test_several_draws_of_the_prior_count_as_so_many_values() -> None:
    settings = StudySettings.checked(["pe"], **SMALL, prior_draws=5, ranks=["top"])
    result = results_of(play(settings.plan(), None, ONE_WORKER), 12)[0]
    means = result.values("pe", "win_ratio", "all").mean(axis=1)
    found = result.window("pe", "win_ratio", "all")
    assert found.standard_error == pytest.approx(stats.sem(means))
    assert result.units == 5


def test_short_horizons_have_windows_too() -> None:
    for horizon in (1, 2, 99, 100, 101, 500):
        games = np.arange(horizon)
        assert all(games[window].size for window in windows_of(horizon).values())
    assert [w.indices(500)[:2] for w in windows_of(500).values()] == [
        (0, 100), (100, 500), (400, 500), (0, 500),
    ]  # fmt: skip


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
        ["kg"], belief="printed", episodes=4, horizon=2, num_opponents=3, ranks=[1]
    )
    block, luck = instances(settings, "informative_2nd"), luck_of(settings)
    games = games_of(settings, "informative_2nd")
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
            won = luck[b, n] < stats.norm.cdf((skill[0] - skill[j]) / math.sqrt(5.0))
            assert games[b, 3, n] == won
            mu[0], sigma[0], mu[j], sigma[j] = printed_update(
                mu[0], sigma[0], mu[j], sigma[j], 1 if won else -1, beta
            )


def test_win_ratio_follows_from_true_skills() -> None:
    """Over many episodes the games won are those that the true skills promise."""
    settings = StudySettings.checked(["pe"], episodes=250, horizon=40, num_opponents=9)
    games = games_of(settings, "informative_top")
    chance = win_probability(games[:, 2], 1e-9, 0.0, 1e-9, math.sqrt(2.5))
    error = math.sqrt(float((chance * (1.0 - chance)).sum()))
    assert abs(float((games[:, 3] - chance).sum())) < 4.0 * error


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


STUDY: dict[str, Any] = {
    "episodes": 9, "horizon": 8, "num_opponents": 4, "ranks": ["top", 2], "priors": ["equal"],
}  # fmt: skip


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.benchmarks.study.settings.LARGEST_BLOCK", 4)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("finished", "workers"), [(1, 1), (8, 2), (17, 1)])
def test_results_do_not_depend_on_interruptions(
    finished: int, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_study(**STUDY, run=RunOptions(tmp_path / "once", workers=1, quiet=True))
    work_and_save, worked = jobs.Store.save, []

    def until_stopped(*arguments: Any) -> Any:
        if len(worked) == finished:
            raise KeyboardInterrupt
        worked.append(arguments)
        return work_and_save(*arguments)

    monkeypatch.setattr(jobs.Store, "save", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        run_study(**STUDY, run=RunOptions(tmp_path / "twice", workers=1, quiet=True))
    monkeypatch.setattr(jobs.Store, "save", work_and_save)
    run_study(**STUDY, run=RunOptions(tmp_path / "twice", workers=workers, quiet=True))
    once, twice = files_of(tmp_path / "once"), files_of(tmp_path / "twice")
    assert once == twice
    assert {name.split("/")[0] for name in once} >= {
        "curves", "episodes.npz", "episodes.csv", "paired.csv", "windows.csv", "verdict.md",
    }  # fmt: skip


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    run_study(**STUDY, run=RunOptions(tmp_path, workers=1, quiet=True))
    before = files_of(tmp_path)
    with pytest.raises(ValueError, match="seed was 0 and is 7") as error:
        run_study(["pe"], **STUDY, seed=7, run=RunOptions(tmp_path, quiet=True))
    assert "policies: " in str(error.value)
    assert "horizon" not in str(error.value)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("episodes", 1), ("episodes", 2.5), ("horizon", 0), ("num_opponents", 0),
        ("prior_draws", 0), ("seed", -1), ("belief", "wrong"), ("equal_variance", "other"),
        ("ranks", ["first"]), ("ranks", []), ("ranks", [None]), ("priors", ["flat"]),
        ("policies", []), ("policies", ["nobody"]), ("policies", ["pe", "pe"]),
        ("policies", "pe"), ("policies", [3]),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"policy|polic" if name == "policies" else name[:4]):
        StudySettings.checked(**{name: value})


def test_priors_are_drawn_as_the_paper_says() -> None:
    settings = StudySettings.checked(["pe"], num_opponents=4000, episodes=2, horizon=1)
    mu, sigma = prior_of(settings, 0)
    assert stats.kstest(mu / 2.0, "norm").pvalue > 1e-3
    assert stats.kstest(sigma**2 - 2.0, "uniform").pvalue > 1e-3
    assert not np.array_equal(mu, prior_of(settings, 1)[0])
