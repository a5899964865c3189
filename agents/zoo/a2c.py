"""``hyperparams`` of a2c for rl-baselines3-zoo."""

from matchenv.agents.zoo import zoo_hyperparameters

hyperparams = zoo_hyperparameters("a2c")
