"""Learn which planned lobbies begin: MaskablePPO of sb3-contrib on top of a planner.

The planner proposes lobbies that fill games, with reservations so low that it proposes too many.
The agent approves a lobby, whose game begins, or dissolves it, so that its founder waits this tick.

    python -m examples.approve_plans --out runs/approver.zip
    matchenv compare --env MatchmakingQueue-v0 --env-kwargs side_size=2 'party_sizes=[.7,.3]' \
        --policy examples.approve_plans:Approver:file=runs/approver.zip priced --load middle

See docs/stock_agents.md.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnvWrapper

from matchenv.agents import MatchmakingVecEnv
from matchenv.baselines.queue import PricedMatching
from matchenv.envs.queue import QueueSettings, QueueView, WaitingParties, usual_quality

# Numbers of a lobby and of the queue in an observation.
OF_LOBBY = 11
OF_QUEUE = 6


class Notes(NamedTuple):
    """What the last plan of a queue says about its waiting parties.

    Attributes:
        party: numbers of the parties, shape (Q,).
        size: members of each party, shape (Q,).
        numbers: of the lobby of each party and of the queue, 0 for no lobby, shape (Q, 17).
    """

    party: NDArray[np.int64]
    size: NDArray[np.int64]
    numbers: NDArray[np.float32]


class Proposals(PricedMatching):
    """Propose lobbies, and describe each one by a few numbers."""

    def __init__(self, reservation: float = 0.2, fall: float = 0.0235) -> None:
        super().__init__(reservation, fall)
        self.notes: dict[int, Notes] = {}

    def plan(self, waiting: WaitingParties) -> list[Any]:
        """Return the planned lobbies, and keep their numbers."""
        lobbies = [np.asarray(lobby) for lobby in super().plan(waiting)]
        qualities = [waiting.quality_of(lobby.tolist()) for lobby in lobbies]
        numbers = np.zeros((waiting.mu.size, OF_LOBBY + OF_QUEUE), dtype=np.float32)
        numbers[:, OF_LOBBY:] = numbers_of_queue(waiting, qualities)
        prices = self.prices(waiting)
        for lobby, quality in zip(lobbies, qualities, strict=True):
            numbers[lobby, :OF_LOBBY] = numbers_of_lobby(waiting, lobby, quality, prices)
        self.notes[waiting.run] = Notes(waiting.party, waiting.size, numbers)
        return lobbies

    def read(
        self, view: QueueView
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
        """Return the planned actions, the observations and the masks of the approval.

        There is a choice when a founder has a planned lobby and no other party has joined it yet.
        """
        planned = self.act(view)
        observations = np.zeros((len(view), OF_LOBBY + OF_QUEUE), dtype=np.float32)
        masks = np.zeros((len(view), 2), dtype=np.bool_)
        masks[:, 0] = True
        masks[:, 1] = planned > 0
        runs = view.run.tolist()
        for row, run in enumerate(runs):
            notes = self.notes.get(run)
            if notes is None or view.party[row, 0] not in notes.party:
                continue
            founder = int(np.flatnonzero(notes.party == view.party[row, 0])[0])
            observations[row] = notes.numbers[founder]
            if view.lobby_size[row] > notes.size[founder] and planned[row] > 0:
                masks[row, 0] = False
        self.notes = {run: self.notes[run] for run in runs if run in self.notes}
        return planned, observations, masks


def numbers_of_lobby(
    waiting: WaitingParties,
    lobby: NDArray[np.int64],
    quality: float,
    prices: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return quality, waits, distances from the middle and doubts of a lobby, each about 1."""
    population = waiting.settings.population
    size = waiting.size[lobby]
    share = size / size.sum()
    mean = waiting.mu[lobby] / size
    distance = np.abs(mean - population.mean) / population.deviation
    doubt = waiting.sigma[lobby] / np.sqrt(size) / population.deviation
    wait = np.log1p(waiting.waited[lobby])
    return np.array(
        [
            1.0,
            4.0 * quality - 2.0,
            4.0 * (quality - share @ prices[lobby]),
            wait.max() - 0.5,
            share @ wait - 0.5,
            size @ waiting.waited[lobby] / 10.0,
            share @ distance - 1.0,
            distance.max() - 1.0,
            2.0 * (share @ doubt) - 1.0,
            2.0 * doubt.max() - 1.0,
            lobby.size / waiting.settings.num_seats - 0.5,
        ]
    )


def numbers_of_queue(waiting: WaitingParties, qualities: list[float]) -> NDArray[np.float64]:
    """Return numbers of the whole queue and of the qualities of all proposals, each about 1."""
    settings = waiting.settings
    players = waiting.size.sum()
    mean_quality = 0.0
    if qualities:
        mean_quality = float(np.mean(qualities))
    return np.array(
        [
            np.log1p(players) - 2.0,
            np.log(waiting.playing / settings.game_length + 0.1),
            len(qualities) * settings.num_seats / max(players, 1),
            mean_quality,
            np.log1p(waiting.waited.mean()),
            waiting.size @ waiting.waited / 50.0,
        ]
    )


class Approvals(VecEnvWrapper):
    """Queues whose action 1 follows the planner's proposal, and 0 dissolves the lobby.

    Where nothing is planned, or parties have joined, only one of the actions is allowed.

    Args:
        queues: environments with the same options.
        proposals: the planner.
    """

    venv: MatchmakingVecEnv

    def __init__(self, queues: MatchmakingVecEnv, proposals: Proposals) -> None:
        space = spaces.Box(-np.inf, np.inf, (OF_LOBBY + OF_QUEUE,), np.float32)
        super().__init__(queues, space, spaces.Discrete(2))
        self.proposals = proposals
        self._planned = np.zeros(self.num_envs, dtype=np.int64)
        self._masks = np.zeros((self.num_envs, 2), dtype=np.bool_)

    def _observe(self) -> NDArray[np.float32]:
        view = self.venv.natives[0].episodes.view()
        self._planned, observations, self._masks = self.proposals.read(view)
        return observations

    def reset(self) -> NDArray[np.float32]:
        """Start the runs."""
        self.venv.reset()
        return self._observe()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions of the queues."""
        self.venv.step_async(np.where(actions == 1, self._planned, 0))

    def step_wait(self) -> Any:
        """Carry out the actions; the end of a run counts as an end."""
        _, rewards, ends, infos = self.venv.step_wait()
        for info in infos:
            info.pop("TimeLimit.truncated", None)
        return self._observe(), rewards, ends, infos

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the environments have an attribute."""
        return attr_name == "action_masks" or super().has_attr(attr_name)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Return the values of a method for each environment."""
        if method_name == "action_masks":
            return [self._masks[row] for row in self._get_indices(indices)]
        return self.venv.env_method(method_name, *method_args, indices=indices, **method_kwargs)


class Approver:
    """Policy that carries out the approved proposals.

    Args:
        file: model that ``main`` saved.
        reservation: of the proposals, as in its training.
    """

    def __init__(self, file: str, reservation: float = 0.2) -> None:
        self.model = MaskablePPO.load(file, device="cpu")
        self.proposals = Proposals(reservation)

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Choose for each queue; see ``QueuePolicy.act``."""
        planned, observations, masks = self.proposals.read(view)
        approved, _ = self.model.predict(observations, action_masks=masks, deterministic=True)
        return np.where(approved == 1, planned, 0)


def main() -> None:
    """Train an agent and save it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side-size", type=int, default=2)
    parser.add_argument("--party-sizes", type=float, nargs="+", default=[0.7, 0.3])
    parser.add_argument("--arrival-rate", type=float, default=1.0)
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reservation", type=float, default=0.2)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    problem: dict[str, Any] = {
        "side_size": options.side_size,
        "party_sizes": tuple(options.party_sizes),
        "arrival_rate": options.arrival_rate,
    }
    usual = usual_quality(QueueSettings(**problem))
    queues = MatchmakingVecEnv(
        32, environment="MatchmakingQueue-v0", usual_quality=usual, **problem
    )
    model = MaskablePPO(
        "MlpPolicy",
        Approvals(queues, Proposals(options.reservation)),
        n_steps=256,
        batch_size=2048,
        n_epochs=4,
        gamma=0.99,
        gae_lambda=0.95,
        learning_rate=lambda share_left: 1e-3 * share_left,
        seed=options.seed,
        device="cpu",
    )
    print(f"learning from {options.timesteps:,} choices")
    model.learn(options.timesteps)
    model.save(options.out)
    print(f"saved {options.out}")


if __name__ == "__main__":
    main()
