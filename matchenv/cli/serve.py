"""The command that serves a pool of players."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

from matchenv.cli.parser import Command, Parser
from matchenv.service.players import PoolSettings

# The settings of a pool for fitted parameters.
FITTED = {"beta": "beta", "tau": "tau", "draw_probability": "draw_probability",
          "time_drift": "drift_per_day"}  # fmt: skip
SETTINGS = ("mu", "sigma", "beta", "tau", "draw_probability", "drift_per_day", "recent")


def declare_serve(add: Parser) -> Command:
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
    add.group("service")
    add.option("--pool", "file of the pool, created if missing", None, Path, required=True)
    add.option("--port", "port to listen on", 8000)
    add.option("--host", "address to listen on; any but the default lets others in", "127.0.0.1")
    add.option("--policy", "policy of Matchmaking-v0 that proposes opponents (default: drawchance)")
    add.shared("allow_code", "quiet")
    add.group("new file (an old one keeps its settings)")
    add.option("--ratings", "ratings.csv of matchenv replay, with players to add", None, Path)
    add.option("--fitted", "folder of matchenv fit, for the settings that it fits", None, Path)
    add.fields_of(PoolSettings, SETTINGS)

    given = yield
    given.needs("serve")
    from matchenv.logs.reading import read_ratings
    from matchenv.runtime.checks import as_integer
    from matchenv.service import Game, NewPlayer, Pool
    from matchenv.service.http import listen, serve

    given.note = lambda: f"{given.pool} has all acknowledged games"
    port = as_integer("port", given.port, 0, 65535)
    settings = given.explicit_values(*SETTINGS)
    if given.fitted is not None:
        from matchenv.benchmarks.replay.fits import fitted_parameters

        fitted, _ = fitted_parameters(given.fitted)
        known = {name: fitted[key] for key, name in FITTED.items() if key in fitted}
        # What a log does not show, for example draws, is 0, and can be set.
        own = (name for name, value in known.items() if value)
        given.refuse(("mu", "sigma", *own), "--fitted has its own")
        settings = known | settings
        for name in ("advantage", "team_exponent"):
            if fitted.get(name):
                missing = f"the fitted {name} of {fitted[name]:.3g}"
                warnings.warn(f"a pool rates without {missing}", stacklevel=2)
    players = []
    if given.ratings is not None:
        columns = read_ratings(given.ratings, "ratings", texts=["player"])
        players = [NewPlayer(*row) for row in zip(*columns.values(), strict=True)]
    # Bad players and a port in use must not leave a new file.
    Pool(rule=given.policy, **settings).add_many(players)
    with (
        listen(given.host, port) as listener,
        Pool.open(given.pool, rule=given.policy, **settings) as pool,
    ):
        if len(pool) == 0:
            pool.add_many(players)
        elif players:
            text = f"{given.pool} has players, so those of {given.ratings} are not added"
            warnings.warn(text, stacklevel=2)
        # The first requests must not wait for the compiler.
        with suppress(Exception):  # of a rule that refuses four players
            trial, names = Pool(rule=given.policy, **settings), list("abcd")
            trial.add_many(names)
            trial.propose("a")
            trial.match(names)
            trial.split(names)
            trial.rate([Game([["a"], ["b"]], [1, 2]), Game([["a", "b"], ["c", "d"]], [1, 2])])
        host = f"[{given.host}]" if ":" in given.host else given.host
        given.print_result(f"{len(pool)} players at http://{host}:{listener.getsockname()[1]}/docs")
        serve(pool, listener, host)
