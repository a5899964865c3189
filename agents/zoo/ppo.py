"""``hyperparams`` of ppo for rl-baselines3-zoo."""

from matchenv.agents.zoo import zoo_hyperparameters

hyperparams = zoo_hyperparameters("ppo")
