"""A pool behind HTTP, for services that are written in other languages."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, get_type_hints

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi_swagger import patch_fastapi
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Summary
from prometheus_client import generate_latest as metrics_text
from pydantic import ConfigDict, Field, create_model
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

import matchenv
from matchenv.ratings.leaderboard import RankedPlayer
from matchenv.service.players import Game, Meeting, NewPlayer, Player, Split, UnknownPlayerError
from matchenv.service.pool import Pool
from matchenv.trueskill import Rating

# What one request may ask for, so that it is answered in about a second.
BODY_BYTES, SPLIT_PLAYERS, PROPOSALS, WAITING, STANDINGS = 1_000_000, 100, 25, 10_000, 10_000
# Seconds for a request to arrive, from the connection or the last answer on; for its answer to be
# taken; and for requests to end after a signal.
REQUEST_SECONDS, ANSWER_SECONDS, LAST_SECONDS = 10, 60, 1
# Connections at a time, and those that the system accepts before they are counted. Descriptors
# are not the limit: systems allow a process 256 or more.
CONNECTIONS, BACKLOG = 100, 16

ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"description": "A name that no player of the pool has."},
    413: {"description": f"A body of more than {BODY_BYTES:,} bytes."},
    422: {"description": "Bad input; nothing was changed."},
    503: {"description": "The file could not be written, or there are too many connections."},
}


def model(name: str, kind: type | None = None, *, extra: Any = "ignore", **fields: Any) -> Any:
    """Return the model of an answer, or of a body: the fields of a named tuple, and others.

    Args:
        name: of the model.
        kind: the named tuple.
        extra: ``"forbid"`` refuses fields that are not declared.
        fields: types by name, or pairs of a type and a default.
    """
    hints = {} if kind is None else get_type_hints(kind)
    defaults = getattr(kind, "_field_defaults", {})
    own = {each: (hint, defaults.get(each, ...)) for each, hint in hints.items()}
    create: Any = create_model  # whose overloads know no fields in a mapping
    said = getattr(kind, "__doc__", None)
    summary = said.partition("\n")[0] if said else None
    return create(name, __config__=ConfigDict(extra=extra), __doc__=summary, **own, **fields)


def at_most(count: int, kind: Any) -> Any:
    """Return the type of a list or mapping with so many entries at most."""
    return Annotated[kind, Field(max_length=count)]


body = partial(model, extra="forbid")
NEW_PLAYER, PAIR = body("NewPlayerBody", NewPlayer), body("PairBody", one=str, other=str)
GAMES = body("GamesBody", games=list[body("GameBody", Game)])  # type: ignore[misc]
PROPOSAL = body(
    "ProposalBody", player=str, k=(int, Field(1, le=PROPOSALS)), among=(list[str] | None, None)
)
MATCHES = body(
    "MatchesBody", waiting=at_most(WAITING, list[str]) | at_most(WAITING, dict[str, float])
)
SPLIT = body(
    "SplitBody",
    players=at_most(SPLIT_PLAYERS, list[str]),
    sides=(int, 2),
    together=(list[list[str]], ()),
)

PlayerAnswer = model("Player", Player, exposed=float)
RatingsAnswer = model("Ratings", ratings=dict[str, model("Rating", Rating)])  # type: ignore[misc]
MeetingAnswer = model("Meeting", Meeting)
ProposalsAnswer = model("Proposals", proposals=list[MeetingAnswer])  # type: ignore[valid-type]
MatchesAnswer = model("Matches", matches=list[MeetingAnswer])  # type: ignore[valid-type]
SplitAnswer = model("Split", Split)
StandingsAnswer = model("Standings", standings=list[model("RankedPlayer", RankedPlayer)])  # type: ignore[misc]
HealthAnswer = model("Health", status=str, players=int, games=int)


def create_app(pool: Pool) -> FastAPI:
    """Return the application around an open pool.

    Requests are answered in threads, not in the event loop.

    Args:
        pool: it is not closed by the application.
    """
    app = FastAPI(
        title="matchenv",
        version=matchenv.__version__,
        description="Ratings, proposals, matches and teams of a pool of players.",
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        responses=ERRORS,
    )
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=BODY_BYTES)
    patch_fastapi(app)
    for kind, status in ((UnknownPlayerError, 404), (ValueError, 422), (OSError, 503)):
        app.add_exception_handler(kind, _refusal(status))
    app.add_exception_handler(RequestValidationError, _explained)
    _add_service(app, pool)
    _add_players(app, pool)
    return app


def _refusal(status: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda request, error: JSONResponse({"detail": str(error)}, status)


def _explained(request: Request, error: Exception) -> JSONResponse:
    # Not what was sent: it may hold a NaN, which JSON has no word for.
    assert isinstance(error, RequestValidationError)
    said = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return JSONResponse({"detail": "; ".join(said)}, 422)


def _add_service(app: FastAPI, pool: Pool) -> None:
    registry = CollectorRegistry()
    for name, text, value in (
        ("players", "Players in the pool.", lambda: len(pool)),
        ("games", "Games since the pool was made.", lambda: pool.games),
    ):
        Gauge(f"matchenv_{name}", text, registry=registry).set_function(value)
    labels = ("method", "route", "status")
    requests = Summary(
        "matchenv_request_seconds", "Requests and their durations.", labels, registry=registry
    )

    @app.middleware("http")
    async def count(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        start, status = time.perf_counter(), 500
        try:
            response = await answer(request)
            status = response.status_code
        finally:
            # The route as it is declared: labels with players' names would have no end.
            route = getattr(request.scope.get("route"), "path", "other")
            method = request.method if route != "other" else "other"
            requests.labels(method, route, status).observe(time.perf_counter() - start)
        return response

    @app.get("/health", tags=["service"], response_model=HealthAnswer)
    def health() -> Any:
        return {"status": "ok", "players": len(pool), "games": pool.games}

    @app.get("/metrics", tags=["service"], response_class=Response)
    def metrics() -> Response:
        return Response(metrics_text(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/backup", tags=["service"], response_class=Response)
    def backup() -> Response:
        return Response(pool.backup(), media_type="application/vnd.sqlite3")


def _add_players(app: FastAPI, pool: Pool) -> None:
    def rate(body: Any) -> Any:
        pool.rate([Game(**dict(each)) for each in body.games])
        names = {name for each in body.games for side in each.teams for name in side}
        return {"ratings": {name: pool[name]._asdict() for name in sorted(names)}}

    def add(body: Any) -> Any:
        pool.add(**dict(body))
        return show(body.name)

    @app.get("/players/{name:path}", tags=["players"], response_model=PlayerAnswer)
    def show(name: str) -> Any:
        return pool.player(name)._asdict() | {"exposed": pool.expose(name)}

    @app.delete("/players/{name:path}", status_code=204, tags=["players"])
    def remove(name: str) -> None:
        pool.remove(name)

    @app.get("/standings", tags=["players"], response_model=StandingsAnswer)
    def standings(limit: int = Query(100, le=STANDINGS)) -> Any:
        return {"standings": [each._asdict() for each in pool.standings(limit)]}

    def listed(name: str, found: Sequence[Meeting]) -> Any:
        return {name: [each._asdict() for each in found]}

    def post(path: str, tag: str, body: Any, answer: Any, work: Callable[[Any], Any],
             status: int = 200) -> None:  # fmt: skip
        def endpoint(body: Any) -> Any:
            return work(body)

        endpoint.__name__ = path.strip("/").replace("/", "_")
        endpoint.__annotations__["body"] = body
        app.post(path, status_code=status, tags=[tag], response_model=answer)(endpoint)

    post("/players", "players", NEW_PLAYER, PlayerAnswer, add, 201)
    post("/blocks", "players", PAIR, None, lambda body: pool.block(**dict(body)), 204)
    post("/blocks/lifted", "players", PAIR, None, lambda body: pool.unblock(**dict(body)), 204)
    post("/games", "games", GAMES, RatingsAnswer, rate)
    post("/proposals", "decisions", PROPOSAL, ProposalsAnswer,
         lambda body: listed("proposals", pool.propose(**dict(body))))  # fmt: skip
    post("/matches", "decisions", MATCHES, MatchesAnswer,
         lambda body: listed("matches", pool.match(body.waiting)))  # fmt: skip
    post("/splits", "decisions", SPLIT, SplitAnswer,
         lambda body: pool.split(**dict(body))._asdict())  # fmt: skip


class LimitedConnection(H11Protocol):
    """A connection with limits of time; where there are too many, the one that waits longest ends.

    uvicorn alone would wait without end for the rest of a request, and for a client that does not
    read its answer.
    """

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()
        alive = [each for each in self.connections if not each.transport.is_closing()]
        if len(alive) >= (self.limit_concurrency or CONNECTIONS):
            waiting = [each for each in alive if isinstance(each, LimitedConnection) and each.waits]
            min(waiting, key=lambda each: each.timer.when()).transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.timer.cancel()
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self.timer.cancel()
        super().connection_lost(exc)

    @property
    def waits(self) -> bool:
        """True while a request has not arrived completely."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _wait(self) -> None:
        self.timer = self.loop.call_later(REQUEST_SECONDS, self._check)

    def _check(self) -> None:
        if self.waits:
            self.transport.abort()
        else:
            self.timer = self.loop.call_later(ANSWER_SECONDS, self.transport.abort)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        OSError: if the host is no address of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, ValueError, TypeError) as error:  # for a host that no name can be
        reason = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        raise OSError(f"cannot listen at {host}:{port}: {reason}") from None


def serve(pool: Pool, listener: socket.socket) -> None:
    """Answer requests until a signal; requests that have begun may end.

    Args:
        pool: it is not closed.
        listener: as ``listen`` returns it.
    """
    config = uvicorn.Config(
        create_app(pool),
        http=LimitedConnection,
        ws="none",
        log_level="error",
        backlog=BACKLOG,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])
