"""Seeds of environments, so that no game of a training is one it is judged by.

Three ranges that do not meet: below 2^64 are the seeds that people type and that comparisons
use; from 2^64 those of training environments; from 2^65 those of the evaluations during a
training. Environment i of a run has the run's first seed of the range, plus i.
"""

from __future__ import annotations

import numpy as np

TRAINING = 2**64
EVALUATION = 2**65

# Room for this many environments behind every start.
ENVIRONMENTS = 2**20


def training_seed(seed: int) -> int:
    """The seed of the first training environment of a run.

    Args:
        seed: the run's seed, >= 0.
    """
    return TRAINING + _block(seed)


def evaluation_seed(seed: int) -> int:
    """The seed of the first held-out environment of a run, the same for all its evaluations.

    Args:
        seed: the run's seed, >= 0.
    """
    return EVALUATION + _block(seed)


def _block(seed: int) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) * ENVIRONMENTS
