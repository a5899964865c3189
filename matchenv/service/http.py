"""An HTTP interface to a pool, for services in other languages."""

# mypy does not accept models that are built at runtime as types.
# mypy: disable-error-code="misc, valid-type"

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import AsyncIterator, Callable
from inspect import getdoc, signature
from typing import Annotated, Any, TypeVar, get_type_hints
from weakref import WeakKeyDictionary

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from fastapi_swagger import patch_fastapi
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Summary
from prometheus_client import generate_latest as metrics_text
from pydantic import AfterValidator, ConfigDict, Field, create_model
from starlette.concurrency import run_in_threadpool
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

import matchenv
from matchenv.service.players import Game, Meeting, Player, RankedPlayer, Split, UnknownPlayerError
from matchenv.service.pool import Pool
from matchenv.trueskill import Rating

# Limits of one request, chosen so that it takes about a second.
BODY_BYTES, SPLIT_PLAYERS, PROPOSALS, WAITING, RANKS = 1_000_000, 100, 25, 10_000, 10_000
# Proposals, matches and splits that are computed at the same time; backups that are sent.
DECISIONS, BACKUPS = 2, 2
# Seconds to receive a request, to send its answer, between two checks of these, and to finish
# requests after a signal.
REQUEST_SECONDS, ANSWER_SECONDS, CHECK_SECONDS, LAST_SECONDS = 10, 60, 1, 1
# Open connections, and connections that the system accepts ahead: together well below the 256 file
# descriptors that some systems allow a process.
CONNECTIONS, BACKLOG = 100, 64

# Type of a backup, and bytes that are sent at once.
SQLITE, PART = "application/vnd.sqlite3", 1 << 16

ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"description": "A name is not in the pool."},
    413: {"description": f"The body has more than {BODY_BYTES:,} bytes."},
    422: {"description": "Bad input; nothing was changed."},
    503: {"description": "The file could not be written, or there are too many connections."},
}

Entry = TypeVar("Entry")
create: Any = create_model  # its overloads do not accept fields in a mapping


def model(name: str, of: Any, *, body: bool = False, **types: Any) -> Any:
    """Build a pydantic model with the fields of a named tuple or the parameters of a call.

    Args:
        name: name of the model.
        of: the named tuple or the call.
        body: refuse undeclared fields, and strings or booleans in place of numbers.
        types: types of further fields, or in place of their own.
    """
    hints, fields = get_type_hints(of) | types, dict(types)
    for parameter in signature(of).parameters.values():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    summary = (getdoc(of) or "").partition("\n")[0]
    config = ConfigDict(extra="forbid" if body else "ignore", strict=body)
    return create(name, __config__=config, __doc__=summary, **fields)


PLAYER, RATING = model("Player", Player, exposed=float), model("Rating", Rating)
MEETING, SPLIT = model("Meeting", Meeting), model("Split", Split)
STANDINGS = create("Standings", standings=list[model("RankedPlayer", RankedPlayer)])
HEALTH = create("Health", status=str, players=int, games=int)
# Stop at the first bad entry: half a million errors would take a gigabyte.
Rows = Annotated[list[Entry], Field(fail_fast=True)]
GAME = Annotated[
    model("GameBody", Game, body=True, teams=Rows[Rows[str]], ranks=Rows[float],
          weights=Rows[Rows[float]] | None),
    AfterValidator(lambda game: Game(**dict(game))),
]  # fmt: skip
OPPONENTS = Annotated[int, Field(le=PROPOSALS)]
MEMBERS = Annotated[list[str], Field(max_length=SPLIT_PLAYERS)]
AT_MOST = Field(max_length=WAITING)
QUEUE = Annotated[list[str], AT_MOST] | Annotated[dict[str, float], AT_MOST]


def create_app(pool: Pool) -> FastAPI:
    """Return the ASGI application of an open pool, which it does not close."""
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
    for kind, status in ((UnknownPlayerError, 404), (RequestValidationError, 422),
                         (ValueError, 422), (OSError, 503)):  # fmt: skip
        app.add_exception_handler(kind, _error_handler(status))
    _add_service(app, pool)
    _add_players(app, pool)
    return app


def _error_handler(status: int) -> Callable[[Request, Exception], JSONResponse]:
    def handle(request: Request, error: Exception) -> JSONResponse:
        detail = str(error)
        if isinstance(error, RequestValidationError):
            # The bad input itself is left out, since JSON has no NaN.
            parts = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
            if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
                parts.append("bodies must be JSON with Content-Type: application/json")
            detail = "; ".join(parts)
        return JSONResponse({"detail": detail[:1000]}, status)

    return handle


def _add_service(app: FastAPI, pool: Pool) -> None:
    registry = CollectorRegistry()
    players = Gauge("matchenv_players", "Players in the pool.", registry=registry)
    players.set_function(lambda: len(pool))
    games = Gauge("matchenv_games", "Games rated since the pool was created.", registry=registry)
    games.set_function(lambda: pool.games)
    labels = ("method", "route", "status")
    requests = Summary(
        "matchenv_request_seconds", "Requests and their durations.", labels, registry=registry
    )

    def counted(inner: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await inner(scope, receive, send)
            start, status = time.perf_counter(), 0

            async def note(message: Message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            try:
                await inner(scope, receive, note)
            except asyncio.CancelledError:  # the service stops
                if not status:
                    await Response(status_code=503)(scope, receive, note)
            finally:
                # Declared routes and methods only: clients could create any number of other labels.
                is_known = "route" in scope and status != 405
                route = scope["route"].path if is_known else "other"
                method = scope["method"] if is_known else "other"
                requests.labels(method, route, status or 500).observe(time.perf_counter() - start)

        return answer

    app.add_middleware(counted)

    @app.get("/health", tags=["service"], response_model=HEALTH)
    async def health() -> Any:  # like the metrics, even while all threads work
        return {"status": "ok", "players": len(pool), "games": pool.games}

    @app.get("/metrics", tags=["service"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(metrics_text(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/backup", tags=["service"], response_class=Response,
             responses={200: {"content": {SQLITE: {}}}})  # fmt: skip
    async def backup() -> Response:
        return StreamingResponse(parts_of_backup(), media_type=SQLITE)

    sending = _semaphores(BACKUPS)

    async def parts_of_backup() -> AsyncIterator[bytes]:
        async with sending():  # until the client has read it: each is in memory
            content = await run_in_threadpool(pool.backup)
            for start in range(0, len(content), PART):
                yield content[start : start + PART]


def _add_players(app: FastAPI, pool: Pool) -> None:
    @app.get("/players/{name:path}", tags=["players"], response_model=PLAYER)
    def show(name: str) -> Any:
        with pool._lock:  # both numbers from the same belief
            return pool.player(name)._asdict() | {"exposed": pool.expose(name)}

    @app.delete("/players/{name:path}", status_code=204, tags=["players"])
    def remove(name: str) -> None:
        pool.remove(name)

    @app.get("/standings", tags=["players"], response_model=STANDINGS)
    def standings(limit: int = Query(100, le=RANKS)) -> Any:
        return {"standings": pool.standings(limit)}

    deciding = _semaphores(DECISIONS)

    def ratings(games: list[Game]) -> Any:
        names = {name for game in games for side in game.teams for name in side}
        return {name: pool[name] for name in sorted(names)}

    def post(
        path: str, tag: str, call: Callable[..., Any], kind: Any,
        answer: Callable[[Any, Any], Any], status: int = 200, **types: Any,
    ) -> None:  # fmt: skip
        """Declare a request whose body has the parameters of a call, some with other ``types``.

        ``answer`` builds the answer, of type ``kind``, from the body and the result of the call.
        """

        def change(body: Any) -> Any:
            # A player of the change must not be removed before the answer is built.
            with pool._lock:
                return answer(body, call(**dict(body)))

        async def decide(body: Any, request: Request) -> Any:
            async with deciding():  # waiting in threads would leave none for other requests
                if await request.is_disconnected():
                    return Response(status_code=499)
                return answer(body, await run_in_threadpool(call, **dict(body)))

        endpoint: Any = decide if tag == "decisions" else change
        endpoint.__name__ = path.strip("/").replace("/", "_")
        name = f"{endpoint.__name__.title()}Body"
        endpoint.__annotations__["body"] = model(name, call, body=True, **types)
        app.post(path, status_code=status, tags=[tag], response_model=kind)(endpoint)

    post("/players", "players", pool.add, PLAYER, lambda body, _: show(body.name), 201)
    post("/blocks", "players", pool.block, None, lambda *_: None, 204)
    post("/blocks/lifted", "players", pool.unblock, None, lambda *_: None, 204)
    post("/games", "games", pool.rate, create("Ratings", ratings=dict[str, RATING]),
         lambda body, _: {"ratings": ratings(body.games)}, games=Rows[GAME])  # fmt: skip
    post("/proposals", "decisions", pool.propose, create("Proposals", proposals=list[MEETING]),
         lambda _, found: {"proposals": found}, k=OPPONENTS, among=Rows[str] | None)  # fmt: skip
    post("/matches", "decisions", pool.match, create("Matches", matches=list[MEETING]),
         lambda _, found: {"matches": found}, waiting=QUEUE)  # fmt: skip
    post("/splits", "decisions", pool.split, SPLIT, lambda _, found: found,
         players=MEMBERS, together=Rows[Rows[str]])  # fmt: skip


def _semaphores(count: int) -> Callable[[], asyncio.Semaphore]:
    """Return a function that returns the semaphore of the running event loop."""
    known = WeakKeyDictionary[Any, asyncio.Semaphore]()
    return lambda: known.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(count))


class LimitedConnection(H11Protocol):
    """A connection with time limits, which closes the longest waiting of too many connections.

    uvicorn alone waits forever for the rest of a request, and for a client that does not read its
    answer.
    """

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._check()
        alive: list[Any] = [c for c in self.connections if not c.transport.is_closing()]
        if len(alive) >= CONNECTIONS:
            waiting = (connection for connection in alive if connection.waits)
            min(waiting, key=lambda connection: connection.since).transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """True if no complete request has been received since the last answer."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _check(self) -> None:
        limit = REQUEST_SECONDS + (0 if self.waits else ANSWER_SECONDS)
        if self.loop.time() > self.since + limit:
            self.transport.abort()
        if not self.transport.is_closing():
            self.loop.call_later(CHECK_SECONDS, self._check)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        OSError: if the host is not an address of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, ValueError, TypeError) as error:  # ValueError, TypeError: malformed hosts
        reason = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        raise OSError(f"cannot listen at {host}:{port}: {reason}") from None


def serve(pool: Pool, listener: socket.socket, host: str = "localhost") -> None:
    """Serve a pool until a signal, then finish the current requests.

    Args:
        pool: an open pool, which is not closed.
        listener: see ``listen``.
        host: name of this machine for requests, besides localhost and its addresses.
    """
    app = create_app(pool)
    if ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
        # A web page can have its own name resolve to this address, and read the answers.
        hosts = ["localhost", "127.0.0.1", "[::1]", host]
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    config = uvicorn.Config(
        app,
        log_config=None,  # errors go to standard error
        http=LimitedConnection,
        ws="none",
        log_level="error",
        backlog=BACKLOG,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])
