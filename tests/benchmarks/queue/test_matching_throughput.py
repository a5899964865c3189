"""What the section about matching measures; never how fast anything is."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv.benchmarks.throughput import matching
from matchenv.envs.queue.view import NOBODY


def test_the_queues_that_are_timed_are_queues() -> None:
    queue = matching.many_waiting(300, 1)
    assert queue.mu.shape == queue.sigma.shape == queue.waited.shape == (300,)
    assert (np.diff(queue.waited) <= 0).all()
    assert (queue.sigma > 0.0).all()
    assert (queue.candidates == NOBODY).all()


def test_sizes_and_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("MANY", 260), ("SOME", 20), ("COMPARED", 220)):
        monkeypatch.setattr(matching, name, count)
    found = list(matching.measure(2))
    assert [each.target for each in found] == [1.0, 1.0, None, None, 1.0]
    assert all(len(each.values) == 2 for each in found)
    # A matching of neighbours loses at most the whole of it, and never gains.
    assert all(-1e-9 <= value < 100.0 for value in found[-1].values)
