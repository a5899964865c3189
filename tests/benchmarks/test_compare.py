"""Comparisons against episodes played by hand and SciPy; tunings; the queue; rankings."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from matchenv import MatchmakingEnv, NormalPrior
from matchenv.baselines import DrawChance, KnowledgeGradient, Oracle
from matchenv.baselines.queue import QueueKnowledgeGradient
from matchenv.belief import IndependentBelief
from matchenv.benchmarks.compare import Comparison, run_comparison, run_tuning
from matchenv.benchmarks.compare.comparison import problem_of
from matchenv.benchmarks.compare.queue import front_of, group_standings
from matchenv.benchmarks.compare.ranking import SMOOTHED, games_needed
from matchenv.benchmarks.compare.tuning import TRIED
from matchenv.benchmarks.limits.bound import run_bound
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.envs import ENVIRONMENTS
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.envs.queue.population import NormalPopulation
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.protocols import default_policies
from matchenv.evaluation.ranking import POINTS
from matchenv.evaluation.registry import RANKING, expanded, family_of, policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.evaluation.seeds import episode_seeds
from matchenv.evaluation.visits import INDEX
from matchenv.runtime import jobs
from matchenv.runtime.jobs import RunOptions

SMALL = {"num_opponents": 7, "horizon": 12}
TRUE_Q = "true_draw_density"
DRIFT = {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}


def compared(
    policies: list[Any], *ranks: str | None, out: Path | None = None, **options: Any
) -> Comparison:
    """Run a small comparison in this process."""
    cells = {"rank": ranks or ["top", None]}
    settings = {"episodes": 12, "seed": 3, "env_kwargs": SMALL, "cells": cells}
    run = RunOptions(workers=1, quiet=True, out=out)
    return run_comparison(policies, run=run, **{**settings, **options})


class Rota:
    """A third-party policy with a memory: every opponent in turn."""

    name = "rota"

    def __init__(self, belief: str) -> None:
        self.belief = belief

    def predict(self, observation: Any, state: Any, episode_start: Any, **_: Any) -> Any:
        size = {"factorised": 17, "full": 24}
        assert observation.shape[-1] == size[self.belief]
        if state is None:
            state = np.zeros(len(observation), np.int64)
        opponents = np.where(episode_start, 0, (state + 1) % 7)
        return opponents, opponents


@pytest.mark.parametrize(
    ("policy", "rank", "prior", "game"),
    [
        ("kg", "middle", "equal", {}),
        ("kg", "middle", "equal", DRIFT),
        ("drawchance", "top", "equal", {"noise": "game"}),
        ("oracle", "middle", "equal", DRIFT),
        ("oracle", None, NormalPrior(25, 8.3), {}),
        (Rota("factorised"), "middle", "equal", {}),
        (Rota("full"), "middle", "equal", {}),
    ],
)
def test_measures_equal_those_of_the_scalar_environment(policy, rank, prior, game):
    cells = {"rank": [rank], "prior": [prior]}
    comparison = compared([policy], cells=cells, episodes=2, env_kwargs={**SMALL, **game})
    heading = comparison.table().splitlines()[0]
    assert heading.endswith("noise game") == ("noise" in game)
    name = str(getattr(policy, "name", policy))
    belief = getattr(policy, "belief", "factorised")
    options = {"noise": "opponent", "rank": rank, "prior": prior, "belief": belief}
    env = gym.make("Matchmaking-v0", **{**options, **SMALL, **game})
    for episode, seed in enumerate(episode_seeds(3, 0, 2)):
        for measure, value in measures_by_hand(env, name, game, seed).items():
            ours = comparison.values(measure, 0, name)[episode]
            assert ours == pytest.approx(value, rel=1e-12, abs=1e-12), measure


def measures_by_hand(env: Any, name: str, game: dict[str, Any], seed: int) -> dict[str, float]:
    """Play an episode of the scalar environment, and return its measures."""
    base = env.unwrapped
    assert isinstance(base, MatchmakingEnv)
    env.reset(seed=seed)
    known = {option: game[option] for option in DRIFT if option in game}
    policies: dict[str, Any] = {
        "kg": KnowledgeGradient(**known),
        "drawchance": DrawChance(),
        "oracle": Oracle(lambda: base.true_skill),
    }
    infos = []
    for number in range(SMALL["horizon"]):
        action = number % 7  # as ``Rota``
        if name in policies:
            view = MatchmakingView(base.knowledge_state, base.games_left)
            action = policies[name].act(view)
        *_, info = env.step(int(action))
        infos.append(info)
    steps = pd.DataFrame(infos)
    wins = steps["won"].astype(float).where(steps["outcome"] != 0, 0.5)
    return {
        "draw_density": steps["draw_density"].sum(),
        TRUE_Q: steps[TRUE_Q].sum(),
        "match_quality": steps["match_quality"].sum(),
        "squared_error": steps["squared_error"].mean(),
        "final_squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
        "skill_difference": steps["skill_difference"].mean(),
        "win_ratio": wins.mean(),
    }


def test_episodes_depend_neither_on_their_number_nor_on_other_policies() -> None:
    few = compared(["kg"], "top", episodes=5).rows
    many = compared(["random", "kg"], "top", episodes=130).rows
    among = compared(["thompson", "random"], "top", episodes=130).rows
    for name, values in few.columns.items():
        np.testing.assert_array_equal(values[:, 0], many.columns[name][:, 1, :, :5])
        np.testing.assert_array_equal(many.columns[name][:, 0], among.columns[name][:, 1])
    # Random choices differ from block to block.
    assert len(set(many.values("draw_density", 0, "random")[0])) == 130


def test_files_hold_scipys_estimates_on_the_saved_episodes(tmp_path: Path) -> None:
    compared(["pe", "gittins"], episodes=15, out=tmp_path)
    report = json.loads((tmp_path / "comparison.json").read_text())
    assert report["beliefs"]["pe"] == "factorised"
    assert report["beliefs"]["gittins"] == "full"
    lines = pd.read_csv(tmp_path / "comparison.csv")
    episodes = pd.read_csv(tmp_path / "episodes.csv")
    totals = episodes.pivot(index=["rank", "episode"], columns="policy", values=TRUE_Q)
    for (_, line), standing in zip(lines.iterrows(), report["standings"], strict=True):
        rank = standing["cell"]["rank"]
        difference = standing["difference"]
        policies = [standing["policy"], "kg", "drawchance", "oracle"]
        ours, theirs, low, high = totals.loc[rank, policies].to_numpy().T
        assert len(ours) == 15
        assert (ours <= high + 1e-12).all()
        if standing["policy"] != "kg":
            interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
            assert difference["low"] == pytest.approx(interval.low, rel=1e-9)
            assert difference["high"] == pytest.approx(interval.high, rel=1e-9)
        error = stats.sem(ours - theirs)
        assert difference["standard_error"] == pytest.approx(error, rel=1e-9, abs=1e-300)
        assert standing[TRUE_Q]["mean"] == pytest.approx(ours.mean(), rel=1e-12)
        share = (ours - low).mean() / (high - low).mean()
        assert standing["share_closed"]["mean"] == pytest.approx(share)
        assert standing["share_closed"]["low"] <= share <= standing["share_closed"]["high"]
        assert line["rank"] == rank
        assert line["policy"] == standing["policy"]
        assert line["difference_low"] == difference["low"]
        assert line["final_squared_error_mean"] == standing["final_squared_error"]["mean"]
        assert line["share_closed_mean"] == standing["share_closed"]["mean"]
        judged = standing["policy"] in ("pe", "gittins", "drawchance")
        assert bool(standing["verdict"]) == judged
        if judged:
            # Two cells with three policies each have a verdict.
            limit = stats.t.ppf(1.0 - 0.025 / 6, 14)
            power = stats.nct.sf(limit, 14, standing["detectable"] / error)
            assert power == pytest.approx(0.8, abs=1e-6)


def test_the_table_has_times_and_the_files_have_none(tmp_path: Path) -> None:
    """Decisions per second differ from run to run."""
    comparison = compared(["pe"], out=tmp_path)
    assert (comparison.rows.decisions_per_second > 1.0).all()
    table = comparison.table()
    assert "decisions/s" in table
    assert re.search("^policy +believed q +true q +true q - kg +detects", table, re.MULTILINE)
    assert {"top rank, informative prior", "any rank, informative prior"} <= set(table.splitlines())
    assert "_per_second" not in (tmp_path / "comparison.json").read_text()
    assert "_per_second" not in (tmp_path / "comparison.csv").read_text()
    assert "decisions/s" not in (tmp_path / "comparison.txt").read_text()


PRIOR = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"


def test_own_priors_as_objects_and_texts_give_equal_files_where_allowed(typed: Any) -> None:
    cells = {"rank": [None], "prior": [NormalPrior(25, 8.3)]}
    compared(["kg"], cells=cells, out=Path("object"))
    words = f"compare --policy kg --rank any --prior {PRIOR} --episodes 12 --seed 3 --out command"
    assert typed(f"{words} --num-opponents 7 --horizon 12 --workers 1 --quiet").status == 0
    of_object = contents(Path("object"))
    assert of_object == contents(Path("command"))
    assert PRIOR in json.loads(of_object["settings.json"])["priors"]
    assert json.loads(of_object["comparison.json"])["standings"][0]["cell"]["prior"] == PRIOR
    for make in (run_bound, StudySettings):
        with pytest.raises(ValueError, match="priors must be one of 'informative', 'equal', got"):
            make(["kg"], priors=[PRIOR])


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


class Chosen:
    """A policy of ``__main__``, with a value that is set at run time."""

    __module__ = "__main__"
    name = "chosen"
    action = 0

    def act(self, view: Any, rng: Any) -> Any:
        return np.full(len(view.action_mask), self.action)


class Widened(NormalPrior):
    """A prior of ``__main__``, with a value that is set at run time."""

    __module__ = "__main__"
    action = 0

    def draw(self, normals: Any, uniforms: Any) -> Any:
        mu, sigma = super().draw(normals, uniforms)
        return mu, sigma * (1.0 + self.action)


class Doubting(IndependentBelief):
    """A belief of ``__main__``, with a value that is set at run time."""

    __module__ = "__main__"
    action = 0

    def widened(self, sigma: Any, constants: Any) -> Any:
        return sigma * (1.0 + self.action)


@pytest.mark.parametrize(
    ("run", "policy", "options"),
    [
        (run_comparison, "drawchance:belief=__main__:Doubting", {"cells": {"rank": [None]}}),
        (
            run_comparison,
            "__main__:Chosen",
            {"cells": {"rank": [None]}, "against": "__main__:Chosen"},
        ),
        (run_comparison, "random", {"cells": {"rank": [None], "prior": ["__main__:Widened"]}}),
        (run_bound, Chosen(), {"ranks": [None]}),
    ],
)
def test_results_that_depend_on_values_set_in_main_are_not_reused(
    run: Any, policy: Any, options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results(folder: str) -> bytes:
        store = RunOptions(tmp_path / folder, workers=1, quiet=True)
        run([policy], run=store, episodes=4, env_kwargs=SMALL, **options)
        return b"".join(file.read_bytes() for file in sorted((tmp_path / folder).glob("*.csv")))

    for cls in (Chosen, Widened, Doubting):
        monkeypatch.setattr(sys.modules["__main__"], cls.__name__, cls, raising=False)
        monkeypatch.setattr(cls, "action", 0)
    before = results("out")
    for cls in (Chosen, Widened, Doubting):
        monkeypatch.setattr(cls, "action", 3)
    assert before != results("out") == results("new")


def fixed(size: int, action: float = 0) -> Any:
    """Return a policy like those of stable-baselines3, for observations of one size."""

    def predict(observation: Any, state: Any = None, *_: Any, **__: Any) -> tuple[Any, Any]:
        if observation.shape[-1] != size:
            raise ValueError(f"observation must have {size} numbers")
        return np.full(len(observation), action), state

    return SimpleNamespace(name="fixed", predict=predict)


QUEUE = {"env": "MatchmakingQueue-v0"}


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        (
            ["pe"],
            {"env_kwargs": {"reward": 1}},
            "env_kwargs may hold .*num_opponents, .* got 'reward'",
        ),
        (["pe"], {"env_kwargs": {"prior": 1}}, "env_kwargs may hold .* got 'prior'"),
        (
            [fixed(101)],
            {"env_kwargs": {"num_opponents": 9}},
            "'fixed' cannot play with num_opponents=9",
        ),
        ([SimpleNamespace(name="my", act=lambda *_, **__: [-1])], {}, "'my' cannot play .*got -1"),
        ([fixed(101, -1)], {}, r"'fixed' cannot play with num_opponents=49.*in \[0, 48\]"),
        ([fixed(101, 49)], {}, r"'fixed' cannot play with num_opponents=49.*in \[0, 48\]"),
        ([fixed(101, 0.5)], {}, "'fixed' cannot play with num_opponents=49.*integ"),
        ("kg", {}, "polic"),
        ([], {}, "polic"),
        ([3], {}, "polic"),
        ([object()], {}, "polic"),
        ([KnowledgeGradient(multiplier=3.0), "pe"], {}, "must not call another policy 'kg'"),
        ([DrawChance(beta=2.0), "pe"], {}, "must not call another policy 'drawchance'"),
        ("kg", {"env": "Ranking-v0"}, "must be a list"),
        ([], {"env": "Ranking-v0"}, "must be a list"),
        (["pe"], {"cells": {"rank": "top"}}, "cells must map"),
        (["pe"], {"cells": {"rank": 1}}, "cells must map"),
        (["fcfs"], {**QUEUE, "cells": {"load": []}}, "load"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["thin", 0.2]}}, "none of them twice"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["high"]}}, "load must be"),
        (
            ["fcfs"],
            {**QUEUE, "cells": {"rank": ["top"]}},
            "cells may hold load, got 'rank': other options have one value",
        ),
        (["fcfs"], {**QUEUE, "env_kwargs": {"arrival_rate": 2}}, "arrival_rate.*differ in load"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"patience": 0}}, "patience"),
        (["pe"], {**QUEUE, "cells": {"load": [0.5]}}, "'pe' cannot play with capacity=16: policy"),
    ],
)
def test_bad_arguments_are_refused_before_a_game_is_played(
    policies: Any, options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(jobs, "results_of")
    with pytest.raises(ValueError, match=message):
        run_comparison(policies, **options)


IN_QUEUE: dict[str, Any] = {
    "env": "MatchmakingQueue-v0",
    "episodes": 4,
    "env_kwargs": {"horizon": 40, "capacity": 6},
    "run": RunOptions(workers=1, quiet=True),
}
BOTH = {"load": ["thin", "2"]}
TWO = {"load": ["2"]}
POLICIES = ("fcfs", "window:width=0.5", "random", "kg:multiplier=2")


@pytest.fixture(scope="module")
def comparison() -> Any:
    return run_comparison(POLICIES, against="window:width=0.5", cells=BOTH, **IN_QUEUE)


@pytest.fixture(scope="module")
def tuning() -> Any:
    widths = [f"window:width={width}" for width in (0.5, 3, 1, 0, 0.2, 9)]
    return run_tuning([*widths, "fcfs"], cells=BOTH, **IN_QUEUE)


def test_standings_of_the_queue_equal_those_of_its_runs_and_of_all_players(comparison: Any) -> None:
    ours, theirs = comparison.rows.columns["true_reward"][1, :2, 0]
    with pytest.raises(ValueError, match=r"policy must be one of .*'fcfs'"):
        comparison.standing(0, "nobody")
    with pytest.raises(ValueError, match=r"cell must be an integer in \[0, "):
        comparison.standing(-1, "fcfs")
    standing = comparison.standing(1, "fcfs")
    sums = comparison.rows.arrays["sums"][1, 0, 0]
    assert standing.difference.mean == pytest.approx((ours - theirs).mean())
    assert standing.true_reward.mean == pytest.approx(ours.mean())
    assert standing.wait.mean == pytest.approx((sums[:, 0, 2] / sums[:, 0, 0]).mean())
    everyone = [group for group in group_standings(comparison) if group.group == "all"]
    for group, standing in zip(everyone, comparison.standings, strict=True):
        assert group.policy == standing.policy
        assert group.load == standing.cell["load"]
        assert group.wait == standing.wait
        assert group.long_wait == standing.long_wait


@pytest.fixture(scope="module")
def of_teams() -> Any:
    options = {**IN_QUEUE["env_kwargs"], "side_size": 2, "party_sizes": [0.6, 0.4]}
    return run_comparison(
        ("fcfs", "window:width=0.5"),
        against="fcfs",
        cells={"load": ["2", "4"]},
        **{**IN_QUEUE, "env_kwargs": options},
    )


def test_bands_of_skill_and_party_have_the_means_of_their_players(of_teams: Any) -> None:
    bands = {(row.load, row.policy, row.group): row for row in of_teams.tables["bands"]}
    assert len(bands) == len(of_teams.tables["bands"])
    sums = of_teams.rows.arrays["sums"][1, 1, 0]
    middle = sums[:, [INDEX[f"decile_{k}"] for k in (4, 5, 6, 7)]].sum(axis=1)
    by_group = {
        "all": sums[:, 0],
        "skill 30-70 %": middle,
        "parties of 2": sums[:, INDEX["party_2"]],
    }
    for group, sums_of_group in by_group.items():
        visits, served, waited, *_, true_spread = sums_of_group.T
        row = bands["4", "window:width=0.5", group]
        for found, values in (
            (row.wait, waited / visits),
            (row.left, 1.0 - served / visits),
            (row.true_spread, true_spread / served),
        ):
            expected = estimate(values)
            assert found.mean == pytest.approx(expected.mean)
            assert found.half_width == pytest.approx(expected.half_width)
    (gap,) = (
        row
        for row in of_teams.tables["gaps"]
        if (row.load, row.policy, row.gap) == ("4", "window:width=0.5", "parties - singles")
    )
    waits = {}
    for size in (1, 2):
        visits, _, waited, *_ = sums[:, INDEX[f"party_{size}"]].T
        waits[size] = waited / visits
    assert gap.wait == paired_difference(waits[2], waits[1])


def test_tables_of_teams_are_printed_written_and_frames(
    of_teams: Any, comparison: Any, tmp_path: Path
) -> None:
    text = of_teams.table()
    for row in of_teams.tables["bands"]:
        assert format(row.wait, ".2f") in text
        assert format(row.true_favourite, ".3f") in text
    of_teams.save(tmp_path)
    for name in ("bands", "gaps"):
        frame = of_teams.to_frame(name)
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(frame)
        np.testing.assert_array_equal(
            frame["wait_mean"], [row.wait.mean for row in of_teams.tables[name]]
        )
    with pytest.raises(ValueError, match=r"table must be one of .*'bands'"):
        of_teams.to_frame("band")
    assert "parties log on" in of_teams.cells[0].title


def test_tables_of_pairs_are_printed_if_asked_for(comparison: Any) -> None:
    rows = comparison.tables["bands"]
    everyone = [row for row in rows if row.group == "all"]
    for row, standing in zip(everyone, comparison.standings, strict=True):
        assert (row.load, row.policy) == (standing.cell["load"], standing.policy)
        assert row.wait == standing.wait
        assert row.true_match_quality == standing.true_match_quality
        assert 0.5 <= row.favourite.mean <= 1.0
    usual = comparison.table(timing=False)
    text = comparison.table(timing=False, bands=True)
    assert set(usual.splitlines()) < set(text.splitlines())
    for row in [*rows, *comparison.tables["gaps"]]:
        shown = "–"
        if row.true_favourite.known:
            form = "+.3f" if "gap" in row else ".3f"
            shown = format(row.true_favourite, form)
        assert shown in text
    for name in ("skill 0-10 %", "newcomers - regulars"):
        assert name in text
        assert name not in usual


def test_default_policies_play_teams_and_pairs() -> None:
    teams: dict[str, Any] = {"horizon": 8, "capacity": 6, "side_size": 2}
    for options in (teams, {"horizon": 8}):
        problem = problem_of(env="MatchmakingQueue-v0", cells=TWO, env_kwargs=options)
        protocol, settings, _ = problem
        tried = default_policies(expanded(TRIED["MatchmakingQueue-v0"]), settings)
        for name in (*protocol.policies, *tried):
            policy_named(name, settings)
        has_both = ["kg:both=true" in names for names in (protocol.policies, ",".join(tried))]
        assert has_both == [not settings.has_lobbies] * 2
    for policy in ("kg:both=true", QueueKnowledgeGradient(both=True)):
        with pytest.raises(ValueError, match="both must be False with more than two seats"):
            run_comparison([policy], against="fcfs", **{**IN_QUEUE, "env_kwargs": teams})
    with pytest.raises(ValueError, match="both must be False with more than two seats"):
        rollout(QueueKnowledgeGradient(both=True), QueueSettings(**teams, arrival_rate=9.0), [0])


def test_no_policy_of_the_front_is_beaten_by_its_family(tuning: Any) -> None:
    labels = ("kg:multiplier=2,both=true", "kg:both=true", "kg:multiplier=3", "own:A:x=1", "own:B")
    families = ["kg both=true"] * 2 + ["kg", "own:A", "own:B"]
    assert [family_of(label) for label in labels] == families
    assert family_of("reservation:policy=thompson,reservation=0.5") == "reservation policy=thompson"
    points = []
    for point in front_of(tuning.rows):
        if point.load == "2" and point.family == "window":
            points.append(point)
    for point in points:
        is_beaten = any(
            other.wait < point.wait and other.quality > point.quality for other in points
        )
        assert point.best != is_beaten
    assert min(points, key=lambda point: point.wait).best
    assert max(points, key=lambda point: point.quality).best


def test_tuning_finds_the_best_of_each_family_on_own_seeds(comparison: Any, tuning: Any) -> None:
    assert not set(tuning.rows.seeds.flat) & set(comparison.rows.seeds.flat)
    for load, name in enumerate(("thin", "2")):
        means = tuning.rows.columns["true_reward"][load, :, 0].mean(axis=1)
        assert tuning.best(name) == {
            "window": tuning.rows.policies[means[:-1].argmax()],
            "fcfs": "fcfs",
        }
    for record in tuning.tried:
        behind = record.behind.mean
        assert behind >= 0.0
        assert (behind == 0.0) == record.best or behind < 1e-12


class Constant:
    """A third-party policy that plays opponent 0, whatever the mask, and fails at a game."""

    name = "constant"

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at
        self.game = 0

    def act(self, view: Any, rng: Any = None) -> Any:
        self.game += 1
        divisor = 1
        if self.game == self.fails_at:
            divisor = 0
        return np.zeros(len(view.games_left), np.int64) // divisor

    def __repr__(self) -> str:
        return f"Constant({self.fails_at})"


def test_objects_that_change_fail_or_ignore_the_mask(tmp_path: Path) -> None:
    compared([Constant(99)], out=tmp_path)
    compared([Constant(98)], out=tmp_path)  # played again, since objects can change
    result = json.loads((tmp_path / "comparison.json").read_text())
    assert result["policies"]["constant"] == "Constant(98)"
    with (
        np.errstate(divide="raise"),
        pytest.raises(ValueError, match="policy 'constant': FloatingPointError: divide by zero"),
    ):
        compared([Constant(5)])
    # A view has the mask, so forbidden actions are errors.
    pool = {"env_kwargs": {**SMALL, "availability": 0.4, "mean_stay": 2.0}}
    with pytest.raises(ValueError, match=r"policy 'constant'.* must be an opponent who is online"):
        compared([Constant(99)], **pool)


class Own(NormalPopulation):
    """A third-party population."""


def test_third_party_policies_play(comparison: Any) -> None:
    own = SimpleNamespace(name="own", act=lambda view, rng: np.minimum(1, view.num_candidates))
    with_own = run_comparison([own, "random", "fcfs"], against="fcfs", cells=TWO, **IN_QUEUE)
    assert with_own.standing(0, "own").difference.mean == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(
        with_own.rows.columns["reward"][0, 1], comparison.rows.columns["reward"][1, 2]
    )
    ranking = {**IN_QUEUE, "env": "Ranking-v0", "env_kwargs": {"num_items": 4, "horizon": 5}}
    assert run_comparison([fixed(21), "random"], **ranking).against == "kg"


def test_the_content_of_a_population_identifies_a_comparison(tmp_path: Path) -> None:
    identities = []
    for mu, even in (("3.1", True), ("9.0", False)):
        file = tmp_path / f"{mu}.csv"
        file.write_text(f"mu,sigma\n3.0,0.1\n{mu},0.1\n")
        options = {**IN_QUEUE, "env_kwargs": {"population": file, "newcomers": 0.0}}
        result = run_comparison(["fcfs"], against="fcfs", cells=TWO, **options)
        assert (result.standings[0].true_match_quality.mean > 0.99) == even
        identities.append(result.asked["environment"])
    assert identities[0] != identities[1]
    options = {**IN_QUEUE, "env_kwargs": {"population": Own()}}
    result = run_comparison(["fcfs"], against="fcfs", **options)
    assert list(result.asked["code"]) == [f"{__name__}:Own"]  # its mean could be another one


def test_loads_at_which_nobody_plays(tmp_path: Path) -> None:
    nobody: dict[str, Any] = {**IN_QUEUE, "cells": {"load": ["1e-9"]}}
    nobody["run"] = RunOptions(tmp_path / "compare", workers=1, quiet=True)
    result = run_comparison(["fcfs"], against="fcfs", **nobody)
    assert np.isnan(result.standings[0].wait.mean)
    assert "nan" not in result.table(timing=False)
    assert (tmp_path / "compare" / "groups.csv").exists()
    nobody["run"] = RunOptions(tmp_path / "tune", workers=1, quiet=True)
    assert run_tuning(["fcfs"], **nobody).tried[0].best


def test_commands_print_tables_and_write_files(typed: Any) -> None:
    queue = "--env MatchmakingQueue-v0 --episodes 2 --workers 1 --horizon 20 --load 2"
    queue += " --env-kwargs capacity=4 patience=3 --out out"
    printed = typed(f"compare {queue}/compare --policy fcfs --against fcfs").out
    assert "2 episodes of MatchmakingQueue-v0, capacity 4, horizon 20, seed 0" in printed
    assert {path.name for path in Path("out/compare").iterdir()} >= {
        "episodes.csv",
        "episodes.npz",
        "comparison.txt",
        "comparison.csv",
        "comparison.json",
        "groups.csv",
        "front.csv",
        "settings.json",
    }
    result = json.loads(Path("out/compare/comparison.json").read_text())
    assert result["against"] == "fcfs"
    assert len(result["groups"]) == 13
    printed = typed(f"tune {queue}/tune --policy window:width={{1,2}}").out
    assert "2 load: players log on at a rate of 2 a tick\npolicy " in printed
    assert re.search(r"^policy +true reward .*behind by.*\nwindow:width=", printed, re.M | re.S)
    assert Path("out/tune/front.csv").exists()
    assert set(json.loads(Path("out/tune/best.json").read_text())) == {"2"}


RUN = RunOptions(workers=1, quiet=True)


def test_games_needed_end_with_the_first_window_at_the_goal() -> None:
    theirs = np.ones((3, POINTS))
    ours = np.zeros((3, POINTS))
    ours[:, 100:] = 1.0
    needed = games_needed(ours, theirs)
    assert needed.mean == needed.low == needed.high == (100 + POINTS // SMOOTHED) / POINTS
    assert games_needed(ours - 0.5, theirs).mean == 1.0
    # Exact ties with the goal, in integers.
    rng = np.random.default_rng(0)
    for _ in range(20):
        ours, theirs = np.sort(rng.integers(-3, 4, (2, 200, 100)), axis=2) // 3
        sums = np.convolve(ours.sum(axis=0), np.ones(2, dtype=int), "valid")
        first = np.argmax(sums >= theirs[:, -2:].sum())
        assert games_needed(ours / 3.0, theirs / 3.0).mean == (2 + first) / 100


@pytest.mark.parametrize("options", [{"horizon": 150}, {"horizon": 400, "goal": "top", "k": 2}])
def test_the_summary_follows_the_measures_after_each_game(options: dict[str, Any]) -> None:
    settings = RankingSettings(num_items=5, beta=0.3, **options)

    policy = policy_named("shrinkage", settings)

    def traces(episodes: Any, steps: Any) -> dict[str, Any]:
        rows = pd.DataFrame([dict(episodes.simulator.info(episodes.state, 0)) for _ in steps])
        return {name: rows[name].to_numpy() for name in rows}

    for seed in range(5):
        summary = rollout(policy, settings, [seed])
        trace = rollout(policy, settings, [seed], summary=traces)
        accuracy = -trace["top_errors"]
        if settings.cut == 0:
            accuracy = trace["kendall_tau"]
        means = accuracy.reshape(min(POINTS, settings.horizon), -1).mean(axis=1)
        points = means[np.arange(POINTS) * means.size // POINTS]
        np.testing.assert_allclose(summary["accuracy"][0], points)
        settled = trace["expected_loss"] <= 0.04
        mistaken = trace["true_loss"] > 0
        assert summary["settled"][0] == settled.any()
        assert summary["ever_wrong"][0] == (settled & mistaken).any()
        if settled.any():
            assert summary["games_to_settle"][0] == settled.argmax() + 1
            assert summary["wrong"][0] == mistaken[settled.argmax()]


def test_the_oracle_needs_fewer_games_than_random_pairs(tmp_path: Path) -> None:
    run = RunOptions(out=tmp_path, workers=1, quiet=True)
    options = {"num_items": 10, "horizon": 400, "beta": 0.7}
    result = run_comparison(
        ["random", "oracle"],
        env=RANKING,
        env_kwargs=options,
        against="random",
        episodes=60,
        run=run,
    )
    assert result.standing(0, "random").games_needed.mean > 0.7
    assert result.standing(0, "oracle").games_needed.high < 0.6
    assert "games needed: share of the games of random" in result.table()
    curves = pd.read_csv(tmp_path / "curves.csv").set_index("policy").accuracy
    assert curves["oracle"].iloc[-1] == pytest.approx(
        result.values("accuracy", 0, "oracle")[:, -1].mean()
    )


def test_games_needed_in_short_episodes() -> None:
    """A curve reaches its own end there, if it rises; one game is one point of it."""
    result = run_comparison(
        ["kg"],
        env=RANKING,
        cells={"horizon": [1, 3, 300]},
        episodes=100,
        env_kwargs={"num_items": 8, "beta": 0.2},
        run=RUN,
    )
    needed = [standing.games_needed.mean for standing in result.standings]
    assert needed[:2] == [1.0, 1.0]
    assert 0.5 < needed[2] <= 1.0


def test_cells_may_need_their_own_options_and_files_of_skills_count(tmp_path: Path) -> None:
    options = {"max_games_per_pair": 1, "num_items": 8}
    result = run_comparison(
        ["random"],
        env=RANKING,
        env_kwargs=options,
        episodes=2,
        run=RUN,
        cells={"horizon": [10, 20], "skills": [range(8), range(9)]},
    )
    assert [cell.labels["horizon"] for cell in result.cells] == ["10", "10", "20", "20"]
    assert result.cells[1].labels["skills"].startswith("<9 skills")
    last = SimpleNamespace(name="last", act=lambda *_, **__: [27])  # of the 28 pairs of 8 items
    with pytest.raises(ValueError, match="'last' cannot play with num_items=7"):
        run_comparison([last], env=RANKING, cells={"num_items": [8, 7]}, episodes=2, run=RUN)
    file = tmp_path / "ranking.csv"
    run = RunOptions(tmp_path / "out", workers=1, quiet=True)
    swept: dict[str, Any] = {"env": RANKING, "cells": {"skills": [str(file)]}, "run": run}
    table = pd.DataFrame({"item": range(20), "mean": range(20), "games": 20})
    table.to_csv(file, index=False)
    run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    table["mean"] *= 5
    table.to_csv(file, index=False)
    before = set((tmp_path / "out" / "blocks").iterdir())
    run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    new = set((tmp_path / "out" / "blocks").iterdir()) - before
    assert len(new) == len(before)  # all are played again
    file.write_text("item,mean,games\na,0.5,19\n")
    with pytest.raises(ValueError, match=r"skills must have items with at least 20 games, .*csv"):
        run_comparison(["random"], **swept)


CLUBS = """
from dataclasses import dataclass

import numpy as np

import matchenv
from matchenv.envs.core.settings import option
from matchenv.envs.ranking import (
    RankingEnv, RankingSettings, RankingSimulator, RankingVectorEnv
)
from matchenv.runtime.checks import as_choice

matchenv.register_environment(
    matchenv.Environment(
        env_id="Clubs-v0",
        settings="clubs:ClubSettings",
        simulator="clubs:Clubs",
        env="clubs:ClubEnv",
        vector_env="clubs:ClubVectorEnv",
        protocol="club_protocol:PROTOCOL",
    )
)

@dataclass(frozen=True)
class ClubSettings(RankingSettings):
    env_id = "Clubs-v0"
    belief: str = option("sum", as_choice, "of teams", known=("sum", "max"))

class Clubs(RankingSimulator):
    pass

class ClubEnv(RankingEnv, settings=ClubSettings, simulator=Clubs):
    pass

class ClubVectorEnv(RankingVectorEnv, settings=ClubSettings, simulator=Clubs):
    pass

class First:
    def act(self, view, rng=None):
        return np.zeros(len(view.action_mask), dtype=int)
"""
PROTOCOL = """
from dataclasses import replace
from matchenv.evaluation.protocols import GENERAL_PROTOCOL
PROTOCOL = replace(GENERAL_PROTOCOL, swept={"goal": ("order", "best"), "beta": (1.0, 2.0)})
"""


@pytest.fixture
def _forgets_clubs() -> Iterator[None]:
    """Forget the environment after the test."""
    yield
    ENVIRONMENTS.pop("Clubs-v0", None)
    gym.registry.pop("Clubs-v0", None)


@pytest.mark.usefixtures("_forgets_clubs")
def test_a_third_party_environment_is_found_by_its_module(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has options and cells of its own, and neither a renderer nor registered policies."""
    (tmp_path / "clubs.py").write_text(CLUBS)
    (tmp_path / "club_protocol.py").write_text(PROTOCOL)
    monkeypatch.setattr(sys, "path", list(sys.path))
    where = "--env clubs:Clubs-v0 --policy clubs:First --horizon 5 --env-kwargs num_items=4"
    words = f"compare {where} belief=max goal=best --episodes 2 --workers 1 --out out"
    assert typed(words).status == 0
    result = json.loads(Path("out/comparison.json").read_text())
    assert [cell["labels"] for cell in result["cells"].values()] == [
        {"goal": "best", "beta": "1.0"},
        {"goal": "best", "beta": "2.0"},
    ]
    assert result["environment"]["belief"] == "max"
    refusal = typed(f"watch {where} beta=1 goal=best --out film.gif").refusal
    assert "env must be one with a renderer" in refusal
    (tmp_path / "club_protocol.py").write_text(f"{PROTOCOL}# edited\n")
    sys.modules.pop("club_protocol")
    before = set(Path("out", "blocks").iterdir())
    assert typed(words).status == 0
    assert len(set(Path("out", "blocks").iterdir()) - before) == len(before)
    for env in ("clubs:Cups-v0", "no_clubs:Clubs-v0", "Cups-v0"):
        assert typed(f"compare --env {env}").refusal.startswith("argument --env: ")


def test_the_stopping_rule_is_rarely_wrong() -> None:
    """For all distributions of skills, and with a beta that is wrong by a factor of two.

    With an error rate of 5 %, 18 or more errors in 200 episodes have a probability of 1 %. A wrong
    beta is equivalent to skills with another spread than the prior's.
    """
    rng = np.random.default_rng(7)
    normal = rng.normal(size=10_000)
    laws = {
        "normal": (),
        "uniform": rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=10_000),
        "Student's t, 3 degrees": rng.standard_t(3, size=10_000) / np.sqrt(3.0),
        "beta half of the believed": 2.0 * normal,
        "beta twice the believed": 0.5 * normal,
        "normal, a tenth as wide": 0.1 * normal,
    }
    for law, skills in laws.items():
        options = {"num_items": 6, "horizon": 150, "goal": "best", "beta": 0.7, "skills": skills}
        result = run_comparison(["kg"], env=RANKING, env_kwargs=options, episodes=200, run=RUN)
        standing = result.standing(0, "kg")
        least = 0.3
        if "tenth" in law:
            least = 0.0
        assert standing.settled.mean > least
        assert standing.wrong.mean * 200 < 18
        assert standing.wrong.mean <= result.values("ever_wrong", 0, "kg").mean()
