"""Evaluation of policies: registry, seeds, rollouts, tables of episodes, estimates and verdicts."""
