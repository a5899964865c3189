"""Commands that play policies or show their results, except ``train``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from matchenv.cli.parser import FOLDER_TEXT, PRIORS_TEXT, RANK_TEXT, RESULTS, Command, Parser
from matchenv.evaluation.registry import known_policies, policies_of
from matchenv.runtime.checks import counted

# Default of ``run_comparison``, whose import takes longer than a help.
COMPARED_EPISODES = 200
# Options of the games of a comparison, and of the environment of a study.
GAMES = ("rank", "prior", "episodes", "seed")
SIZES = ("num_opponents", "horizon", "equal_variance")
# Policies that are watched by default: the first two that the environment has.
WATCHED = ("drawchance", "kg", "information")


def declare_compare(add: Parser) -> Command:
    """Play the same episodes with every policy, and compare.

    Compares true draw densities in Matchmaking-v0, rewards, qualities and waiting
    times in the queue, rewards and games needed in Ranking-v0. See
    docs/benchmarks.md, docs/queue.md and docs/ranking.md.

    Example:
        matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top
    """
    add.group("policies", "policy", "allow_code")
    add.option("--against", "policy to compare with (default: kg)")
    add.group("games", *GAMES, episodes=COMPARED_EPISODES)
    add.option("--noise", "games of equal luck: the k-th with an opponent, or of the episode",
               "opponent", ("opponent", "game"))  # fmt: skip
    add.environments()
    add.group("results and work", *RESULTS)

    given = yield
    from matchenv.benchmarks.compare import comparison

    comparison.run_comparison(
        policies_of(given.policy) or None,
        **given.problem(),
        **given.values("against", "episodes", "seed"),
        run=given.run_options(report=lambda found: given.print_result(found.table)),
    )
    given.print_folder()


def declare_tune(add: Parser) -> Command:
    """Find the best options of each policy in each cell, on separate seeds.

    Without --policy, tunes KG's multiplier; in the queue, tunes all its policies
    and draws the front of waiting time against quality.

    Example:
        matchenv tune --out runs/tune --policy 'kg:multiplier={5,20}' --rank top
    """
    from matchenv.benchmarks.compare.tuning import DEFAULT_EPISODES, run_tuning

    add.group("policies", "policy", "allow_code")
    add.group("games", *GAMES, episodes=DEFAULT_EPISODES)
    add.environments()
    add.group("results and work", *RESULTS)

    given = yield
    found = run_tuning(
        policies_of(given.policy) or None,
        **given.problem(),
        **given.values("episodes", "seed"),
        run=given.run_options(),
    )
    given.print_result(found.text)
    given.print_folder()


def declare_study(add: Parser) -> Command:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    See docs/study.md.

    Example:
        matchenv study --out runs/study --episodes 200 --workers 2
    """
    from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings

    add.group("policies", "policy", "allow_code", policy=PAPER_POLICIES)
    add.fields_of(StudySettings, ("belief",))
    add.group("games")
    add.option("--rank", "rank of player 0: top, middle, bottom, or a number from 0, the best "
               "(default: the paper's)", ())  # fmt: skip
    add.option("--prior", PRIORS_TEXT, tuple(StudySettings.priors))
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
        policies_of(given.policy),
        ranks=given.rank or None,
        priors=given.prior,
        run=given.run_options(),
        **given.values("belief", "episodes", "prior_draws", "seed", "equal_rank_by", *SIZES),
    )
    given.print_result(partial(study.summary, text_table))
    given.print_folder()


def declare_bench(add: Parser) -> Command:
    """Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

    Several policies are the runs of one method, one for each training seed. See
    docs/bench.md.

    Example:
        matchenv bench --policy kg --out results/bench-kg
    """
    add.group("policies", "policy", "allow_code")
    add.option("--method", "name in tables (default: the first policy's)")
    add.option("--only", "names of families; a result of some families is not an entry", ())
    add.group("results and work", *RESULTS)

    given = yield
    from matchenv.benchmarks.bench.benchmark import run_bench

    run = given.run_options()
    result = run_bench(policies_of(given.policy), **given.values("method", "only"), run=run)
    given.print_result(result.text)


def declare_limits(add: Parser) -> Command:
    """Bound the mean total of true q that any policy can reach, beside policies.

    matchenv limits optimum solves a small problem exactly (3 opponents, 8 games)
    and reports what policies lose. See docs/limits.md.

    Example:
        matchenv limits --episodes 50 --rank middle --out runs/bound
        matchenv limits optimum --num-opponents 3 --horizon 5 --policy kg pe
    """
    from matchenv.benchmarks.limits import bound, optimum

    idle = {"bound": ("belief", "truths", "draw_margin"), "optimum": ("prior", "depth")}
    add.group("task")
    add.option("what", "bound or optimum", "bound", nargs="?")
    add.group("policies and games (defaults of the optimum in brackets)")
    add.option(
        "--policy",
        "policies, as in matchenv compare (default: "
        f"{' '.join(bound.DEFAULT_POLICIES)} [{' '.join(optimum.DEFAULT_POLICIES)}])",
        (),
    )
    add.shared("allow_code")
    add.option("--rank", f"{RANK_TEXT} (default: all three [any])", ())
    add.option("--episodes", "episodes (default: 2000 for each rank and prior [100])", None, int)
    add.shared("seed")
    sizes = ", ".join(f"{name} {size}" for name, size in optimum.SIZES.items())
    add.group(f"environment [{sizes}]", "num_opponents", "horizon", "beta")
    add.group("bound")
    add.option("--prior", PRIORS_TEXT, bound.DEFAULT_PRIORS)
    add.option("--depth", "games after which a skill counts as known", bound.DEFAULT_DEPTH)
    add.group("optimum", "draw_margin", "belief")
    add.option("--truths", "sets of true skills drawn from the prior of each episode", 64)
    add.group("results and work", *RESULTS)

    given = yield
    if given.what not in idle:
        raise ValueError(f"what must be one of {', '.join(idle)}, got {given.what!r}")
    given.refuse(idle[given.what], f"matchenv limits {given.what} does not have these options")
    # The functions have defaults of their own.
    arguments = given.explicit_values("episodes", "seed", "truths", "depth")
    arguments["run"] = given.run_options()
    if "policy" in given.explicit:
        arguments["policies"] = policies_of(given.policy)
    options = given.explicit_values("num_opponents", "horizon", "beta", "belief", "draw_margin")
    if given.what == "optimum":
        if given.rank:
            options["rank"] = _single("rank", given.rank)
        found = optimum.run_optimum(env_kwargs=options, **arguments)
        given.print_result(partial(optimum.table_text, found))
    else:
        arguments |= {"ranks": given.rank} if given.rank else {}
        found = bound.run_bound(priors=given.prior, env_kwargs=options, **arguments)
        given.print_result(partial(bound.table_text, found))
    given.print_folder()


def _single(name: str, values: tuple[Any, ...]) -> Any:
    if len(values) != 1:
        raise ValueError(f"{name} must be one value here, got {' '.join(map(str, values))}")
    return values[0]


def declare_watch(add: Parser) -> Command:
    """Watch policies side by side, in one episode and with the same random numbers.

    Keys in the window: space pauses, right plays one game, up and down change the
    speed, n shows the next episode, q quits. With --out it writes a film instead.

    Example:
        matchenv watch --policy drawchance kg --rank top --out watch.gif
    """
    add.group("policies", "policy", "allow_code", policy=WATCHED[:2])
    add.group("episode")
    add.option("--rank", RANK_TEXT, "top")
    add.shared("prior", "seed", prior="informative")
    add.option("--episode", "index of the episode, as in compare with the same seed", 0)
    add.option("--hide-true-skill", "hide true skills, and show q under the belief", False)
    add.group("film")
    add.option("--out", ".gif or .mp4, or .png for the last frame (default: window)", None, Path)
    add.option("--games", "last game (or tick) of the film (default: all)", None, int)
    add.option("--every", "games from one frame to the next (default: about 100 frames)", None, int)
    add.option("--width", "width in pixels (default: depends on the number of policies)", None, int)
    add.option("--theme", "colour theme", "light", ("light", "dark"))
    add.shared("quiet")
    add.environments(load=("middle",))

    given = yield
    given.needs("render")
    from matchenv.benchmarks.compare.comparison import problem_of
    from matchenv.benchmarks.watch import Stage, watch_live, write_film

    if given.out is None:
        given.refuse(("games", "every"), "these options need --out FILE.gif")
    arguments = given.problem()
    for name, values in arguments["cells"].items():
        _single(name, values)
    _, settings, (cell, *others) = problem_of(**arguments)
    if others:
        raise ValueError(
            f"watch needs one value of each option, got those of {cell.title} and others"
        )
    names = policies_of(given.policy)
    if "policy" not in given.explicit:
        known = known_policies(given.env)
        names = [name for name in WATCHED if name in known][:2] or list(known[:2])
    stage = Stage(
        names,
        replace(settings, **cell.options),
        show_true_skill=not given.hide_true_skill,
        **given.values("seed", "episode", "width", "theme"),
    )
    if given.out is None:
        watch_live(stage)
        return
    pictures = write_film(stage, given.out, until=given.games, every=given.every, quiet=given.quiet)
    count = counted(pictures, "picture")
    given.print_result(f"{given.out}: {count}, {given.out.stat().st_size / 1e6:.2f} MB")


def declare_report(add: Parser) -> Command:
    """Gather figures, tables, settings and versions in one page for use offline.

    Shows folders of train, compare, study, tune, limits, replay and judge. A click
    in a legend hides a policy, a click on a heading sorts a table. Trainings that
    differ only in their seed share a learning curve. See docs/benchmarks.md.

    Example:
        matchenv report results/compare runs/ppo-seed0 --out report.html
    """
    add.group("input")
    add.option("folders", "folders of results, or folders of such folders", (), Path)
    add.option("--allow-code", "import classes outside matchenv that the folders name", False)
    add.group("results")
    add.option("--out", "file of the page", Path("report.html"), Path)
    add.option("--latex", "file of a summary for an appendix (default: none)", None, Path)
    add.shared("quiet")

    given = yield
    given.needs("benchmarks")
    from matchenv.benchmarks.report import write_report

    options = given.values("latex", "allow_code")
    files, count = write_report(given.folders, given.out, **options)
    for file in files:
        results = counted(count, "result")
        given.print_result(f"{file}: {results}, {file.stat().st_size / 1e6:.1f} MB")


def declare_warm_up(add: Parser) -> Command:
    """Compile environments and baselines in advance, for later processes.

    Otherwise the first episode after an installation compiles them.

    Example:
        matchenv warm-up
    """
    add.group("work", "quiet")

    given = yield
    from matchenv.baselines.warm_up import warm_up

    warm_up(given.print_result)
