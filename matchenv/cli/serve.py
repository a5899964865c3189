"""The command that serves a pool."""

from __future__ import annotations

import atexit
from pathlib import Path

from matchenv.cli.parser import Command, Parser
from matchenv.service.players import PoolSettings

# Settings of a pool by the names of fitted parameters.
FITTED = {"beta": "beta", "tau": "tau", "draw_probability": "draw_probability",
          "time_drift": "drift_per_day"}  # fmt: skip
SETTINGS = ("mu", "sigma", "beta", "tau", "draw_probability", "drift_per_day", "recent")


def declare_serve(add: Parser) -> Command:
    """Keep ratings, propose opponents, match and split players over HTTP.

    A game is confirmed only after it has been written to the file. Paths and
    bodies are described at /docs and /openapi.json; GET /backup is a copy of
    the file.

    There is no authentication, so it listens at this machine alone; for others,
    put it behind a gateway that has one. Limits: bodies of 1 MB; splits of 100
    players, matches of 10,000, 25 proposals and 10,000 standings a request;
    100 connections; 10 seconds for a request to arrive and 60 for its answer.
    See docs/service.md.

    Example:
        matchenv serve --pool pool.db --port 8000
    """
    add.group("service")
    add.option("--pool", "the pool's file; it is made if it does not exist", None, Path,
               required=True)  # fmt: skip
    add.option("--port", "port to listen at", 8000)
    add.option("--host", "address to listen at; any other than the default lets others in",
               "127.0.0.1")  # fmt: skip
    add.option("--policy", "policy that proposes opponents, of one player, as in compare (default: "
               "drawchance)")  # fmt: skip
    add.shared("quiet")
    add.group("a new file (an old one has its own)")
    add.option("--ratings", "ratings.csv of matchenv replay, whose players are added", None, Path)
    add.option("--fitted", "folder of matchenv fit, for beta, tau, draw probability and drift per "
               "day", None, Path)  # fmt: skip
    add.fields_of(PoolSettings, SETTINGS)

    given = yield
    given.needs("serve")
    from matchenv.logs.text_table import read_ratings
    from matchenv.runtime.checks import as_integer
    from matchenv.service import NewPlayer, Pool
    from matchenv.service.http import listen, serve

    given.note = lambda: f"{given.pool} has all that was answered"
    port = as_integer("port", given.port, 0, 65535)
    settings = given.told(*SETTINGS)
    if given.fitted is not None:
        given.refuse(FITTED.values(), "--fitted has its own")
        given.needs("logs", "benchmarks")
        from matchenv.benchmarks.replay.fits import fitted_parameters

        found = fitted_parameters(given.fitted)
        settings |= {name: found[each] for each, name in FITTED.items() if each in found}
    players = []
    if given.ratings is not None:
        columns = read_ratings(given.ratings, "ratings", texts=["player"])
        players = [NewPlayer(*row) for row in zip(*columns.values(), strict=True)]
    Pool(rule=given.policy, **settings).add_many(players)  # bad ones leave no new file
    # Listen first: a port that is taken leaves no new file.
    with (
        listen(given.host, port) as listener,
        Pool.open(given.pool, rule=given.policy, **settings) as pool,
    ):
        if players and len(pool) > 0:
            raise ValueError(f"ratings must be for a new file, {given.pool} has players")
        if players:
            pool.add_many(players)
        host = f"[{given.host}]" if ":" in given.host else given.host
        given.say(f"{len(pool)} players at http://{host}:{listener.getsockname()[1]}/docs")
        atexit.register(pool.close)  # a signal ends the process without leaving this block
        serve(pool, listener)
