"""An HTTP interface to a pool, for services in other languages."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from fastapi_swagger import patch_fastapi
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Summary
from prometheus_client import generate_latest as metrics_text
from starlette.concurrency import run_in_threadpool
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

import matchenv
from matchenv.service import schemas
from matchenv.service.players import GameExistsError, RatedGame, UnknownPlayerError
from matchenv.service.pool import Pool, latest_ratings

# Most bytes of a body; other limits of one request are in ``schemas``.
BODY_BYTES = 1_000_000
# Games of one request that are rated at once, which other requests wait for.
BLOCK_OF_GAMES = 250
# Proposals, matches and splits that are computed at the same time.
DECISIONS = 2
# Backups that are sent at the same time, each of which is in memory, and bytes sent at once.
BACKUPS = 2
BACKUP_CHUNK = 1 << 16
BACKUP_TYPE = "application/vnd.sqlite3"
# Seconds to receive a request, to send its answer, between two checks of these, and to finish
# requests after a signal.
REQUEST_SECONDS = 10
ANSWER_SECONDS = 60
CHECK_SECONDS = 1
LAST_SECONDS = 1
# Seconds until a thread that computes lets another one run.
SWITCH_SECONDS = 0.001
# Open connections, and connections that the system accepts ahead: together well below the 256 file
# descriptors that some systems allow a process.
CONNECTIONS = 100
BACKLOG = 64

ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"description": "A name is not in the pool."},
    409: {"description": "The id is that of a different game."},
    413: {"description": f"The body has more than {BODY_BYTES:,} bytes."},
    422: {"description": "Bad input; nothing was changed."},
    503: {
        "description": "The file could not be written or has gone, "
        "or there are too many connections."
    },
}

Result = TypeVar("Result")


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
    app.add_exception_handler(UnknownPlayerError, _error_handler(404))
    app.add_exception_handler(GameExistsError, _error_handler(409))
    app.add_exception_handler(ValueError, _error_handler(422))
    app.add_exception_handler(OSError, _error_handler(503))
    app.add_exception_handler(RequestValidationError, _refuse_body)
    _add_metrics(app, pool)
    _add_service(app, pool)
    _add_players(app, pool)
    _add_games(app, pool)
    _add_decisions(app, pool)
    return app


def _error_handler(status: int) -> Callable[[Request, Exception], JSONResponse]:
    def handle(request: Request, error: Exception) -> JSONResponse:
        return _refusal(str(error), status)

    return handle


def _refusal(detail: str, status: int) -> JSONResponse:
    return JSONResponse({"detail": detail[:1000]}, status)


def _refuse_body(request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a body; its content is left out, since JSON has no NaN."""
    assert isinstance(error, RequestValidationError)
    reasons = []
    for reason in error.errors():
        location = ".".join(str(step) for step in reason["loc"])
        reasons.append(f"{location}: {reason['msg']}")
    if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
        reasons.append("bodies must be JSON with Content-Type: application/json")
    return _refusal("; ".join(reasons), 422)


def _add_metrics(app: FastAPI, pool: Pool) -> None:
    """Count the requests, and declare the route of the metrics."""
    registry = CollectorRegistry()
    players = Gauge("matchenv_players", "Players in the pool.", registry=registry)
    players.set_function(lambda: len(pool))
    games = Gauge("matchenv_games", "Games rated since the pool was created.", registry=registry)
    games.set_function(lambda: pool.games)
    requests = Summary(
        "matchenv_request_seconds",
        "Requests and their durations.",
        ("method", "route", "status"),
        registry=registry,
    )

    def counted(inner: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await inner(scope, receive, send)
                return
            start = time.perf_counter()
            status = 0

            async def send_noting_status(message: Message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            try:
                await inner(scope, receive, send_noting_status)
            except asyncio.CancelledError:  # the service stops
                if not status:
                    await Response(status_code=503)(scope, receive, send_noting_status)
            finally:
                seconds = time.perf_counter() - start
                method, route = _labels(scope, status)
                requests.labels(method, route, status or 500).observe(seconds)

        return answer

    app.add_middleware(counted)

    @app.get("/metrics", tags=["service"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(metrics_text(registry), media_type=CONTENT_TYPE_LATEST)


def _labels(scope: Scope, status: int) -> tuple[str, str]:
    """Return the method and the route of a request, as declared.

    Clients could create any number of other labels.
    """
    if "route" not in scope or status == 405:
        return "other", "other"
    return scope["method"], scope["route"].path


def _add_service(app: FastAPI, pool: Pool) -> None:
    @app.head("/health", include_in_schema=False)
    @app.get(
        "/health",
        tags=["service"],
        response_model=schemas.Health,
        responses={503: {"model": schemas.Health, "description": "The pool's file has gone."}},
    )
    async def health(response: Response) -> Any:  # like the metrics, even while all threads work
        status = "ok"
        if pool.has_lost_file():
            response.status_code = 503
            status = "the pool's file has been moved or removed"
        return {"status": status, "players": len(pool), "games": pool.games}

    @app.get(
        "/backup",
        tags=["service"],
        response_class=Response,
        responses={200: {"content": {BACKUP_TYPE: {}}}},
    )
    async def backup() -> Response:
        return StreamingResponse(chunks_of_backup(), media_type=BACKUP_TYPE)

    sending = _semaphores(BACKUPS)

    async def chunks_of_backup() -> AsyncIterator[bytes]:
        async with sending():  # until the client has read it
            content = await run_in_threadpool(pool.backup)
            for start in range(0, len(content), BACKUP_CHUNK):
                yield content[start : start + BACKUP_CHUNK]


def _add_players(app: FastAPI, pool: Pool) -> None:
    def described(name: str) -> Any:
        player = pool.player(name)
        return player._asdict() | {"exposed": pool.exposed(player.mu, player.sigma)}

    @app.post("/players", status_code=201, tags=["players"], response_model=schemas.Player)
    def add(body: schemas.PlayerBody) -> Any:
        pool.add_many([body.to_player()])
        return described(body.name)

    @app.post(
        "/players/bulk", status_code=201, tags=["players"], response_model=schemas.PlayersAdded
    )
    def add_bulk(body: schemas.PlayersBody) -> Any:
        pool.add_many([player.to_player() for player in body.players])
        return {"added": len(body.players)}

    @app.get("/players/{name:path}", tags=["players"], response_model=schemas.Player)
    async def show(name: str) -> Any:  # waits for nothing
        return described(name)

    @app.delete("/players/{name:path}", status_code=204, tags=["players"])
    def remove(name: str) -> None:
        pool.remove(name)

    @app.get("/standings", tags=["players"], response_model=schemas.Standings)
    def standings(limit: int = Query(100, le=schemas.RANKS)) -> Any:
        return {"standings": pool.standings(limit)}

    @app.post("/blocks", status_code=204, tags=["players"])
    def block(body: schemas.BlockBody) -> None:
        pool.block(body.one, body.other)

    @app.post("/blocks/lifted", status_code=204, tags=["players"])
    def unblock(body: schemas.BlockBody) -> None:
        pool.unblock(body.one, body.other)


def _add_games(app: FastAPI, pool: Pool) -> None:
    @app.post("/games", tags=["games"], response_model=schemas.Ratings)
    async def rate(body: schemas.GamesBody) -> Response:
        games = await run_in_threadpool(body.to_games)
        if len(games) > BLOCK_OF_GAMES:  # a bad one must not leave the blocks before it rated
            await run_in_threadpool(pool.check, games)
        rated: list[RatedGame] = []
        # Between two blocks, waiting requests have the pool. An empty list is one block, which the
        # pool refuses.
        for start in range(0, max(len(games), 1), BLOCK_OF_GAMES):
            rated += await run_in_threadpool(pool.rate, games[start : start + BLOCK_OF_GAMES])
        return await run_in_threadpool(answer, rated)

    def answer(rated: list[RatedGame]) -> Response:
        ratings = {}
        for name, rating in latest_ratings(rated).items():
            ratings[name] = rating._asdict()
        return JSONResponse({"ratings": ratings})


def _add_decisions(app: FastAPI, pool: Pool) -> None:
    deciding = _semaphores(DECISIONS)

    async def decide(request: Request, decision: Callable[[], Result]) -> Result | Response:
        async with deciding():  # waiting in threads would leave none for other requests
            if await request.is_disconnected():
                return Response(status_code=499)
            return await run_in_threadpool(decision)

    @app.post("/proposals", tags=["decisions"], response_model=schemas.Proposals)
    async def propose(body: schemas.ProposalsBody, request: Request) -> Any:
        def decision() -> Any:
            return {"proposals": pool.propose(body.player, body.k, body.among)}

        return await decide(request, decision)

    @app.post("/matches", tags=["decisions"], response_model=schemas.Matches)
    async def match(body: schemas.MatchesBody, request: Request) -> Any:
        def decision() -> Any:
            return {"matches": pool.match(body.waiting)}

        return await decide(request, decision)

    @app.post("/splits", tags=["decisions"], response_model=schemas.Split)
    async def split(body: schemas.SplitBody, request: Request) -> Any:
        def decision() -> Any:
            return pool.split(body.players, body.sides, body.together)

        return await decide(request, decision)


def _semaphores(count: int) -> Callable[[], asyncio.Semaphore]:
    """Return a function that returns the semaphore of the running event loop."""
    semaphores = WeakKeyDictionary[Any, asyncio.Semaphore]()

    def semaphore() -> asyncio.Semaphore:
        return semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(count))

    return semaphore


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
        alive = 0
        waiting = []
        connections: set[Any] = self.connections
        for connection in connections:
            if not connection.transport.is_closing():
                alive += 1
                if connection.waits:
                    waiting.append(connection)
        if alive >= CONNECTIONS:
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
        limit = REQUEST_SECONDS
        if not self.waits:
            limit += ANSWER_SECONDS
        if self.loop.time() > self.since + limit:
            self.transport.abort()
        if not self.transport.is_closing():
            self.loop.call_later(CHECK_SECONDS, self._check)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        OSError: if the host is not an address of this machine, or the port is taken.
    """
    family = socket.AF_INET
    if ":" in host:
        family = socket.AF_INET6
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
    # Large requests must not hold up others: threads that compute let waiting ones run, and the
    # garbage collector skips the imported modules, which it would search several times for each
    # large body.
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    uvicorn.Server(config).run(sockets=[listener])
