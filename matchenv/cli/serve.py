"""Keep ratings, propose opponents, match and split players over HTTP.

A game is acknowledged after it is written to the file. The API is described
at /docs and /openapi.json; GET /backup returns a copy of the file.

There is no authentication, so it listens on this machine only; for others,
put it behind a gateway that has one. Limits: bodies of 1 MB; splits of 100
players, matches of 10,000, 25 proposals and 10,000 standings a request;
100 connections; 10 seconds to receive a request and 60 to answer it.
See docs/service.md.

Example:
    matchenv serve --pool pool.db --port 8000
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchenv.cli.extras import check_extras
from matchenv.cli.options import add_allow_code, add_quiet, add_settings
from matchenv.cli.output import print_result
from matchenv.cli.parser import Arguments, Parser, explicit_values, path, refuse
from matchenv.service.players import PoolSettings

if TYPE_CHECKING:
    from matchenv.service import NewPlayer

SETTINGS = ("mu", "sigma", "beta", "tau", "draw_probability", "drift_per_day", "recent")
# The settings of a pool for fitted parameters.
FITTED = {
    "beta": "beta",
    "tau": "tau",
    "draw_probability": "draw_probability",
    "time_drift": "drift_per_day",
}


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    group = parser.add_argument_group("service")
    group.add_argument(
        "--pool", type=path, required=True, help="file of the pool, created if missing"
    )
    group.add_argument("--port", type=int, default=8000, help="port to listen on")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any but the default lets others in",
    )
    group.add_argument(
        "--policy", help="policy of Matchmaking-v0 that proposes opponents (default: drawchance)"
    )
    add_allow_code(group, "import beliefs outside matchenv that learned policies name")
    add_quiet(group)
    group = parser.add_argument_group("new file (an old one keeps its settings)")
    group.add_argument(
        "--ratings", type=path, help="ratings.csv of matchenv replay, with players to add"
    )
    group.add_argument(
        "--fitted", type=path, help="folder of matchenv fit, for the settings that it fits"
    )
    add_settings(group, PoolSettings, SETTINGS)


def run(arguments: Arguments) -> None:
    """Serve a pool until a signal."""
    check_extras("serve", "serve")
    from matchenv.runtime.checks import as_integer
    from matchenv.service import Pool
    from matchenv.service.http import listen, serve

    file = arguments.pool
    host = arguments.host
    rule = arguments.policy
    arguments.note = f"{file} has all acknowledged games"
    port = as_integer("port", arguments.port, 0, 65535)
    settings = pool_settings(arguments)
    players = rated_players(arguments.ratings)
    # Bad players and a port in use must not leave a new file.
    Pool(rule=rule, **settings).add_many(players)
    with listen(host, port) as listener, Pool.open(file, rule=rule, **settings) as pool:
        if len(pool) == 0:
            pool.add_many(players)
        elif players:
            unused = f"those of {arguments.ratings} are not added"
            warnings.warn(f"{file} has players, so {unused}", stacklevel=2)
        compile_requests(Pool(rule=rule, **settings))
        if ":" in host:
            host = f"[{host}]"
        port = listener.getsockname()[1]
        print_result(f"{len(pool)} players at http://{host}:{port}/docs", arguments.quiet)
        serve(pool, listener, host)


def pool_settings(arguments: Arguments) -> dict[str, Any]:
    """Return the settings of a new pool that were given or fitted."""
    settings = explicit_values(arguments, SETTINGS)
    if arguments.fitted is None:
        return settings
    from matchenv.benchmarks.replay.fits import fitted_parameters

    parameters, _ = fitted_parameters(arguments.fitted)
    fitted = {}
    own = ["mu", "sigma"]
    for parameter, name in FITTED.items():
        if parameter in parameters:
            fitted[name] = parameters[parameter]
            if fitted[name]:  # what a log does not show, for example draws, is 0, and can be set
                own.append(name)
    refuse(arguments, own, "--fitted has its own")
    for name in ("advantage", "team_exponent"):
        if parameters.get(name):
            missing = f"the fitted {name} of {parameters[name]:.3g}"
            warnings.warn(f"a pool rates without {missing}", stacklevel=3)
    return {**fitted, **settings}


def rated_players(ratings: Path | None) -> list[NewPlayer]:
    """Return the players of ``ratings.csv``; none without a file."""
    from matchenv.logs.reading import read_ratings
    from matchenv.service import NewPlayer

    players: list[NewPlayer] = []
    if ratings is not None:
        columns = read_ratings(ratings, "ratings", texts=["player"])
        for row in zip(*columns.values(), strict=True):
            players.append(NewPlayer(*row))
    return players


def compile_requests(trial: Any) -> None:
    """Answer a request of each kind in a pool that is not kept: later ones need no compiler."""
    from matchenv.service import Game

    with suppress(Exception):  # of a rule that refuses four players
        names = list("abcd")
        trial.add_many(names)
        trial.propose("a")
        trial.match(names)
        trial.split(names)
        trial.rate([Game([["a"], ["b"]], [1, 2]), Game([["a", "b"], ["c", "d"]], [1, 2])])
