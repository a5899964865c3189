"""Policies of ``MatchmakingQueue-v0`` against each other, their tuning and the front."""

from matchenv.benchmarks.queue.comparison import run_queue_comparison
from matchenv.benchmarks.queue.report import QueueComparison
from matchenv.benchmarks.queue.tuning import QueueTuning, run_queue_tuning

__all__ = ["QueueComparison", "QueueTuning", "run_queue_comparison", "run_queue_tuning"]
