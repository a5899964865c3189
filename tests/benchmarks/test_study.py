"""The study: its cells, games by the printed equations, estimates, claims and figures."""

import io
import math
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from dense_belief import DenseBelief
from refusals import refusals
from scipy import stats

from matchenv.belief import TRUE_SKILL
from matchenv.benchmarks.limits.bound import run_bound
from matchenv.benchmarks.study import claims, run_study
from matchenv.benchmarks.study.figures import binned, figures_for, pictures
from matchenv.benchmarks.study.results import Study
from matchenv.benchmarks.study.settings import MEASURES, StudySettings, middle_places, windows_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.settings import place_of_rank
from matchenv.envs.one_player.simulator import OUTCOME, OnePlayer
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Record, mean_of_blocks
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.rollout import column_of, rollout, sums
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.random import uniforms

BETA = math.sqrt(2.5)
ONE_WORKER = RunOptions(workers=1, quiet=True)
RANKS = ("top", "12th", "25th", "37th", "bottom")
NAMES = [f"{prior}_{rank}" for prior, rank in product(("informative", "equal"), RANKS)]


def problem_of(settings: StudySettings, name: str, draw: int = 0) -> tuple[Any, tuple[int, ...]]:
    """Return settings and seeds of the first block of a cell."""
    cells = {cell.name: cell for cell in settings.cells}
    block = next(block for block in settings.plan().blocks if block.prior == draw)
    return settings.settings_of(cells[name], draw), block.seeds


def episodes_of(settings: StudySettings, name: str, draw: int = 0) -> Episodes[Any]:
    """Return the first block of a cell before the games."""
    game, seeds = problem_of(settings, name, draw)
    return Episodes.of_seeds(OnePlayer(game), seeds)


def luck_of(episodes: Episodes[Any]) -> np.ndarray:
    """Return the uniform numbers that decide the games, shape (B, N)."""
    return uniforms(episodes.state.key, OUTCOME, 0, episodes.simulator.settings.horizon)


def games_of(settings: StudySettings, name: str, policy: int = 0) -> np.ndarray:
    """Return all measures of each game of the first block, shape (B, 4, N)."""
    windows = {str(n): slice(n, n + 1) for n in range(settings.horizon)}
    summary = partial(sums, measures=MEASURES, windows=windows)
    game, seeds = problem_of(settings, name)
    rng = np.random.default_rng(0)
    table = rollout(settings.candidates[policy].policy(game), game, seeds, rng, summary)
    measures = []
    for measure in MEASURES:
        measures.append(np.stack([table[column_of(measure, n)] for n in windows], axis=1))
    return np.stack(measures, axis=1)


@pytest.mark.parametrize("num_players", [2, 3, 10, 50, 1000])
def test_cells_for_any_number_of_players(num_players: int) -> None:
    settings = StudySettings(num_opponents=num_players - 1, priors=["equal"], policies=["pe"])
    places = [place_of_rank(cell.options["rank"], num_players - 1) for cell in settings.cells]
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, num_players - 1)
    for cell, place in zip(settings.cells[1:-1], places[1:-1], strict=True):
        assert cell.title.startswith(f"{place + 1}")
        assert f" of {num_players} by true skill" in cell.title
    if num_players == 50:
        assert places == [0, 11, 24, 36, 49]
        assert [cell.name for cell in StudySettings(["pe"]).cells] == NAMES


def test_the_claim_about_the_centre_is_about_the_cell_of_figure_4() -> None:
    study = run_study(episodes=2, horizon=101, num_opponents=6, priors=["equal"], run=ONE_WORKER)
    (claim,) = (text for text in verdicts(study) if "clearest here" in text)
    assert claim.startswith("4th of 7 by true skill, equal prior: KG")
    panel = figures_for(7)["figure_4"].panels[0]
    assert panel.prior == "equal"
    assert panel.place == 3


@pytest.mark.parametrize("by", ["true_skill", "prior_mean"])
def test_player_0_has_the_rank_of_the_cell(by: str) -> None:
    settings = StudySettings(["pe"], episodes=4, equal_rank_by=by)
    prior: Any = settings.settings_of(settings.cells[0], 0).prior
    places = [0, 11, 24, 36, 49]
    for cell, place in zip(settings.cells, 2 * places, strict=True):
        informative = cell.labels["prior"] == "informative"
        players = episodes_of(settings, cell.name).state.players
        for mu, sigma, skill in players.transpose(0, 2, 1):
            if informative:
                better = mu > mu[0]
                np.testing.assert_array_equal(np.sort(mu), np.sort(prior.mu))
            else:
                better = skill > skill[0]
                np.testing.assert_array_equal(mu, 0.0)
                if by == "prior_mean":
                    (player_0,) = np.flatnonzero(prior.sigma == sigma[0])
                    better = prior.mu > prior.mu[player_0]
            assert better.sum() == place
        hidden = by == "prior_mean" and not informative
        assert ("hidden mean" in cell.title) == hidden


def test_skills_and_luck_depend_on_neither_cell_nor_number_of_episodes() -> None:
    settings = StudySettings(["pe"], episodes=8, horizon=20, prior_draws=2)
    blocks = [episodes_of(settings, name, 1) for name in NAMES]
    skills = [block.state.players[..., TRUE_SKILL] for block in blocks]
    for skills_of_cell in skills[1:]:
        np.testing.assert_array_equal(np.sort(skills_of_cell), np.sort(skills[0]))
    fewer = episodes_of(replace(settings, episodes=3), NAMES[2], 1)
    np.testing.assert_array_equal(fewer.state.players[..., TRUE_SKILL], skills[2][:3])
    np.testing.assert_array_equal(luck_of(fewer), luck_of(blocks[0])[:3])
    mu_of_draw_0 = episodes_of(settings, NAMES[0], 0).state.players[0, :, 0]
    mu_of_draw_1 = blocks[0].state.players[0, :, 0]
    assert not np.array_equal(np.sort(mu_of_draw_0), np.sort(mu_of_draw_1))


def test_windows_and_curves_equal_those_of_the_games() -> None:
    study = run_study(
        ["pe", "kg"],
        episodes=6,
        horizon=130,
        num_opponents=5,
        ranks=[2],
        priors=["equal"],
        run=ONE_WORKER,
    )
    (result,) = study.results
    spans = {
        "first": slice(0, 100),
        "after": slice(100, 130),
        "last": slice(30, 130),
        "all": slice(0, 130),
    }
    games_of_pe = games_of(study.settings, "equal_3rd", 0)
    games_of_kg = games_of(study.settings, "equal_3rd", 1)
    for m, measure in enumerate(MEASURES):
        for window, span in spans.items():
            ours = games_of_kg[:, m, span].mean(axis=1)
            theirs = games_of_pe[:, m, span].mean(axis=1)
            np.testing.assert_allclose(result.values("kg", measure, window)[0], ours, rtol=1e-12)
            difference = result.paired("kg", "pe", measure, window)
            expected = stats.ttest_rel(ours, theirs).confidence_interval()
            assert difference.low == pytest.approx(expected.low)
            assert difference.high == pytest.approx(expected.high)
        curve = result.curve("kg", measure)
        np.testing.assert_allclose(curve.mean, games_of_kg[:, m].mean(axis=0), atol=1e-12)
        # Sums of squares lose digits if the games of all episodes are equal.
        errors = stats.sem(games_of_kg[:, m])
        np.testing.assert_allclose(curve.standard_error, errors, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("horizon", [1, 2, 99, 100, 101])
def test_windows_of_short_horizons_are_not_empty(horizon: int) -> None:
    assert all(np.arange(horizon)[window].size for window in windows_of(horizon).values())


def test_the_printed_belief_follows_the_printed_equations() -> None:
    """Compare with games of KG by enumeration, written from the paper."""
    settings = StudySettings(
        ["kg"], belief="printed", episodes=12, horizon=3, num_opponents=3, ranks=[1]
    )
    episodes = episodes_of(settings, "informative_2nd")
    luck = luck_of(episodes)
    games = games_of(settings, "informative_2nd")
    for b in range(12):
        mu, sigma, skill = episodes.state.players[b].T
        belief = DenseBelief(mu, np.diag(sigma**2), BETA, belief="printed")
        for n in range(3):
            scores = []
            for j in (1, 2, 3):
                best_after = 0.0
                for probability, after in belief.after(j).values():
                    best_after += probability * after.densities.max()
                scores.append(belief.density(j) + 99.0 * best_after)
            j = 1 + int(np.argmax(scores))
            assert games[b, 2, n] == skill[0] - skill[j]
            won = luck[b, n] < stats.norm.cdf((skill[0] - skill[j]) / math.sqrt(5.0))
            assert games[b, 3, n] == won
            assert games[b, 1, n] == pytest.approx((belief.mu[0] - skill[0]) ** 2, rel=1e-9)
            outcome = -1
            if won:
                outcome = 1
            _, belief = belief.after(j)[outcome]


test_bad_settings_are_refused = refusals(
    ("episodes", 1, "epis"),
    ("episodes", 2.5, "epis"),
    ("horizon", 0, "hori"),
    ("num_opponents", 0, "num_"),
    ("prior_draws", 0, "prio"),
    ("seed", -1, "seed"),
    ("belief", "wrong", "beli"),
    ("equal_variance", "other", "equa"),
    ("equal_rank_by", "luck", "equa"),
    ("ranks", ["first"], "rank"),
    ("ranks", [], "rank"),
    ("ranks", [None], "rank"),
    ("priors", ["flat"], "prio"),
    ("policies", [], "poli"),
    ("policies", ["nobody"], "poli"),
    ("policies", ["pe", "pe"], "poli"),
    ("policies", "pe", "poli"),
    ("policies", [3], "poli"),
    call=lambda name, value: StudySettings(**{name: value}),
)


test_strings_and_unknown_options_are_refused = refusals(
    (run_study, {"priors": "equal"}, "priors must be a list of at least one, got 'equal'"),
    (run_study, {"ranks": "top"}, "ranks must be a list of at least one, got 'top'"),
    (run_study, {"foo": 1}, "options must be one of 'ranks', 'priors', .*, got 'foo'"),
    (run_bound, {"priors": "equal"}, "priors must be a list of at least one, got 'equal'"),
    call=lambda run, options: run(**options),
)

THREE = ("pe", "drawchance", "kg")
GAMES = 300
EPISODES = 40
BLOCKS = 8
CELLS = cells_of(["top", *middle_places(50), "bottom"], ["informative", "equal"], 49)


def study_of(games: np.ndarray, policies: tuple[str, ...]) -> Study:
    """Return a study of 50 players with given games, shape (C, P, R, E, 4, N)."""
    columns = {}
    for m, measure in enumerate(MEASURES):
        for window, span in windows_of(games.shape[-1]).items():
            summary = getattr(np, OnePlayer.aggregations[measure])
            columns[column_of(measure, window)] = summary(games[..., m, span], axis=-1)
    curves = np.stack([games.sum(axis=3), (games**2).sum(axis=3)], axis=-1)
    seeds = np.zeros(games.shape[2:4], dtype=np.uint64)
    rates = np.zeros(games.shape[:2])
    blocks = [part.sum(axis=3) for part in np.array_split(games, BLOCKS, axis=3)]
    rows = EpisodeTable(
        CELLS[: len(games)],
        policies,
        seeds,
        columns,
        {"curves": curves},
        rates,
        block_totals={"curves": np.stack(blocks, axis=3)[..., np.newaxis]},
        block_sizes=np.array(
            [part.size for part in np.array_split(np.arange(games.shape[3]), BLOCKS)]
        ),
    )
    settings = StudySettings(
        policies,
        prior_draws=games.shape[2],
        episodes=games.shape[3],
        horizon=games.shape[-1],
    )
    return Study(settings, rows)


@cache
def invented(shape: str, priors: int = 1, cells: int = len(CELLS)) -> Study:
    """Return a study of games as the paper describes them, of the opposite, or of all alike."""
    rng = np.random.default_rng(0)
    sign = {"paper": 1.0, "opposite": -1.0, "alike": 0.0}[shape]
    lead = np.where(np.arange(GAMES) < 100, -0.02, 0.03) * sign
    games = np.empty((cells, len(THREE), priors, EPISODES, 4, GAMES), dtype=np.float32)
    for p in range(len(THREE)):
        games[:, p] = 0.001 * rng.standard_normal(games[:, p].shape, dtype=np.float32)
    games += np.array([0.15, 1.0, 1.0, 0.6])[:, None]
    kg = games[:, THREE.index("kg")]
    kg[..., 0, :] += lead
    kg[..., 1, :] -= 0.2 * sign
    kg[..., 2, :] -= lead
    kg[..., 3, :] -= lead
    return study_of(games.astype(np.float64), THREE)


def verdicts(study: Study) -> dict[str, str]:
    return {claim.text: claim.verdict for claim in claims.claims_on(study.results)}


@pytest.mark.parametrize(
    ("shape", "expected"), [("paper", claims.SUPPORTED), ("opposite", claims.REFUSED)]
)
def test_claims_are_supported_or_refused(shape: str, expected: str) -> None:
    by_claim = verdicts(invented(shape))
    assert len(by_claim) == 2 * 8 + 2 + 4 + 1 + 1
    for claim, verdict in by_claim.items():
        if "no clear winner" in claim:
            # KG is far from both others in the middle, too; PE and DrawChance are equal.
            assert verdict == claims.MIXED
        elif "noisy" not in claim:
            assert verdict == expected


def test_claims_about_equal_policies_are_undecided() -> None:
    by_claim = verdicts(invented("alike"))
    for claim, verdict in by_claim.items():
        if "no clear winner" in claim:
            assert verdict == claims.SUPPORTED
        elif "noisy" not in claim:
            # One interval in twenty excludes 0 by chance.
            assert verdict in (claims.OPEN, claims.MIXED, claims.REFUSED)
    assert list(by_claim.values()).count(claims.OPEN) >= len(by_claim) // 2


@pytest.mark.parametrize("priors", [1, 5])
def test_the_noise_of_equal_priors_differs_by_chance_alone(priors: int) -> None:
    """Noise is that within a prior, whatever the means of the priors are.

    At most one verdict in twenty is wrong, up to 4.5 standard errors.
    """
    rng = np.random.default_rng(0)
    words = []
    for _ in range(1000):
        informative = rng.normal(size=(priors, 5, 1)) + 9.0 * rng.normal(size=(priors, 1, 1))
        words += noise_verdicts(informative, rng.normal(size=(priors, 5, 1)))
    tolerance = 4.5 * math.sqrt(0.05 * 0.95 / 1000)
    assert words.count("undecided") >= (0.95 - tolerance) * len(words)
    noisier = noise_verdicts(2.5 * rng.normal(size=(40, 9, 1)), rng.normal(size=(40, 9, 1)))
    assert set(noisier) == {"ahead"}


def noise_verdicts(informative: np.ndarray, equal: np.ndarray) -> list[str]:
    """Return the verdicts on the noise of two cells, given games of shape (R, E, N)."""
    cells = {}
    for prior, games in (("informative", informative), ("equal", equal)):
        priors, episodes, _ = games.shape
        cell = mock.Mock(units=episodes if priors == 1 else priors)
        cell.errors.return_value = stats.sem(games, axis=1)
        cells[prior, 0] = cell
    return [finding.value.verdict for finding in claims._noise_findings(cells, [0])]


@pytest.mark.parametrize(("lead", "noise", "expected"), [
    (0.0, 0.001, claims.SUPPORTED), (0.0, 0.2, claims.OPEN), (0.004, 0.001, claims.SUPPORTED),
    (0.006, 0.0001, claims.MIXED),
])  # fmt: skip
def test_no_clear_winner_is_a_claim_of_equality(lead: float, noise: float, expected: str) -> None:
    """KG leads by this share of the total, with noise between the policies."""
    rng = np.random.default_rng(0)
    shape = (1, len(THREE), 1, EPISODES, 4, 1)
    games = 0.15 * (1.0 + 0.2 * rng.normal(size=(1, 1, 1, EPISODES, 4, 1)))
    games = games * (1.0 + noise * rng.normal(size=shape))
    games[:, THREE.index("kg")] *= 1.0 + lead
    claim = claims._no_winner("here", study_of(games, THREE).results)
    assert claim.verdict == expected


def test_claims_require_the_papers_policies() -> None:
    games = np.ones((1, 2, 1, 3, 4, 5)) * np.array([1.0, 0.0])[:, None, None, None, None]
    assert claims.claims_on(study_of(games, ("pe", "kg")).results) == []
    assert "lacks" in claims.verdict_text([], "")


def test_files_hold_means_and_errors_over_draws_of_the_prior() -> None:
    study = invented("paper", priors=3, cells=1)
    (result,) = study.results
    tables = {}
    for name, content in study.tables().items():
        tables[name] = pd.read_csv(io.BytesIO(content))
    games = tables["curves/informative_top.csv"]
    windows = tables["windows.csv"]
    paired = tables["paired.csv"]
    assert list(games["game"]) == list(range(GAMES))
    assert len(windows) == 3 * 4 * 4
    assert len(paired) == 6 * 4 * 4
    for policy, measure in product(THREE, MEASURES):
        curve = result.curve(policy, measure)
        np.testing.assert_array_equal(games[f"{policy} {measure} mean"], curve.mean)
        errors = games[f"{policy} {measure} standard error"]
        np.testing.assert_array_equal(errors, curve.standard_error)
    for _, row in windows.iterrows():
        values = result.values(row["policy"], row["measure"], row["games"]).mean(axis=1)
        assert row["mean"] == pytest.approx(values.mean())
        assert row["standard error"] == pytest.approx(stats.sem(values))
    for _, row in paired.iterrows():
        ours = result.values(row["policy"], row["measure"], row["games"]).mean(axis=1)
        theirs = result.values(row["other"], row["measure"], row["games"]).mean(axis=1)
        assert row["difference"] == pytest.approx((ours - theirs).mean())
        assert row["standard error"] == pytest.approx(stats.sem(ours - theirs))
    assert result.units == 3


def test_the_summary_has_totals_and_paired_differences() -> None:
    summary = invented("paper", cells=1).summary()
    assert "40 episodes, 1 prior, 300 games" in summary
    (line,) = (line for line in summary.splitlines() if "| kg |" in line)
    assert "minus" not in study_of(np.ones((1, 1, 1, 2, 4, 5)), ("kg",)).summary()
    total = 300 * 0.15 - 100 * 0.02 + 200 * 0.03
    assert float(line.split("|")[3]) == pytest.approx(total, abs=0.01)
    assert float(line.split("|")[4].split("±")[0]) == pytest.approx(total - 45.0, abs=0.01)


@pytest.mark.parametrize("priors", [1, 6])
def test_leads_are_paired_running_totals(priors: int) -> None:
    rng = np.random.default_rng(3)
    games = rng.normal(size=(1, 2, priors, EPISODES, 4, 20))
    games[:, 1] += games[:, 0]  # luck in common
    (result,) = study_of(games, ("pe", "kg")).results
    lead = result.lead("kg", "pe")
    differences = np.cumsum(games[0, 1, :, :, 0] - games[0, 0, :, :, 0], axis=-1)
    units = differences.mean(axis=1)
    if priors == 1:
        units = differences.reshape(BLOCKS, EPISODES // BLOCKS, 20).mean(axis=1)
    np.testing.assert_allclose(lead.mean, differences.mean(axis=(0, 1)))
    np.testing.assert_allclose(lead.standard_error, stats.sem(units, axis=0))
    interval = stats.ttest_1samp(units, 0.0, axis=0).confidence_interval()
    np.testing.assert_allclose(lead.mean + lead.half_width, interval.high)


def test_a_single_block_has_leads_without_a_band() -> None:
    lead = mean_of_blocks(np.ones((1, 3)), np.array([4]))
    np.testing.assert_array_equal(lead.mean, np.full(3, 0.25))
    assert np.isnan(lead.half_width).all()


def test_figures_have_the_papers_cells() -> None:
    figures = {}
    for name, figure in figures_for(50).items():
        (prior,) = {panel.prior for panel in figure.panels}
        figures[name] = (prior, sorted({panel.place for panel in figure.panels}))
    assert figures == {
        "figure_1": ("informative", [0, 49]),
        "figure_2": ("informative", [11, 24, 36]),
        "figure_3": ("equal", [11, 24, 36]),
        "figure_4": ("equal", [24]),
        "figure_4_extremes": ("equal", [0, 49]),
    }


def test_figures_of_the_cells_of_a_study_are_reproducible() -> None:
    results = invented("paper").results
    middle = dict(pictures(results[1:4]))
    assert middle == dict(pictures(results[1:4]))
    names = ("figure_2", "leads_informative")
    assert set(middle) == {f"figures/{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert middle["figures/figure_2.png"].startswith(b"\x89PNG")
    assert b"Figure 2" in middle["figures/figure_2.svg"]
    # The letters of panels are unique.
    for letter in "abcdef":
        assert middle["figures/figure_2.svg"].count(f"({letter})".encode()) == 1


def test_points_of_curves_are_means_over_consecutive_games() -> None:
    curve = Record(mean=np.arange(10.0), half_width=np.full(10, 2.0))
    games, mean, half = binned(curve, 5)
    np.testing.assert_array_equal(games, [2.0, 7.0])
    np.testing.assert_array_equal(mean, [2.0, 7.0])
    np.testing.assert_array_equal(half, [2.0, 2.0])
    assert binned(curve, 50)[0].size == 1
