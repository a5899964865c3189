"""The options of commands that play either environment."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from matchenv.cli.options import Command
from matchenv.envs.one_player.settings import Settings

ONE_PLAYER, QUEUE = "Matchmaking-v0", "MatchmakingQueue-v0"

# Options that mean something in one of the two environments only; both know the shared ones.
NAMES = {each.name for each in fields(Settings)}
SHARED = ("horizon", "beta", "draw_margin", "tau")
ONLY_ONE_PLAYER = {*NAMES.difference(SHARED), "multiplier", "prior_draws"}
ONLY_QUEUE = ("load", "env_kwargs", "measure")


@dataclass(frozen=True, kw_only=True)
class EitherEnvironment(Command):
    """A command that plays one player and a pool, or the queue.

    Attributes:
        env: where to play.
        load: in the queue, players who log on in a tick: thin, middle, thick or numbers.
        env_kwargs: in the queue, its other options as KEY=VALUE, such as patience=10 or
            population=ratings.csv.
    """

    env: Literal["Matchmaking-v0", "MatchmakingQueue-v0"] = "Matchmaking-v0"
    load: tuple[str, ...] = ("thin", "middle", "thick")
    env_kwargs: tuple[str, ...] = ()

    @property
    def in_queue(self) -> bool:
        """Whether it plays the queue."""
        return self.env == QUEUE

    @property
    def extras(self) -> tuple[str, ...]:
        """In the queue it draws figures."""
        return ("benchmarks",) if self.in_queue else ()

    def check_given(self, given: set[str]) -> None:
        """Refuse options that mean nothing in this environment."""
        idle = sorted(given.intersection(ONLY_ONE_PLAYER if self.in_queue else ONLY_QUEUE))
        if idle:
            words = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
            other = ONE_PLAYER if self.in_queue else QUEUE
            raise ValueError(f"{words} must come with --env {other}, got --env {self.env}")

    def queue_options(self) -> dict[str, Any]:
        """The options of the queue that were given, by name.

        Raises:
            ValueError: for a text that is not KEY=VALUE, or an option given twice.
        """
        found = {name: getattr(self, name) for name in SHARED if hasattr(self, name)}
        if self.env_kwargs:
            from matchenv.agents.extra import with_extra

            parse_pairs = with_extra("matchenv.agents.config_file", "parse_pairs")
            pairs = parse_pairs("env-kwargs", list(self.env_kwargs))
            twice = sorted(found.keys() & pairs.keys())
            if twice:
                raise ValueError(
                    f"env-kwargs must not repeat other options, got {', '.join(twice)}"
                )
            found |= pairs
        return found
