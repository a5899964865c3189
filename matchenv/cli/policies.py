"""The commands that play with policies or show what they did, but for ``train``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from matchenv.cli.parser import FOLDER_TEXT, RANK_TEXT, RANKS_TEXT, RESULTS, Command, Parser
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import ONE_PLAYER, expanded

# Options of the games of a comparison, and those of the environment that a study has.
GAMES = ("rank", "prior", "episodes", "seed")
SIZES = ("num_opponents", "horizon", "equal_variance")


def declare_compare(add: Parser) -> Command:
    """Play the same episodes with every policy, and compare.

    In Matchmaking-v0 the true draw densities are compared, in the queue rewards,
    qualities and waiting times, elsewhere the rewards. See docs/benchmarks.md and
    docs/queue.md.

    Example:
        matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top
    """
    from matchenv.benchmarks.compare import comparison
    from matchenv.evaluation.protocols import ONE_PLAYER

    add.group("policies", "policy")
    add.option("--against", "policy to compare with (default: kg; of others than Matchmaking-v0 "
               "and the queue the first)")  # fmt: skip
    add.group("games", *GAMES, episodes=comparison.DEFAULT_EPISODES)
    add.environments()
    add.option("--noise", "what a game's random numbers depend on: the opponent and how often one "
               "has met them, or the number of the game", ONE_PLAYER.defaults["noise"],
               ("opponent", "game"))  # fmt: skip
    add.group("results and work", *RESULTS)

    given = yield
    comparison.run_comparison(
        expanded(given.policy) or None,
        **given.problem(),
        **given.chosen(("against", "episodes", "seed")),
        run=given.run_options(report=lambda found: given.say(found.table)),
    )
    given.say_where()


def declare_tune(add: Parser) -> Command:
    """Find the best options of each policy in each cell, on seeds of their own.

    Without --policy, KG's multipliers; in the queue, all its policies and the
    front of waiting time against quality. Stopped at any moment, the same command
    goes on with it.

    Example:
        matchenv tune --out runs/tune --policy 'kg:multiplier={5,20}' --rank top
    """
    from matchenv.benchmarks.compare.tuning import DEFAULT_EPISODES, run_tuning

    add.group("policies", "policy")
    add.group("games", *GAMES, episodes=DEFAULT_EPISODES)
    add.environments()
    add.group("results and work", *RESULTS)

    given = yield
    found = run_tuning(
        expanded(given.policy) or None,
        **given.problem(),
        **given.chosen(("episodes", "seed")),
        run=given.run_options(),
    )
    given.say(found.text)
    given.say_where()


def declare_study(add: Parser) -> Command:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Stopped at any moment, the same command goes on with it. See docs/study.md.

    Example:
        matchenv study --out runs/study --episodes 200 --workers 2
    """
    from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings

    add.group("policies", "policy", policy=PAPER_POLICIES)
    add.fields_of(StudySettings, ("belief",))
    add.group("games")
    add.option("--rank", f"{RANKS_TEXT} (default: the paper's)", ())
    add.option("--prior", "what policies know at the start: informative, equal",
               tuple(StudySettings.priors))  # fmt: skip
    add.fields_of(StudySettings, ("episodes", "prior_draws", "seed"))
    add.group("environment", *SIZES)
    add.fields_of(StudySettings, ("equal_rank_by",))
    add.group("results and work")
    add.option("--out", FOLDER_TEXT, None, Path, required=True)
    add.shared(*RESULTS[1:])

    given = yield
    given.needs("benchmarks")
    from matchenv.benchmarks.study import run_study
    from matchenv.evaluation.tables import text_table

    study = run_study(
        expanded(given.policy),
        ranks=given.rank or None,
        priors=given.prior,
        run=given.run_options(),
        **given.chosen(("belief", "episodes", "prior_draws", "seed", "equal_rank_by", *SIZES)),
    )
    given.say(partial(study.summary, text_table))
    given.say_where()


def declare_bench(add: Parser) -> Command:
    """Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

    Several policies are the runs of one method, one for each training seed. See
    docs/bench.md.

    Example:
        matchenv bench --policy kg --out results/bench-kg
    """
    add.group("policies", "policy")
    add.option("--method", "name in tables (default: the first policy's)")
    add.option("--only", "names of families; a result of some families is not an entry", ())
    add.group("results and work", *RESULTS)

    given = yield
    from matchenv.benchmarks.bench.benchmark import run_bench

    run = given.run_options()
    result = run_bench(expanded(given.policy), **given.chosen(("method", "only")), run=run)
    given.say(result.text)


def declare_limits(add: Parser) -> Command:
    """Bound the mean total of true q that any policy can reach, beside policies.

    matchenv limits optimum solves a small problem exactly (3 opponents, 8 games)
    and says what policies lose. See docs/limits.md.

    Example:
        matchenv limits --episodes 50 --rank middle --out runs/bound
        matchenv limits optimum --num-opponents 3 --horizon 5 --policy kg pe
    """
    from matchenv.benchmarks.limits import bound, optimum

    idle = {"bound": ("belief", "truths", "draw_margin"), "optimum": ("prior", "depth")}
    add.group("what is computed")
    add.option("what", "bound or optimum", "bound", nargs="?")
    add.group("policies", "policy", policy=bound.DEFAULT_POLICIES)
    add.group("games (defaults of the optimum in brackets)")
    add.option("--rank", f"{RANKS_TEXT} (default: all three [any])", ())
    add.option("--episodes", "instances (default: 2000 for each rank and prior [100])", None, int)
    add.shared("seed")
    add.group("environment", "num_opponents", "horizon", "beta")
    add.group("bound")
    add.option("--prior", "what policies know at the start: informative, equal",
               bound.DEFAULT_PRIORS)  # fmt: skip
    add.option("--depth", "games with an opponent until the bound counts the skill as known",
               bound.DEFAULT_DEPTH)  # fmt: skip
    add.group("optimum", "draw_margin", "belief")
    add.option("--truths", "sets of true skills drawn from the prior of each instance", 64)
    add.group("results and work", *RESULTS)

    given = yield
    if given.what not in idle:
        raise ValueError(f"what must be one of {', '.join(idle)}, got {given.what!r}")
    given.refuse(idle[given.what], f"with {given.what} must be left out")
    # What was not given has the defaults of the function that is called.
    asked = {"run": given.run_options(), **given.told("episodes", "seed", "truths", "depth")}
    if "policy" in given.said:
        asked["policies"] = expanded(given.policy)
    options = given.told("num_opponents", "horizon", "beta", "belief", "draw_margin")
    if given.what == "optimum":
        options |= {name: _one(name, each) for name, each in given.told("rank").items()}
        found = optimum.run_optimum(env_kwargs=options, **asked)
        given.say(partial(optimum.table_text, found))
    else:
        asked |= {"ranks": given.rank} if given.rank else {}
        found = bound.run_bound(priors=given.prior, env_kwargs=options, **asked)
        given.say(partial(bound.table_text, found))
    given.say_where()


def _one(name: str, values: tuple[Any, ...]) -> Any:
    if len(values) != 1:
        raise ValueError(f"{name} must be one value here, got {' '.join(map(str, values))}")
    return values[0]


def declare_watch(add: Parser) -> Command:
    """Watch policies side by side, in one instance and with the same random numbers.

    In a window: space pauses, the right arrow plays one game, up and down change
    the speed, n shows the next instance, q ends. With --out it writes a film
    instead. In the queue, ticks take the place of games.

    Example:
        matchenv watch --policy drawchance kg --rank top --out watch.gif
    """
    add.group("policies", "policy", policy=("drawchance", "kg"))
    add.group("episode")
    add.option("--rank", RANK_TEXT, "top")
    add.shared("prior", "seed", prior="informative")
    add.option("--episode", "index of the instance, from 0; those of compare with the same seed", 0)
    add.option("--hide-true-skill", "show no true skills, and q under the belief instead of true "
               "q", False)  # fmt: skip
    add.group("film")
    add.option("--out", "file for a film, .gif or .mp4, or for its last picture, .png (default: a "
               "window)", None, Path)  # fmt: skip
    add.option("--games", "the last game that the file shows (default: all)", None, int)
    add.option("--every", "games from one picture of the film to the next (default: about 100 "
               "pictures)", None, int)  # fmt: skip
    add.option("--width", "of the window or the film, in pixels (default: depends on the number of "
               "policies)", None, int)  # fmt: skip
    add.option("--theme", "colours", "light", ("light", "dark"))
    add.shared("quiet")
    add.environments(load=("middle",))

    given = yield
    given.needs("render")
    from matchenv.benchmarks.compare.comparison import problem_of
    from matchenv.benchmarks.watch import Stage, watch_live, write_film

    if given.out is None:
        given.refuse(("games", "every"), "with --out FILE.gif alone may be given")
    asked = given.problem()
    if given.env == ONE_PLAYER:
        asked["env_kwargs"]["noise"] = Settings.noise
    for name, values in asked["cells"].items():
        _one(name, values)
    _, settings, (cell,) = problem_of(**asked)
    stage = Stage(
        expanded(given.policy),
        replace(settings, **cell.options),
        show_true_skill=not given.hide_true_skill,
        **given.chosen(("seed", "episode", "width", "theme")),
    )
    if given.out is None:
        watch_live(stage)
        return
    pictures = write_film(stage, given.out, until=given.games, every=given.every, quiet=given.quiet)
    count = "1 picture" if pictures == 1 else f"{pictures} pictures"
    given.say(f"{given.out}: {count}, {given.out.stat().st_size / 1e6:.2f} MB")


def declare_report(add: Parser) -> Command:
    """Gather figures, tables, settings and versions in one page that needs no network.

    Folders of train, compare, study, tune, limits, replay and judge are known by
    their files. A click in a legend hides a policy, a click on a heading sorts a
    table. Trainings that differ in their seed alone share a learning curve. See
    docs/benchmarks.md.

    Example:
        matchenv report results/compare runs/ppo-seed0 --out report.html
    """
    add.group("what is shown")
    add.option("folders", "folders of results, or folders that hold such folders", (), Path)
    add.option("--allow-code", "import classes outside matchenv that folders of trainings name",
               False)  # fmt: skip
    add.group("results")
    add.option("--out", "file of the page", Path("report.html"), Path)
    add.option("--latex", "file of a summary for a paper's appendix (default: none is written)",
               None, Path)  # fmt: skip
    add.shared("quiet")

    given = yield
    given.needs("agents", "benchmarks")
    from matchenv.benchmarks.report import write_report

    asked = given.chosen(("latex", "allow_code"))
    files, count = write_report(given.folders, given.out, **asked)
    for file in files:
        results = "1 result" if count == 1 else f"{count} results"
        given.say(f"{file}: {results}, {file.stat().st_size / 1e6:.1f} MB")


def declare_warm_up(add: Parser) -> Command:
    """Compile what environments and baselines need, and keep it for later processes.

    The first episode after an installation does so otherwise.

    Example:
        matchenv warm-up
    """
    add.group("work", "quiet")

    given = yield
    from matchenv.baselines.warm_up import warm_up

    warm_up(given.say)
