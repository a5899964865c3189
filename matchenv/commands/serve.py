"""``matchenv serve``: a pool of players behind HTTP."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from matchenv.commands.options import Command
from matchenv.commands.output import show

# Seconds that requests have to end in once the service was asked to stop.
LAST_REQUESTS = 1


@dataclass(frozen=True, kw_only=True)
class Serve(Command):
    """Keep ratings, propose opponents, match and split players over HTTP.

    A game is confirmed only after it has been written to the file. Paths and
    bodies are described at /docs and /openapi.json. See docs/service.md.

    Example:
        matchenv serve --pool pool.db --port 8000

    Attributes:
        pool: the pool's file; it is made if it does not exist.
        host: address to listen at.
        port: to listen at.
        policy: who is proposed (default: drawchance): a one-player policy, as in compare.
        mu: mean of the belief about a newcomer; this and the rest are for a new file, an old one
            has its own (default: 25).
        sigma: its standard deviation (default: 25/3).
        beta: standard deviation of one performance (default: 25/6).
        tau: drift of a skill before each game (default: 25/300).
        draw_probability: of two even sides (default: 0.1).
        drift_per_day: drift of a skill in a day without a game (default: 0).
        recent: how many of a player's last opponents are not proposed again (default: 0).
    """

    pool: Path
    host: str = "127.0.0.1"
    port: int = 8000
    policy: str | None = None
    mu: float | None = None
    sigma: float | None = None
    beta: float | None = None
    tau: float | None = None
    draw_probability: float | None = None
    drift_per_day: float | None = None
    recent: int | None = None

    @property
    def extras(self) -> tuple[str, ...]:
        """What listens."""
        return ("serve",)

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        return f"{self.pool} has all that was answered"

    def run(self) -> None:
        """Serve until a signal."""
        import socket

        import uvicorn

        from matchenv.runtime.checks import as_integer
        from matchenv.service import Pool, PoolSettings
        from matchenv.service.http import create_app

        port = as_integer("port", self.port, 0, 65535)
        try:  # before the pool's file is made
            socket.getaddrinfo(self.host or None, port, type=socket.SOCK_STREAM)
        except ValueError:
            raise ValueError(f"host must be an address or a name, got {self.host!a}") from None
        except OSError as error:
            raise OSError(f"cannot listen at {self.host}:{port}: {error.strerror}") from None
        names = {each.name for each in fields(PoolSettings)} & {each.name for each in fields(self)}
        given = {name: getattr(self, name) for name in sorted(names)}
        told = {name: value for name, value in given.items() if value is not None}
        with Pool.open(self.pool, rule=self.policy, **told) as pool:
            if not self.quiet:
                show(f"{len(pool)} players at http://{self.host}:{port}/docs", flush=True)
            config = uvicorn.Config(
                create_app(pool),
                host=self.host,
                port=port,
                log_level="error",
                timeout_graceful_shutdown=LAST_REQUESTS,
            )
            try:
                uvicorn.Server(config).run()
            except SystemExit:
                raise OSError(f"cannot listen at {self.host}:{port}") from None
