"""``hyperparams`` of maskable_ppo for rl-baselines3-zoo."""

from matchenv.agents.zoo import zoo_hyperparameters

hyperparams = zoo_hyperparameters("maskable_ppo")
