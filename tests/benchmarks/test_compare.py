"""Comparisons against episodes played by hand and SciPy; tunings; the queue; rankings."""

import json
import re
import sys
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
from matchenv.belief import IndependentBelief
from matchenv.benchmarks.compare import Comparison, run_comparison, run_tuning
from matchenv.benchmarks.compare.queue import front_of, group_standings
from matchenv.benchmarks.compare.ranking import SMOOTHED, games_needed
from matchenv.benchmarks.limits.bound import run_bound
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.envs import ENVIRONMENTS
from matchenv.envs.queue.settings import NormalPopulation
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.ranking import POINTS
from matchenv.evaluation.registry import RANKING, family_of, policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime import jobs
from matchenv.runtime.jobs import RunOptions

SMALL = {"num_opponents": 7, "horizon": 12}
TRUE_Q = "true_draw_density"
DRIFT = {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}


def compared(policies: list[Any], *ranks: str | None, out: Path | None = None,
             **options: Any) -> Comparison:  # fmt: skip
    """Run a small comparison in this process."""
    cells = {"rank": ranks or ["top", None]}
    settings = {"episodes": 12, "seed": 3, "env_kwargs": SMALL, "cells": cells}
    run = RunOptions(workers=1, quiet=True, out=out)
    return run_comparison(policies, run=run, **{**settings, **options})


class Rota:
    """A third-party policy with a memory: every opponent in turn."""

    def __init__(self, belief: str) -> None:
        self.belief, self.name = belief, "rota"

    def predict(self, observation: Any, state: Any, episode_start: Any, **_: Any) -> Any:
        assert observation.shape[-1] == (17 if self.belief == "factorised" else 24)
        last = np.zeros(len(observation), np.int64) if state is None else state
        now = np.where(episode_start, 0, (last + 1) % 7)
        return now, now


@pytest.mark.parametrize(
    ("policy", "rank", "prior", "game"),
    [("kg", "middle", "equal", {}), ("kg", "middle", "equal", DRIFT),
     ("drawchance", "top", "equal", {"noise": "game"}), ("oracle", "middle", "equal", DRIFT),
     ("oracle", None, NormalPrior(25, 8.3), {}), (Rota("factorised"), "middle", "equal", {}),
     (Rota("full"), "middle", "equal", {})],
)  # fmt: skip
def test_measures_equal_those_of_the_scalar_environment(policy, rank, prior, game):
    cells = {"rank": [rank], "prior": [prior]}
    comparison = compared([policy], cells=cells, episodes=2, env_kwargs={**SMALL, **game})
    heading = comparison.table().splitlines()[0]
    assert heading.endswith("noise game") == ("noise" in game)
    name, belief = str(getattr(policy, "name", policy)), getattr(policy, "belief", "factorised")
    for e, seed in enumerate(episode_seeds(3, 0, 2)):
        options = {"noise": "opponent", "rank": rank, "prior": prior, "belief": belief}
        env = gym.make("Matchmaking-v0", **{**options, **SMALL, **game})
        base = env.unwrapped
        assert isinstance(base, MatchmakingEnv)
        env.reset(seed=seed)
        player: Any = {
            "kg": KnowledgeGradient(**{each: game[each] for each in DRIFT if each in game}),
            "drawchance": DrawChance(),
            "oracle": Oracle(lambda base=base: base.true_skill),
        }.get(name)
        infos = []
        for n in range(SMALL["horizon"]):
            action = player.act(base.knowledge_state, base.games_left) if player else n % 7
            infos.append(env.step(int(action))[4])
        wins = [1.0 if i["won"] else 0.5 if i["outcome"] == 0 else 0.0 for i in infos]
        expected = {
            "draw_density": sum(i["draw_density"] for i in infos),
            TRUE_Q: sum(i[TRUE_Q] for i in infos),
            "match_quality": sum(i["match_quality"] for i in infos),
            "squared_error": np.mean([i["squared_error"] for i in infos]),
            "final_squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
            "skill_difference": np.mean([i["skill_difference"] for i in infos]),
            "win_ratio": np.mean(wins),
        }
        for measure, value in expected.items():
            found = comparison.values(measure, 0, name)[e]
            assert found == pytest.approx(value, rel=1e-12, abs=1e-12), measure


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
    comparison = compared(["pe", "gittins"], episodes=15, out=tmp_path)
    report = json.loads((tmp_path / "comparison.json").read_text())
    assert (report["beliefs"]["pe"], report["beliefs"]["gittins"]) == ("factorised", "full")
    lines, episodes = (pd.read_csv(tmp_path / f"{name}.csv")
                       for name in ("comparison", "episodes"))  # fmt: skip
    rows = episodes.pivot(index=["rank", "episode"], columns="policy", values=TRUE_Q)
    for (_, line), standing in zip(lines.iterrows(), report["standings"], strict=True):
        rank, difference = standing["cell"]["rank"], standing["difference"]
        names = [standing["policy"], "kg", "drawchance", "oracle"]
        ours, theirs, low, high = rows.loc[rank, names].to_numpy().T
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
        assert standing["share_closed"] == pytest.approx(share)
        assert (line["rank"], line["policy"]) == (rank, standing["policy"])
        assert line["difference_low"] == difference["low"]
        assert line["final_squared_error_mean"] == standing["final_squared_error"]["mean"]
        assert line["share_closed"] == standing["share_closed"]
    # Decisions per second differ from run to run, and are in no file.
    assert (comparison.rows.decisions_per_second > 1.0).all()
    table = comparison.table()
    assert "decisions/s" in table
    assert re.search("^policy +believed q +true q +true q - kg +detects", table, re.MULTILINE)
    assert {"top rank, informative prior", "any rank, informative prior"} <= set(table.splitlines())
    for name, timed in (("json", "_per_second"), ("csv", "_per_second"), ("txt", "decisions/s")):
        assert timed not in (tmp_path / f"comparison.{name}").read_text()


TEXT = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"


def test_own_priors_as_objects_and_texts_give_equal_files_where_allowed(typed: Any) -> None:
    cells = {"rank": [None], "prior": [NormalPrior(25, 8.3)]}
    compared(["kg"], cells=cells, out=Path("object"))
    words = f"compare --policy kg --rank any --prior {TEXT} --episodes 12 --seed 3 --out command"
    assert typed(f"{words} --num-opponents 7 --horizon 12 --workers 1 --quiet").status == 0
    of_object, of_command = (
        {file.name: file.read_bytes() for file in Path(name).iterdir() if file.is_file()}
        for name in ("object", "command")
    )
    assert of_object == of_command
    assert TEXT in json.loads(of_object["settings.json"])["priors"]
    assert json.loads(of_object["comparison.json"])["standings"][0]["cell"]["prior"] == TEXT
    for make in (run_bound, StudySettings):
        with pytest.raises(ValueError, match="priors must be one of 'informative', 'equal', got"):
            make(["kg"], priors=[TEXT])


class Chosen:
    """A policy of ``__main__``, with a value that is set at run time."""

    __module__, name, action = "__main__", "chosen", 0

    def act(self, _: Any, games_left: Any, rng: Any = None) -> Any:
        return np.full(len(games_left), self.action)


class Widened(NormalPrior):
    """A prior of ``__main__``, with a value that is set at run time."""

    __module__, action = "__main__", 0

    def draw(self, normals: Any, uniforms: Any) -> Any:
        mu, sigma = super().draw(normals, uniforms)
        return mu, sigma * (1.0 + self.action)


class Doubting(IndependentBelief):
    """A belief of ``__main__``, with a value that is set at run time."""

    __module__, action = "__main__", 0

    def widened(self, sigma: Any, constants: Any) -> Any:
        return sigma * (1.0 + self.action)


@pytest.mark.parametrize(
    ("run", "policy", "options"),
    [(run_comparison, "drawchance:belief=__main__:Doubting", {"cells": {"rank": [None]}}),
     (run_comparison, "__main__:Chosen",
      {"cells": {"rank": [None]}, "against": "__main__:Chosen"}),
     (run_comparison, "random", {"cells": {"rank": [None], "prior": ["__main__:Widened"]}}),
     (run_bound, Chosen(), {"ranks": [None]})],
)  # fmt: skip
def test_results_that_depend_on_values_set_in_main_are_not_reused(
    run: Any, policy: Any, options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results(folder: str) -> bytes:
        store = RunOptions(tmp_path / folder, workers=1, quiet=True)
        run([policy], run=store, episodes=4, env_kwargs=SMALL, **options)
        return b"".join(file.read_bytes() for file in sorted((tmp_path / folder).glob("*.csv")))

    for kind in (Chosen, Widened, Doubting):
        monkeypatch.setattr(sys.modules["__main__"], kind.__name__, kind, raising=False)
        monkeypatch.setattr(kind, "action", 0)
    before = results("out")
    for kind in (Chosen, Widened, Doubting):
        monkeypatch.setattr(kind, "action", 3)
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
        (["pe"], {"env_kwargs": {"reward": 1}},
         "env_kwargs may hold .*num_opponents, .* got 'reward'"),
        (["pe"], {"env_kwargs": {"prior": 1}}, "env_kwargs may hold .* got 'prior'"),
        ([fixed(101)], {"env_kwargs": {"num_opponents": 9}},
         "'fixed' cannot play with num_opponents=9"),
        ([SimpleNamespace(name="my", act=lambda *_, **__: [-1])], {}, "'my' cannot play .*got -1"),
        *(([fixed(101, action)], {}, f"'fixed' cannot play with num_opponents=49.*{said}")
          for action, said in ((-1, r"in \[0, 48\]"), (49, r"in \[0, 48\]"), (0.5, "integ"))),
        *((policies, {}, "polic") for policies in ("kg", [], [3], [object()])),
        ([Oracle(np.zeros(50))], {}, "'oracle', not as an object"),
        *(([each, "pe"], {}, f"must not call another policy '{each.name}'")
          for each in (KnowledgeGradient(multiplier=3.0), DrawChance(beta=2.0))),
        *((policies, {"env": "Ranking-v0"}, "must be a list") for policies in ("kg", [])),
        *((["pe"], {"cells": {"rank": given}}, "cells must map") for given in ("top", 1)),
        (["fcfs"], {**QUEUE, "cells": {"load": []}}, "load"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["thin", 0.2]}}, "none of them twice"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["high"]}}, "load must be"),
        (["fcfs"], {**QUEUE, "cells": {"rank": ["top"]}},
         "cells may hold load, got 'rank': other options have one value"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"arrival_rate": 2}}, "arrival_rate"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"patience": 0}}, "patience"),
        (["pe"], {**QUEUE, "cells": {"load": [0.5]}}, "'pe' cannot play with capacity=16: policy"),
    ],
)  # fmt: skip
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
BOTH, TWO = {"load": ["thin", "2"]}, {"load": ["2"]}
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
    standing, sums = comparison.standing(1, "fcfs"), comparison.rows.arrays["sums"][1, 0, 0]
    assert standing.difference.mean == pytest.approx((ours - theirs).mean())
    assert standing.true_reward.mean == pytest.approx(ours.mean())
    assert standing.wait.mean == pytest.approx((sums[:, 0, 2] / sums[:, 0, 0]).mean())
    everyone = [each for each in group_standings(comparison) if each.group == "all"]
    for group, standing in zip(everyone, comparison.standings, strict=True):
        assert (group.policy, group.load) == (standing.policy, standing.cell["load"])
        assert (group.wait, group.long_wait) == (standing.wait, standing.long_wait)


def test_no_policy_of_the_front_is_beaten_by_its_family(tuning: Any) -> None:
    labels = ("kg:multiplier=2,both=true", "kg:both=true", "kg:multiplier=3", "own:A:x=1", "own:B")
    families = ["kg both=true"] * 2 + ["kg", "own:A", "own:B"]
    assert [family_of(label) for label in labels] == families
    assert family_of("reservation:policy=thompson,reservation=0.5") == "reservation policy=thompson"
    points = [each for each in front_of(tuning.rows)
              if (each.load, each.family) == ("2", "window")]  # fmt: skip
    for point in points:
        better = [p for p in points if p.wait < point.wait and p.quality > point.quality]
        assert point.best or better
        assert not (point.best and better)
    assert min(points, key=lambda point: point.wait).best
    assert max(points, key=lambda point: point.quality).best


def test_tuning_finds_the_best_of_each_family_on_own_seeds(comparison: Any, tuning: Any) -> None:
    assert not set(tuning.rows.seeds.flat) & set(comparison.rows.seeds.flat)
    for load, name in enumerate(("thin", "2")):
        means = tuning.rows.columns["true_reward"][load, :, 0].mean(axis=1)
        assert tuning.best(name) == {
            "window": tuning.rows.policies[means[:-1].argmax()], "fcfs": "fcfs"
        }  # fmt: skip
    for each in tuning.tried:
        assert each.behind.mean >= 0.0
        assert (each.behind.mean == 0.0) == each.best or each.behind.mean < 1e-12


class Constant:
    """A third-party policy without masks that plays opponent 0 and fails at a game."""

    name = "constant"

    def __init__(self, fails_at: int) -> None:
        self.fails_at, self.game = fails_at, 0

    def act(self, state: Any, games_left: Any, rng: Any = None) -> Any:
        self.game += 1
        return np.zeros(len(games_left), np.int64) // (self.game != self.fails_at)

    def __repr__(self) -> str:
        return f"Constant({self.fails_at})"


def test_objects_that_change_fail_or_do_not_know_masks(tmp_path: Path) -> None:
    compared([Constant(99)], out=tmp_path)
    with pytest.raises(ValueError, match=r"constant was 'Constant\(99\)' and is 'Constant\(98\)'"):
        compared([Constant(98)], out=tmp_path)
    with (
        np.errstate(divide="raise"),
        pytest.raises(ValueError, match="policy 'constant': FloatingPointError: divide by zero"),
    ):
        compared([Constant(5)])
    pool = {"env_kwargs": {**SMALL, "availability": 0.4, "mean_stay": 2.0}}
    compared([Constant(99)], **pool)
    pool["env_kwargs"]["invalid_action"] = "error"
    with pytest.raises(ValueError, match=r"policy 'constant'.* must be an opponent who is online"):
        compared([Constant(99)], **pool)


class Own(NormalPopulation):
    """A third-party population."""


def test_third_party_policies_and_populations_play(comparison: Any, tmp_path: Path) -> None:
    own = SimpleNamespace(name="own", choose=lambda waiting, rng: min(1, waiting.filled.size))
    found = run_comparison([own, "random", "fcfs"], against="fcfs", cells=TWO, **IN_QUEUE)
    assert found.standing(0, "own").difference.mean == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(
        found.rows.columns["reward"][0, 1], comparison.rows.columns["reward"][1, 2]
    )
    ranking = {**IN_QUEUE, "env": "Ranking-v0", "env_kwargs": {"num_items": 4, "horizon": 5}}
    assert run_comparison([fixed(21), "random"], **ranking).against == "kg"
    identities = []
    for mu, even in (("3.1", True), ("9.0", False)):
        file = tmp_path / f"{mu}.csv"
        file.write_text(f"mu,sigma\n3.0,0.1\n{mu},0.1\n")
        options = {**IN_QUEUE, "env_kwargs": {"population": file, "newcomers": 0.0}}
        found = run_comparison(["fcfs"], against="fcfs", cells=TWO, **options)
        assert (found.standings[0].true_match_quality.mean > 0.99) == even
        identities.append(found.asked["environment"])
    assert identities[0] != identities[1]
    found = run_comparison(
        ["fcfs"], against="fcfs", **{**IN_QUEUE, "env_kwargs": {"population": Own()}}
    )
    assert list(found.asked["code"]) == [f"{__name__}:Own"]  # its mean could be another one


def test_loads_at_which_nobody_plays(tmp_path: Path) -> None:
    nobody: dict[str, Any] = {**IN_QUEUE, "cells": {"load": ["1e-9"]}}
    nobody["run"] = RunOptions(tmp_path / "compare", workers=1, quiet=True)
    found = run_comparison(["fcfs"], against="fcfs", **nobody)
    assert np.isnan(found.standings[0].wait.mean)
    assert "nan" not in found.table(timing=False)
    assert (tmp_path / "compare" / "groups.csv").exists()
    nobody["run"] = RunOptions(tmp_path / "tune", workers=1, quiet=True)
    assert run_tuning(["fcfs"], **nobody).tried[0].best


def test_commands_print_tables_and_write_files(typed: Any) -> None:
    queue = "--env MatchmakingQueue-v0 --episodes 2 --workers 1 --horizon 20 --load 2"
    queue += " --env-kwargs capacity=4 patience=3 --out out"
    printed = typed(f"compare {queue}/compare --policy fcfs --against fcfs").out
    assert "2 episodes of MatchmakingQueue-v0, capacity 4, horizon 20, seed 0" in printed
    assert {path.name for path in Path("out/compare").iterdir()} >= {
        "episodes.csv", "episodes.npz", "comparison.txt", "comparison.csv", "comparison.json",
        "groups.csv", "front.csv", "settings.json",
    }  # fmt: skip
    found = json.loads(Path("out/compare/comparison.json").read_text())
    assert found["against"] == "fcfs"
    assert len(found["groups"]) == 13
    printed = typed(f"tune {queue}/tune --policy window:width={{1,2}}").out
    assert "2 load: players log on at a rate of 2 a tick\npolicy " in printed
    assert re.search(r"^policy +true reward .*behind by.*\nwindow:width=", printed, re.M | re.S)
    assert Path("out/tune/front.csv").exists()
    assert set(json.loads(Path("out/tune/best.json").read_text())) == {"2"}


RUN = RunOptions(workers=1, quiet=True)


def test_games_needed_end_with_the_first_window_at_the_goal() -> None:
    theirs, ours = np.ones((3, POINTS)), np.zeros((3, POINTS))
    ours[:, 100:] = 1.0
    found = games_needed(ours, theirs)
    assert found.mean == found.low == found.high == (100 + POINTS // SMOOTHED) / POINTS
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

    def make(settings: Any, _: Any) -> Any:
        return policy_named("shrinkage", settings)

    def traces(batch: Any, steps: Any) -> dict[str, Any]:
        rows = [dict(batch.simulator.info(batch.state, 0)) for _ in steps]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    for seed in range(5):
        found = rollout(make, settings, [seed])
        trace = rollout(make, settings, [seed], summary=traces)
        values = trace["kendall_tau"] if settings.cut == 0 else -trace["top_errors"]
        parts = values.reshape(min(POINTS, settings.horizon), -1).mean(axis=1)
        points = parts[np.arange(POINTS) * parts.size // POINTS]
        np.testing.assert_allclose(found["accuracy"][0], points)
        settled, mistaken = trace["expected_loss"] <= 0.04, trace["true_loss"] > 0
        assert found["settled"][0] == settled.any()
        assert found["ever_wrong"][0] == (settled & mistaken).any()
        if settled.any():
            assert found["games_to_settle"][0] == settled.argmax() + 1
            assert found["wrong"][0] == mistaken[settled.argmax()]


def test_the_oracle_needs_fewer_games_than_random_pairs(tmp_path: Path) -> None:
    run = RunOptions(out=tmp_path, workers=1, quiet=True)
    options = {"num_items": 10, "horizon": 400, "beta": 0.7}
    found = run_comparison(["random", "oracle"], env=RANKING, env_kwargs=options, against="random",
                           episodes=60, run=run)  # fmt: skip
    assert found.standing(0, "random").games_needed.mean > 0.7
    assert found.standing(0, "oracle").games_needed.high < 0.6
    assert "games needed: share of the games of random" in found.table()
    curves = pd.read_csv(tmp_path / "curves.csv").set_index("policy").accuracy
    assert curves["oracle"].iloc[-1] == pytest.approx(
        found.values("accuracy", 0, "oracle")[:, -1].mean()
    )


def test_games_needed_in_short_episodes() -> None:
    """A curve reaches its own end there, if it rises; one game is one point of it."""
    found = run_comparison(["kg"], env=RANKING, cells={"horizon": [1, 3, 300]}, episodes=100,
                           env_kwargs={"num_items": 8, "beta": 0.2}, run=RUN)  # fmt: skip
    needed = [standing.games_needed.mean for standing in found.standings]
    assert needed[:2] == [1.0, 1.0]
    assert 0.5 < needed[2] <= 1.0


def test_cells_may_need_their_own_options_and_files_of_skills_count(tmp_path: Path) -> None:
    options = {"max_games_per_pair": 1, "num_items": 8}
    found = run_comparison(["random"], env=RANKING, env_kwargs=options, episodes=2, run=RUN,
                           cells={"horizon": [10, 20], "skills": [range(8), range(9)]})  # fmt: skip
    assert [cell.labels["horizon"] for cell in found.cells] == ["10", "10", "20", "20"]
    assert found.cells[1].labels["skills"].startswith("<9 skills")
    last = SimpleNamespace(name="last", act=lambda *_, **__: [27])  # of the 28 pairs of 8 items
    with pytest.raises(ValueError, match="'last' cannot play with num_items=7"):
        run_comparison([last], env=RANKING, cells={"num_items": [8, 7]}, episodes=2, run=RUN)
    file, run = tmp_path / "ranking.csv", RunOptions(tmp_path / "out", workers=1, quiet=True)
    swept: dict[str, Any] = {"env": RANKING, "cells": {"skills": [str(file)]}, "run": run}
    for scale in (1, 5):
        rows = [f"{k},{scale * k},20" for k in range(20)]
        file.write_text("\n".join(["item,mean,games", *rows]))
        if scale == 1:
            run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    with pytest.raises(ValueError, match=r"out holds results .* skills was"):
        run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    file.write_text("item,mean,games\na,0.5,19\n")
    with pytest.raises(ValueError, match=r"skills must have items with at least 20 games, .*csv"):
        run_comparison(["random"], **swept)


CLUBS = """
from dataclasses import dataclass

import numpy as np

from matchenv.envs import ENVIRONMENTS, Environment
from matchenv.envs.core.settings import option
from matchenv.envs.ranking import RankingEnv, RankingSettings, RankingSimulator
from matchenv.runtime.checks import as_choice

ENVIRONMENTS["Clubs-v0"] = Environment("clubs:ClubSettings", "clubs:Clubs", "clubs:ClubEnv", "",
                                       protocol="club_protocol:PROTOCOL")

@dataclass(frozen=True)
class ClubSettings(RankingSettings):
    belief: str = option("sum", as_choice, "of teams", known=("sum", "max"))

class Clubs(RankingSimulator):
    env_id = "Clubs-v0"

class ClubEnv(RankingEnv, settings=ClubSettings):
    pass

class First:
    def act(self, view, *_, **__):
        return np.zeros(len(view.mu), dtype=int)
"""
PROTOCOL = """
from dataclasses import replace
from matchenv.evaluation.protocols import GENERAL
PROTOCOL = replace(GENERAL, swept={"goal": ("order", "best"), "beta": (1.0, 2.0)})
"""


def test_a_third_party_environment_is_found_by_its_module(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has options and cells of its own, and neither a renderer nor registered policies."""
    (tmp_path / "clubs.py").write_text(CLUBS)
    (tmp_path / "club_protocol.py").write_text(PROTOCOL)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(ENVIRONMENTS, "Clubs-v0", ENVIRONMENTS[RANKING])  # removed at the end
    where = "--env clubs:Clubs-v0 --policy clubs:First --horizon 5 --env-kwargs num_items=4"
    words = f"compare {where} belief=max goal=best --episodes 2 --workers 1 --out out"
    assert typed(words).status == 0
    found = json.loads(Path("out/comparison.json").read_text())
    assert [cell["labels"] for cell in found["cells"].values()] == [
        {"goal": "best", "beta": "1.0"}, {"goal": "best", "beta": "2.0"},
    ]  # fmt: skip
    assert found["environment"]["belief"] == "max"
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
        found = run_comparison(["kg"], env=RANKING, env_kwargs=options, episodes=200, run=RUN)
        standing = found.standing(0, "kg")
        assert standing.settled.mean > (0.0 if "tenth" in law else 0.3)
        assert standing.wrong.mean * 200 < 18
        assert standing.wrong.mean <= found.values("ever_wrong", 0, "kg").mean()
