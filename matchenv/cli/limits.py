"""Bound the mean total of true q that any policy can reach, beside policies.

matchenv limits optimum solves small problems exactly, each number of opponents
with each number of games, and says what policies lose. matchenv limits marks
bounds the main families of the benchmark. See docs/limits.md.

Example:
    matchenv limits --episodes 50 --rank middle --out runs/bound
    matchenv limits optimum --num-opponents 2 3 --horizon 5 --policy kg pe
    matchenv limits marks --out runs/marks
"""

from __future__ import annotations

from typing import Any

from matchenv.benchmarks.limits import bound, optimum
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.envs.one_player.settings import Settings

# Defaults of the bound, and of the optimum.
DEFAULTS: dict[str, tuple[Any, Any]] = {
    "policy": (bound.DEFAULT_POLICIES, optimum.DEFAULT_POLICIES),
    "rank": (bound.DEFAULT_RANKS, ("any",)),
    "episodes": (bound.DEFAULT_EPISODES, 100),
    "num_opponents": ((Settings().num_opponents,), (3,)),
    "horizon": ((Settings().horizon,), (8,)),
}
ONLY_BOUND, ONLY_OPTIMUM = {"prior", "depth"}, {"belief", "truths", "draw_margin"}


def options(add: Parser) -> None:
    """Declare the options."""
    add.group("what is computed")
    add.positional("what", "bound, optimum or marks (default: bound)", nargs="?", default="bound")
    shared.policies(add, bound.DEFAULT_POLICIES)
    add.group("problems (defaults of the optimum in brackets)")
    add.option("--num-opponents", "opponents to choose from; of the optimum also several numbers "
               "(default: 49 [3])", (), int)  # fmt: skip
    add.option("--horizon", "games in an episode; of the optimum also several numbers (default: "
               "500 [8])", (), int)  # fmt: skip
    add.option("--rank", f"{shared.RANKS_TEXT} (default: all three [any])", ())
    add.option("--episodes", "instances of each problem (default: 2000 [100])", None, int)
    shared.seed(add)
    shared.environment(add, ("beta",))
    add.group("bound")
    add.option("--prior", "what policies know at the start: informative, equal",
               bound.DEFAULT_PRIORS)  # fmt: skip
    add.option("--depth", "games with an opponent until the bound counts the skill as known",
               bound.DEFAULT_DEPTH)  # fmt: skip
    add.group("optimum")
    add.fields_of(Settings, ("belief", "draw_margin"))
    add.option("--truths", "sets of true skills drawn from the prior of each instance", 64)
    shared.results(add)


def run(given: Given) -> None:
    """Compute, and print the tables."""
    what = given.what
    if what not in ("bound", "optimum", "marks"):
        raise ValueError(f"what must be one of bound, optimum, marks, got {what!r}")
    of_optimum = what == "optimum"
    given.refuse(ONLY_BOUND if of_optimum else ONLY_OPTIMUM, f"with {what} must be left out")
    work = shared.run_options(given)
    if what == "marks":
        given.refuse({*DEFAULTS, "prior", "seed", "beta"}, "the benchmark fixes these options")
        if given.out is None:
            raise ValueError("--out must be given with marks, a folder for its families")
        bound.run_marks(given.out, depth=given.depth, run=work)
        given.say(f"written to {given.out / bound.MARKS_FILE}")
        return
    asked = {
        name: getattr(given, name) if name in given.said else both[of_optimum]
        for name, both in DEFAULTS.items()
    }
    given.policy, policies = asked["policy"], shared.named_policies
    if of_optimum:
        found = optimum.run_optimum(
            policies(given),
            **{name: asked[name] for name in ("num_opponents", "horizon", "episodes")},
            env_kwargs={"rank": _one("rank", asked["rank"]),
                        **given.chosen(("belief", "beta", "draw_margin"))},
            run=work,
            **given.chosen(("truths", "seed")),
        )  # fmt: skip
        given.say("\n\n".join(findings.table() for findings in found))
    else:
        sizes = {name: _one(name, asked[name]) for name in ("num_opponents", "horizon")}
        bounds = bound.run_bound(
            policies(given),
            ranks=asked["rank"],
            priors=given.prior,
            episodes=asked["episodes"],
            env_kwargs={**sizes, "beta": given.beta},
            run=work,
            **given.chosen(("seed", "depth")),
        )
        given.say(bounds.table())
    given.say_where()


def _one(name: str, values: tuple[Any, ...]) -> Any:
    if len(values) != 1:
        raise ValueError(f"{name} must be one value here, got {' '.join(map(str, values))}")
    return values[0]
