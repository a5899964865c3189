"""Learned policies: training with stable-baselines3, saving and loading."""
