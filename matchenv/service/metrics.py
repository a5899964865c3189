"""What a service counts, as Prometheus reads it."""

from __future__ import annotations

import threading
from collections import defaultdict


class Metrics:
    """Requests and the time that they took, by method, route and status."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[tuple[str, str, int], float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Take in one request.

        Args:
            method: such as ``GET``.
            route: the path with its parameters by name, not by value.
            status: of the answer.
            seconds: that it took.
        """
        key = (method, route, status)
        with self._lock:
            self._requests[key] += 1
            self._seconds[key] += seconds

    def text(self, *, players: int, games: int) -> str:
        """Everything in Prometheus's text format, version 0.0.4.

        Args:
            players: in the pool.
            games: since the pool was made.
        """
        lines = [
            "# HELP matchenv_players Players in the pool.",
            "# TYPE matchenv_players gauge",
            f"matchenv_players {players}",
            "# HELP matchenv_games_total Games since the pool was made.",
            "# TYPE matchenv_games_total counter",
            f"matchenv_games_total {games}",
            "# HELP matchenv_request_seconds Requests and their durations.",
            "# TYPE matchenv_request_seconds summary",
        ]
        with self._lock:
            for key in sorted(self._requests):
                method, route, status = key
                labels = f'{{method="{method}",route="{route}",status="{status}"}}'
                lines.append(f"matchenv_request_seconds_count{labels} {self._requests[key]}")
                lines.append(f"matchenv_request_seconds_sum{labels} {self._seconds[key]:.6f}")
        return "\n".join(lines) + "\n"
