"""Learning curves: runs that share a curve, interquartile means, and levels of rivals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matchenv.agents.environments import ONE_PLAYER, HeldOutGames
from matchenv.agents.run_config import RunConfig, RunFolder, configured
from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.benchmarks.report import sections_of
from matchenv.benchmarks.report.training import curves_of, levels_of, middle_of, read_runs, runs_in

GAMES: dict[str, Any] = {"num_opponents": 3, "horizon": 12, "rank": "top"}
EPISODES = 5


def write_run(
    path: Path, seed: int, numbers: list[float], timesteps: list[int] | None = None, **kwargs: Any
) -> RunConfig:
    """Write the folder of a run with given evaluations."""
    given = {"env_kwargs": GAMES, "evaluation_episodes": EPISODES, **kwargs}
    config = configured("ppo", seed=seed, **given)
    steps = timesteps or [100 * n for n in range(len(numbers))]
    made_up = [
        {"timesteps": step, "episodes": EPISODES, "mean_return": number, "draw_density": number,
         "true_draw_density": number, "true_q_less_kg": number - 2.0,
         "true_q_less_drawchance": number + 1.0}
        for step, number in zip(steps, numbers, strict=True)
    ]  # fmt: skip
    RunFolder.create(path, config).write_evaluations(seed, made_up)
    return config


def test_runs_that_differ_only_in_their_seed_share_a_curve(tmp_path):
    for seed in range(5):
        write_run(tmp_path / f"seed{seed}", seed, [0.0, float(seed), 10.0 * seed])
    runs = read_runs([*runs_in(tmp_path), tmp_path / "seed0"])
    (curves,) = curves_of(runs, "true_draw_density").values()
    assert [run.config.seed for run in runs] == [0, 1, 2, 3, 4]
    assert curves.index.tolist() == [0, 100, 200]
    for seeds, expected in (
        (5, ([0.0, 2.0, 20.0], [0.0, 1.0, 10.0], [0.0, 3.0, 30.0])),
        (3, ([0.0, 1.0, 10.0], [0.0, 0.0, 0.0], [0.0, 2.0, 20.0])),
    ):
        found = middle_of(curves.iloc[:, :seeds])
        assert tuple(each.tolist() for each in found) == expected
    # A run with other settings has a curve of its own.
    config = runs[4].config
    other = replace(config, hyperparameters={**config.hyperparameters, "gamma": 0.5})
    (tmp_path / "seed4" / "config.yml").write_text(other.to_text())
    labels = curves_of(read_runs(runs_in(tmp_path)), "mean_return")
    assert list(labels) == [f"ppo ({tmp_path / name})" for name in ("seed0", "seed4")]


def test_evaluations_at_different_times_are_interpolated(tmp_path):
    write_run(tmp_path / "a", 0, [0.0, 4.0], [0, 400])
    write_run(tmp_path / "b", 1, [0.0, 1.0, 9.0], [0, 100, 900])
    (curves,) = curves_of(read_runs(runs_in(tmp_path)), "true_draw_density").values()
    assert curves.index.tolist() == [0, 100, 400]
    assert curves.to_numpy().T.tolist() == [[0.0, 1.0, 4.0], [0.0, 1.0, 4.0]]


@pytest.mark.parametrize(
    ("rival", "policy"), [("kg", KnowledgeGradient()), ("drawchance", DrawChance())]
)
def test_a_run_that_plays_a_baseline_is_at_its_level(tmp_path, rival, policy):
    write_run(tmp_path, 7, [0.0])
    result = HeldOutGames(ONE_PLAYER, GAMES, EPISODES, 7).evaluate(policy)
    RunFolder(tmp_path).write_evaluations(7, [{"timesteps": 0, **result}])
    runs = read_runs(runs_in(tmp_path))
    (curves,) = curves_of(runs, "true_q_less_kg").values()
    assert levels_of(runs, "true_q_less_kg")[rival] == pytest.approx(curves.iloc[0, 0], abs=1e-12)


def test_the_page_shows_the_difference_and_the_return(tmp_path):
    for seed in range(2):
        write_run(tmp_path / f"seed{seed}", seed, [0.0, 5.0 + seed])
    (section,) = sections_of([tmp_path])
    less, returned, last = section.blocks
    assert last.content["true q minus kg's"].tolist() == ["+3.00", "+4.00"]
    for chart, title, shift in ((less, "true q minus kg's", 2.0), (returned, "mean return", 0.0)):
        assert chart.content.layout.yaxis.title.text == title
        assert "all of 2 seeds" in chart.note
        band, mean, *levels = chart.content.data
        assert mean.name == band.legendgroup == "ppo"
        assert mean.y.tolist() == [0.0 - shift, 5.5 - shift]
        assert band.y.tolist() == [0.0 - shift, 6.0 - shift, 5.0 - shift, 0.0 - shift]
        named = {each.name: each.y.tolist() for each in levels}
        assert named == ({"kg": [0.0, 0.0], "drawchance": [-3.0, -3.0]} if shift else {})
    assert less.content.layout.yaxis.range[0] == -13.0  # far lower values are cut off


def test_other_environments_show_their_own_measure(tmp_path):
    config = configured("ppo", environment="Ranking-v0", evaluation_episodes=EPISODES)
    numbers = {"mean_return": 80.0, "less_kg": -1.5, "less_information": 0.5}
    RunFolder.create(tmp_path / "ranker", config).write_evaluations(
        0, [{"timesteps": 0, "episodes": EPISODES, **numbers}]
    )
    (section,) = sections_of([tmp_path])
    assert "Ranking-v0" in section.lead
    *charts, last = section.blocks
    titles = [each.content.layout.yaxis.title.text for each in charts]
    assert titles == ["reward minus kg's", "mean return"]
    assert last.content["reward minus kg's"].tolist() == ["-1.50"]
    assert [each.name for each in charts[0].content.data][1:] == ["ppo", "kg", "information"]
