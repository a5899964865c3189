"""Protocols: how the policies of each environment are compared, and in which cells.

The record of an environment names its protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any
from urllib.parse import quote

from matchenv.envs import environment_named, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import Simulator
from matchenv.envs.one_player.priors import Prior
from matchenv.envs.one_player.settings import ANY, Settings, place_of_rank
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.envs.queue.settings import QueueSettings, as_rates, day_name
from matchenv.evaluation.episode_table import Cell
from matchenv.evaluation.ranking import ranking_sums
from matchenv.evaluation.rollout import REWARD, Summary, sums
from matchenv.evaluation.seeds import OTHERS, QUEUE_RUNS, REPORT
from matchenv.evaluation.tables import Column, or_dash
from matchenv.evaluation.visits import ERROR_GAMES, recording_simulator, visit_sums
from matchenv.runtime.checks import as_list, as_positive_number, counted, refusal
from matchenv.runtime.object_spec import is_object_spec, spec_of
from matchenv.runtime.yaml_values import parsed

# Policies of ``Matchmaking-v0`` whose totals count as 0 and as 1.
LOW_END = "drawchance"
HIGH_END = "oracle"

# Arrival rates of the queue by load, in players a tick.
LOADS = {"thin": 0.2, "middle": 1.0, "thick": 4.0}

# Beginning of default policies that only play two seats.
PAIRS_ONLY = "kg:both=true"

# Builds cells from the swept values, by option, and the settings that the cells share.
CellMaker = Callable[[Mapping[str, Sequence[Any]], Any], tuple[Cell, ...]]


def mean_column(measure: str, heading: str, form: str = ".3f") -> tuple[str, Column]:
    """Return a measure, and the column of its mean in tables of standings, a dash for NaN."""
    number = f"{{:{form}}}"
    return measure, Column(
        heading, lambda row: or_dash(number, row[measure].mean).replace("%", " %")
    )


@dataclass(frozen=True)
class Protocol:
    """Protocol of the comparison of policies in an environment.

    Attributes:
        summary: turns the steps of a batch into the columns of a table.
        simulator: builds the simulator that the summary needs.
        policies: default policies; none for all registered ones.
        against: default policy to compare with; "" for the first.
        marks: policies whose totals count as 0 and as 1; none for no share between them.
        measure: measure that policies are judged by.
        shown: columns of measures in tables, up to ``measure`` before the difference; none for all.
        swept: options that make the cells, with their default values.
        cells: builds the cells.
        fixed: options that may not be given, since cells or policies fix them or no result depends
            on them.
        defaults: options whose defaults differ from the environment's.
        block: maximum number of episodes played side by side. A stochastic policy has one random
            stream per block, so results depend on it.
        key: key of the random streams, before their purpose.
    """

    summary: Summary = sums
    simulator: Callable[[Any], Simulator[Any]] = simulator_of
    policies: tuple[str, ...] = ()
    against: str = ""
    marks: tuple[str, ...] = ()
    measure: str = REWARD
    shown: Mapping[str, Column] = field(default_factory=dict)
    swept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cells: CellMaker = lambda swept, settings: variants_of(swept, settings)
    fixed: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    block: int = 100
    key: tuple[int, ...] = (OTHERS,)

    def shown_of(self, simulator: Simulator[Any]) -> Mapping[str, Column]:
        """Return the columns of measures; by default of all measures of the simulator."""
        if self.shown:
            return self.shown
        names = (REWARD, *simulator.aggregations)
        return dict(mean_column(name, name.replace("_", " ")) for name in names)

    def key_of(self, purpose: int) -> tuple[int, ...]:
        """Return the key of the random streams for ``REPORT`` or ``TUNING``."""
        if not self.key and purpose == REPORT:
            return ()
        return (*self.key, purpose)


def protocol_of(env_id: str) -> Protocol:
    """Return how the policies of an environment are compared.

    Raises:
        ValueError: for an unknown environment; the known ones are listed.
    """
    protocol: Protocol = environment_named(env_id).part("protocol") or GENERAL_PROTOCOL
    return protocol


def default_policies(names: Iterable[str], settings: Options) -> tuple[str, ...]:
    """Return the names of default policies that play some settings of their environment."""
    if not getattr(settings, "has_lobbies", False):
        return tuple(names)
    return tuple(name for name in names if not name.startswith(PAIRS_ONLY))


def load_of(load: Any, rate: float | None = None, who: str = "players") -> Cell:
    """Return the cell of a load of the queue.

    Args:
        load: one of ``LOADS``, an arrival rate in players a tick, the rates of the ticks of a day
            that repeats, or the text of such a number or list. With a rate, the name of the load.
        rate: arrival rate in players a tick.
        who: who log on, for the title.

    Raises:
        ValueError: if the load is none of these.
    """
    name = str(load)
    arrivals: float | tuple[float, ...]
    if rate is None:
        arrivals = _arrivals_of(load)
    else:
        arrivals = rate
    if isinstance(arrivals, tuple):
        name = day_name(arrivals)
        mean = sum(arrivals) / len(arrivals)
        log_ons = f"rates of {min(arrivals):g} to {max(arrivals):g} a tick, {mean:g} on average"
        log_ons += f", over a day of {counted(len(arrivals), 'tick')}"
    else:
        if rate is None and name not in LOADS:
            name = repr(arrivals).removesuffix(".0")
        log_ons = f"a rate of {arrivals:g} a tick"
    title = f"{name} load: {who} log on at {log_ons}"
    return Cell(name, title, {"load": name}, {"arrival_rate": arrivals})


def _arrivals_of(load: Any) -> float | tuple[float, ...]:
    """Return the arrival rate of a load, or the rates of a day; see ``load_of``."""
    known = ", ".join(LOADS)
    rule = f"load must be one of {known}, a list of the rates of a day, or an arrival rate > 0"
    if isinstance(load, str) and load in LOADS:
        return LOADS[load]
    if isinstance(load, str) and load.startswith("["):
        load = parsed(load, "load")
    if isinstance(load, str) or not isinstance(load, Sequence):
        try:
            return as_positive_number("load", float(str(load)))
        except ValueError:
            raise refusal(rule, load) from None
    day = as_rates("load", load)
    if not any(load):
        raise refusal(rule, load)
    return day


def loads_of(swept: Mapping[str, Sequence[Any]], settings: QueueSettings) -> tuple[Cell, ...]:
    """Return the cell of each load of the queue; see ``load_of``."""
    who = "players"
    if len(settings.party_sizes) > 1:
        who = "parties"
    return tuple(load_of(load, who=who) for load in swept["load"])


def variants_of(swept: Mapping[str, Sequence[Any]], settings: Options) -> tuple[Cell, ...]:
    """Return a cell for each combination of the values of some options.

    Args:
        swept: values by option; one cell of default options if empty.
        settings: other options.
    """
    cells = []
    for values in product(*swept.values()):
        options = dict(zip(swept, values, strict=True))
        described = Cell("", "", options=options).checked_options(settings)
        labels = {}
        for option, value in options.items():
            labels[option] = value if isinstance(value, str) else str(described[option])
        title = ",".join(f"{option}={label}" for option, label in labels.items())
        name = quote(title, safe="=+,")
        cells.append(Cell(name or "default", title or "default options", labels, options))
    return tuple(cells)


def cells_of(
    ranks: Sequence[str | int | None],
    priors: Sequence[str | Prior],
    num_opponents: int,
    rank_by: str = Settings.rank_by,
) -> tuple[Cell, ...]:
    """Return the cells of ``Matchmaking-v0``: every rank with every prior, prior by prior.

    Ranks of the same place, for example the top and 0, make one cell, named after the first.

    Args:
        ranks: ranks of player 0: names, numbers from 0 for the best (also as text), None or
            ``"any"`` for a random one.
        priors: names of priors, or priors that ``spec_of`` can write as text.
        num_opponents: M.
        rank_by: the environment's option of this name.

    Raises:
        ValueError: for an empty list, or a value that the environment refuses.
    """
    cells: dict[tuple[int, str], Cell] = {}
    for prior in as_list("priors", priors):
        prior_text = spec_of("prior", prior)
        for rank in as_list("ranks", ranks):
            place, cell = _cell_of(rank, prior_text, num_opponents, rank_by)
            cells.setdefault((place, prior_text), cell)
    return tuple(cells.values())


def _cell_of(rank: Any, prior: str, num_opponents: int, rank_by: str) -> tuple[int, Cell]:
    """Return the place of a rank, and its cell; see ``cells_of``."""
    if rank == ANY:
        rank = None
    elif isinstance(rank, str) and rank.isascii() and rank.isdigit():
        rank = int(rank)
    options = {"rank": rank, "prior": prior, "rank_by": rank_by}
    Settings.checked(num_opponents=num_opponents, **options)
    name = ANY if rank is None else str(rank)
    position = name
    title = f"{name} rank"
    if isinstance(rank, int):
        position = ordinal(rank + 1)
        title = f"{position} of {num_opponents + 1}"
    # The title says what the rank is by, except for the known prior mean.
    if rank is not None and rank_by == "true_skill":
        title += " by true skill"
    elif rank is not None and prior == "equal":
        title += " by hidden mean"
    title += f", prior {prior}" if is_object_spec(prior) else f", {prior} prior"
    labels = {"rank": name, "prior": prior}
    cell = Cell(f"{quote(prior, safe='=+,')}_{position}", title, labels, options)
    return place_of_rank(rank, num_opponents), cell


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``3rd``, ``4th``, ... for a number from 1."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{endings.get(number % 10, 'th')}"


GENERAL_PROTOCOL = Protocol()

ONE_PLAYER_PROTOCOL = Protocol(
    # Without the reward, since policies do not depend on it.
    summary=partial(sums, measures=tuple(OnePlayer.aggregations)),
    policies=("pe", LOW_END, "kg", "gittins", "random", HIGH_END),
    against="kg",
    marks=(LOW_END, HIGH_END),
    measure="true_draw_density",
    shown=dict(
        (
            mean_column("draw_density", "believed q", ".2f"),
            mean_column("true_draw_density", "true q", ".2f"),
            mean_column("final_squared_error", "error of mu_0"),
            mean_column("skill_difference", "skill diff.", "+.3f"),
            mean_column("win_ratio", "win ratio"),
        )
    ),
    swept={"rank": ("top", "middle", "bottom"), "prior": ("informative",)},
    cells=lambda swept, settings: cells_of(
        swept["rank"], swept["prior"], settings.num_opponents, settings.rank_by
    ),
    fixed=("rank", "prior", "reward", "belief"),
    # With luck by opponent, fewer episodes suffice; see docs/benchmarks.md.
    defaults={"noise": "opponent"},
    key=(),
)

QUEUE_PROTOCOL = Protocol(
    summary=visit_sums,
    simulator=recording_simulator,
    policies=(
        "fcfs",
        "window",
        "drawchance",
        "matching",
        "kg",
        "kg:both=true",
        "kg_matching",
        "reservation:policy=thompson",
        "random",
        "oracle",
    ),
    against="kg",
    measure="true_reward",
    shown=dict(
        (
            mean_column(REWARD, "reward", ".1f"),
            mean_column("true_reward", "true reward", ".1f"),
            mean_column("match_quality", "quality"),
            mean_column("true_match_quality", "true quality"),
            mean_column("wait", "wait", ".2f"),
            mean_column("left", "left", ".2%"),
            *(mean_column(f"error_{games}", f"error {games}", ".2f") for games in ERROR_GAMES),
        )
    ),
    swept={"load": tuple(LOADS)},
    cells=loads_of,
    fixed=("arrival_rate", "reward"),
    block=50,
    key=(QUEUE_RUNS,),
)

RANKING_PROTOCOL = Protocol(
    summary=ranking_sums,
    against="kg",
    shown=dict(
        (
            mean_column(REWARD, "reward", ".2f"),
            mean_column("expected_loss", "expected loss", ".2f"),
            mean_column("true_loss", "true loss", ".2f"),
            mean_column("kendall_tau", "tau"),
            mean_column("top_errors", "top errors", ".2f"),
            mean_column("settled", "settled"),
            mean_column("wrong", "wrong"),
        )
    ),
)
