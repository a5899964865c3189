"""Behaviour cloning: a network of stable-baselines3 learns to choose as a teacher does.

The teacher sees each game under the belief that it reads, the student the same game under its
own. In some of the episodes the student's choices are played, and the teacher says what it would
have chosen. So the student also learns what to do after its own mistakes.

Source: Ross, Gordon, Bagnell (2011), "A reduction of imitation learning and structured
prediction to no-regret online learning", without the aggregation of all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as checked_dataclass
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.utils import set_random_seed

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.cells import check_cells
from matchenv.agents.cloning_progress import CloningProgress, cloning_progress
from matchenv.agents.config_file import CLOSED, Count, Positive, Share
from matchenv.agents.device import as_device
from matchenv.agents.policies import policy_named
from matchenv.agents.policy_file import SUFFIX, PolicyDescription, save_policy
from matchenv.agents.policy_network import new_policy
from matchenv.agents.policy_sources import files_of
from matchenv.belief import DEFAULT_BELIEF, TRUE_SKILL
from matchenv.evaluation.rollout import Batch, belief_of
from matchenv.evaluation.seeds import training_seed
from matchenv.runtime.checks import as_integer
from matchenv.runtime.provenance import digest_of, provenance
from matchenv.settings import Settings

# The network is of this algorithm's kind, so that it can go on from the clone.
ALGORITHM = "ppo"


@checked_dataclass(frozen=True, config=CLOSED)
class CloningConfig:
    """What to clone; ``agents/hyperparameters/cloning.yml`` explains each.

    Raises:
        ValueError: for a bad number or an unknown name.
    """

    teacher: str
    policy: str
    policy_kwargs: dict[str, Any]
    env_kwargs: dict[str, Any]
    cells: list[dict[str, Any]]
    rounds: Count
    episodes: Count
    student_share: Share
    epochs: Count
    batch_size: Count
    learning_rate: Positive

    def __post_init__(self) -> None:
        for settings in check_cells(self.cells, self.env_kwargs):
            self.new_teacher(settings, lambda: np.zeros(0))

    def new_student(self, seed: int, device: str = "cpu") -> ActorCriticPolicy:
        """The network with fresh weights, which depend on the seed alone."""
        set_random_seed(as_integer("seed", seed, 0))
        settings = check_cells(self.cells, self.env_kwargs)[0]
        algorithm = algorithm_by_name(ALGORITHM)
        network = new_policy(algorithm, self.policy, self.policy_kwargs, settings)
        assert isinstance(network, ActorCriticPolicy)
        return network.to(as_device(device))

    def new_teacher(self, settings: Settings, true_skill: Callable[[], Any]) -> Any:
        """The teacher for a cell; a baseline reads the factorised belief unless told another.

        Args:
            settings: of the cell.
            true_skill: gives the true skills at the time of a choice, for the oracle.
        """
        return policy_named(self.teacher, replace(settings, belief=DEFAULT_BELIEF), true_skill)

    def description(self) -> PolicyDescription:
        """What a policy file says of the student."""
        return PolicyDescription(ALGORITHM, self.policy, self.policy_kwargs, self.env_kwargs)


@dataclass(frozen=True)
class Lessons:
    """States and what the teacher chooses there.

    Attributes:
        observations: of the student's belief, shape (n, K).
        actions: the teacher's, shape (n,).
        agreement: share of the states in which the student chose the same.
    """

    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    agreement: float


@dataclass(frozen=True)
class Round:
    """How far the student is.

    Attributes:
        number: from 1.
        agreement: share of the choices that were the teacher's, in games it had not learnt from.
        loss: mean negative log-likelihood of the teacher's choices while it learnt.
    """

    number: int
    agreement: float
    loss: float


def clone(
    config: CloningConfig,
    seed: int,
    student: ActorCriticPolicy,
    progress: CloningProgress | None = None,
) -> Iterator[Round]:
    """Teach a network, one round after another.

    Args:
        config: whom to imitate, where and how long.
        seed: of the games and the order of learning, >= 0.
        student: the network; its weights change.
        progress: where the state is kept after each round, and taken up from; None keeps none.

    Raises:
        ValueError: for a state that is damaged or of another cloning.
    """
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    optimiser = torch.optim.Adam(student.parameters(), lr=config.learning_rate)
    before = 0 if progress is None else progress.restore(student, optimiser, rng)
    episodes = config.episodes * len(config.cells)
    for number in range(before + 1, config.rounds + 1):
        lessons = play_lessons(config, student, training_seed(seed) + (number - 1) * episodes)
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1.0 - (number - 1) / config.rounds)
        loss = float(np.mean([_learn(config, student, optimiser, lessons, rng)
                              for _ in range(config.epochs)]))  # fmt: skip
        student.set_training_mode(False)
        if progress is not None:
            progress.save(number, student, optimiser, rng)
        yield Round(number, lessons.agreement, loss)


def run_cloning(
    config: CloningConfig,
    out: Path,
    *,
    seed: int = 0,
    device: str = "cpu",
    threads: int = 1,
    report: Callable[[Round], None] = lambda done: None,
) -> None:
    """Teach a new network, and write its weights after each round.

    One that was stopped goes on from its last round, to the same weights.

    Args:
        config: whom to imitate, where and how long.
        out: file of the weights; its folder is made.
        seed: of the network, the games and the order of learning, >= 0.
        device: where torch computes.
        threads: of torch on the processor; the weights depend on it in their last digits.
        report: called after each round.

    Raises:
        ValueError: for a bad argument, before anything is played; for an ``out`` at which a
            cloning with other settings was stopped, or another process works.
        OSError: if the weights cannot be written.
    """
    if out.suffix != SUFFIX:
        raise ValueError(f"out must end in {SUFFIX}, got {out}")
    torch.set_num_threads(as_integer("threads", threads, 1))
    student = config.new_student(seed, device)
    teacher = digest_of(files_of(config.teacher))
    settings = {**asdict(config), "seed": seed, "content of the teacher": teacher, **provenance()}
    with cloning_progress(out, settings) as progress:
        for done in clone(config, seed, student, progress):
            save_policy(out, student, config.description())
            report(done)
        # A stop may have come between the last round and its weights.
        save_policy(out, student, config.description())
        progress.remove()


def play_lessons(config: CloningConfig, student: Any, first_seed: int) -> Lessons:
    """Whole episodes of every cell, with the teacher's choice in every state.

    Args:
        config: of the cloning.
        student: chooses in its share of the episodes.
        first_seed: of the first episode; the others follow.
    """
    cells = [
        _Cell(config, cell, [first_seed + number * config.episodes + i
                             for i in range(config.episodes)])
        for number, cell in enumerate(config.cells)
    ]  # fmt: skip
    observations, actions, same = [], [], []
    for _ in range(cells[0].horizon):
        seen = np.concatenate([cell.student_sees for cell in cells])
        wanted = np.concatenate([cell.teachers_choice() for cell in cells])
        chosen, _ = student.predict(seen, deterministic=True)
        observations.append(seen.copy())
        actions.append(wanted)
        same.append(chosen == wanted)
        for cell, theirs, own in zip(
            cells, np.split(wanted, len(cells)), np.split(chosen, len(cells)), strict=True
        ):
            cell.play(theirs, own)
    return Lessons(np.concatenate(observations), np.concatenate(actions), float(np.mean(same)))


class _Cell:
    """The episodes of one cell, under the teacher's belief and under the student's."""

    def __init__(self, config: CloningConfig, cell: dict[str, Any], seeds: list[int]) -> None:
        settings = Settings.checked(**{**config.env_kwargs, **cell})
        self.horizon = settings.horizon
        self._teacher = config.new_teacher(
            settings, lambda: self._teachers.state.players[:, :, TRUE_SKILL]
        )
        beliefs = (belief_of(self._teacher), settings.belief)
        self._games = [Batch(replace(settings, belief=belief), seeds) for belief in beliefs]
        self._teachers, self._students = self._games
        self._students_turn = np.arange(len(seeds)) < round(config.student_share * len(seeds))

    @property
    def student_sees(self) -> NDArray[np.float32]:
        return self._students.state.shown

    def teachers_choice(self) -> NDArray[np.int64]:
        chosen, _ = self._teacher.predict(self._teachers.state.shown)
        return np.asarray(chosen, dtype=np.int64)

    def play(self, teachers: NDArray[np.int64], students: NDArray[np.int64]) -> None:
        played = np.where(self._students_turn, students, teachers)
        for batch in self._games:
            batch.step(played)


def _learn(
    config: CloningConfig,
    student: ActorCriticPolicy,
    optimiser: torch.optim.Optimizer,
    lessons: Lessons,
    rng: np.random.Generator,
) -> float:
    student.set_training_mode(True)
    order = rng.permutation(len(lessons.actions))
    total = 0.0
    for first in range(0, len(order), config.batch_size):
        rows = order[first : first + config.batch_size]
        _, likelihoods, _ = student.evaluate_actions(
            torch.from_numpy(lessons.observations[rows]).to(student.device),
            torch.from_numpy(lessons.actions[rows]).to(student.device),
        )
        loss = -likelihoods.mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += float(loss.detach()) * len(rows)
    return total / len(order)
