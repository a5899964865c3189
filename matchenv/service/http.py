"""A pool behind HTTP, for services that are written in other languages."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

import matchenv
from matchenv.service.given import Game, PlayerExistsError, UnknownPlayerError
from matchenv.service.metrics import Metrics
from matchenv.service.pool import Pool

ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"description": "A name that no player of the pool has."},
    422: {"description": "Bad input; nothing was changed."},
}


class Body(BaseModel):
    """What a request may hold: no other fields."""

    model_config = ConfigDict(extra="forbid")


class NewPlayerBody(Body):
    """A player to add."""

    name: str
    mu: float | None = None
    sigma: float | None = None
    region: str | None = None


class GameBody(Body):
    """A game that was played: sides, and a rank for each, lower is better."""

    teams: list[list[str]]
    ranks: list[float]
    weights: list[list[float]] | None = None


class GamesBody(Body):
    """Games in their order; all or none are taken in."""

    games: list[GameBody]


class ProposalBody(Body):
    """Who asks for opponents."""

    player: str
    k: int = 1
    among: list[str] | None = None


class MatchesBody(Body):
    """Who waits; with numbers, the match quality that each asks for."""

    waiting: list[str] | dict[str, float]


class SplitBody(Body):
    """Players for teams."""

    players: list[str]
    sides: int = 2
    together: list[list[str]] = Field(default_factory=list)


class BlockBody(Body):
    """Two players."""

    one: str
    other: str


def create_app(pool: Pool) -> FastAPI:
    """The application around an open pool.

    Args:
        pool: it is not closed by the application.
    """
    app = FastAPI(
        title="matchenv",
        version=matchenv.__version__,
        description="Ratings, proposals, matches and teams of a pool of players.",
    )
    metrics = Metrics()
    _add_errors(app, metrics)
    _add_players(app, pool)
    _add_decisions(app, pool)

    @app.get("/health", tags=["service"])
    def health() -> dict[str, Any]:
        return {"status": "ok", "players": len(pool), "games": pool.games}

    @app.get("/metrics", tags=["service"], response_class=PlainTextResponse)
    def show_metrics() -> PlainTextResponse:
        text = metrics.text(players=len(pool), games=pool.games)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return app


def _add_errors(app: FastAPI, metrics: Metrics) -> None:
    @app.middleware("http")
    async def count(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        start, status = time.perf_counter(), 500
        try:
            response = await answer(request)
            status = response.status_code
        finally:
            route = getattr(request.scope.get("route"), "path", "other")
            metrics.count(request.method, route, status, time.perf_counter() - start)
        return response

    def refuse(status: int) -> Callable[[Request, Exception], JSONResponse]:
        return lambda request, error: JSONResponse({"detail": str(error)}, status)

    def explain(request: Request, error: Exception) -> JSONResponse:
        # Not what was sent: it may hold a NaN, which JSON has no word for.
        assert isinstance(error, RequestValidationError)
        said = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        return JSONResponse({"detail": "; ".join(said)}, 422)

    app.add_exception_handler(UnknownPlayerError, refuse(404))
    app.add_exception_handler(PlayerExistsError, refuse(422))
    app.add_exception_handler(ValueError, refuse(422))
    app.add_exception_handler(OSError, refuse(503))
    app.add_exception_handler(RequestValidationError, explain)


def _add_players(app: FastAPI, pool: Pool) -> None:
    @app.post("/players", status_code=201, tags=["players"], responses=ERRORS)
    def add(body: NewPlayerBody) -> dict[str, Any]:
        pool.add(body.name, body.mu, body.sigma, body.region)
        return show(body.name)

    @app.get("/players/{name:path}", tags=["players"], responses=ERRORS)
    def show(name: str) -> dict[str, Any]:
        return pool.player(name)._asdict() | {"exposed": pool.expose(name)}

    @app.delete("/players/{name:path}", status_code=204, tags=["players"], responses=ERRORS)
    def remove(name: str) -> None:
        pool.remove(name)

    @app.post("/games", tags=["games"], responses=ERRORS)
    def rate(body: GamesBody) -> dict[str, Any]:
        pool.rate([Game(each.teams, each.ranks, each.weights) for each in body.games])
        names = {name for each in body.games for side in each.teams for name in side}
        return {"ratings": {name: pool[name]._asdict() for name in sorted(names)}}

    @app.post("/blocks", status_code=204, tags=["players"], responses=ERRORS)
    def block(body: BlockBody) -> None:
        pool.block(body.one, body.other)

    @app.post("/blocks/lifted", status_code=204, tags=["players"], responses=ERRORS)
    def unblock(body: BlockBody) -> None:
        pool.unblock(body.one, body.other)


def _add_decisions(app: FastAPI, pool: Pool) -> None:
    @app.post("/proposals", tags=["decisions"], responses=ERRORS)
    def propose(body: ProposalBody) -> dict[str, Any]:
        found = pool.propose(body.player, body.k, body.among)
        return {"proposals": [each._asdict() for each in found]}

    @app.post("/matches", tags=["decisions"], responses=ERRORS)
    def match(body: MatchesBody) -> dict[str, Any]:
        return {"matches": [each._asdict() for each in pool.match(body.waiting)]}

    @app.post("/splits", tags=["decisions"], responses=ERRORS)
    def split(body: SplitBody) -> dict[str, Any]:
        return pool.split(body.players, body.sides, body.together)._asdict()

    @app.get("/standings", tags=["players"], responses=ERRORS)
    def standings(limit: int = Query(100)) -> dict[str, Any]:
        return {"standings": [each._asdict() for each in pool.standings(limit)]}
