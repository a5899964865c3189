"""``matchenv-bench-v1``: one score for a policy, over fixed families of problems."""
