"""Bad input of a training: one line names the error, before any file is made."""

import re
import shlex

import numpy as np
import pytest
from refusals import refusals

from matchenv import NormalPrior, agents
from matchenv.agents.run_config import ALGORITHMS
from matchenv.envs.one_player.priors import DrawnPrior
from matchenv.evaluation.registry import QUEUE, RANKING

IN_QUEUE = {"environment": QUEUE}
IMITATE_KG = "--imitate kg --comparison-episodes 0"


test_bad_configurations_are_refused = refusals(
    ({"algo": "sac"}, f"algo must be one of {str([*ALGORITHMS])[1:-1]}, got 'sac'"),
    ({"algo": ["ppo"]}, "algo must be one of"),
    ({"timesteps": 0}, "n_timesteps"),
    ({"num_envs": 2**21}, "n_envs"),
    ({"seed": -1}, "seed"),
    ({"evaluation_episodes": 1}, "evaluation_episodes must be greater than or equal to 2"),
    ({"evaluation_episodes": 10**30}, "evaluation_episodes"),
    ({"checkpoint_every": 0}, "checkpoint_every"),
    ({"env_kwargs": {"opponents": 3}}, "num_opponents"),
    ({"env_kwargs": {"rank": []}}, "rank must list at least one value"),
    ({"env_kwargs": {"rank": [["top"]]}}, "names and numbers"),
    ({"env_kwargs": {"horizon": [3, 4]}}, "horizon must be the same"),
    (
        {"env_kwargs": {"prior": DrawnPrior.of(NormalPrior(), np.random.default_rng(1), 50)}},
        "prior must be a name, module:Class:key=value, or a",
    ),
    (
        {"algo": "dqn", "env_kwargs": {"availability": 0.5}},
        "algo must be one of a2c, imitation, ppo, trpo, .*got dqn with SharedPolicy",
    ),
    ({**IN_QUEUE, "env_kwargs": {"rank": "top"}}, "env_kwargs must be among"),
    ({**IN_QUEUE, "env_kwargs": {"capacity": [4, 6]}}, "capacity must be the same"),
    ({"environment": "CartPole-v1"}, "environment must be one of"),
    call=lambda changes: agents.configured(**changes),
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--imitate gittins --belief factorised", "choose --belief full"),
        ("--imitate nobody", "policy must be one of"),
        ("--imitate oracle", "must know the true skills"),
        ("--imitate kg --algo ppo", "algo must be left out where imitate is given"),
        ("--seeds 0 0", "different numbers"),
        ("--seeds 0 --resume runs/none", "leave out its other options, got --seeds"),
        ("--comparison-episodes 1", "comparison_episodes must be an integer of at least 2"),
        ("--env-kwargs 'draw_margin=[0, 1]'", "must be 0 where draw_margin is a list"),
        (f"{IMITATE_KG} --env-kwargs 'draw_margin=[0, 1]'", "not be a list where 'kg' teaches"),
        ("--engine cloud", "engine must be local, ray"),
        ("--device abacus", "device must be auto, cpu, cuda or cuda:N, got 'abacus'"),
        ("--num-envs 1 --hyperparams n_steps=1", "hyperparameters must fit ppo"),
        ("--threads 5000", r"threads must be an integer in \[1, 1024\]"),
        ("--seeds 4294967296", "seed must be less than or equal to 4294967295"),
        (f"--env {QUEUE} --rank top", "these options need --env Matchmaking-v0, got --rank"),
        (f"--env {QUEUE} --hyperparams policy=MlpPolicy", "got ppo with MlpPolicy"),
        (f"--env {RANKING} --imitate oracle", "'oracle' does not"),
        ("--tune 2 --space gamma=[0.9] --space-file a", "space must be left out where space_file"),
        ("--tune 1 --space gama=[0.9]", "space must be one of .*got 'gama'"),
        ("--tune 1 --space 'learning_rate=[0.1, 1.0e30]'", "a rate must be a number"),
        ("--tune 1 --space gamma=[]", "bad entry for gamma"),
        ("--tune 1 --space gamma=0.9", "bad entry for gamma"),
        ("--tune 1 --space 'gamma={low: 0.9, high: 0.5}'", "bad entry for gamma"),
        ("--tune 1 --space 'gamma={low: 0.0, high: 0.5, log: true}'", "bad entry for gamma"),
        ("--tune 1 --space 'gamma={low: 0.0}'", "bad entry for gamma"),
        ("--hyperparams gama=0.9", "entries .*gamma.*got 'gama'"),
        ("--hyperparams 'policy_kwargs={net_arch: wide}'", "net_arch"),
        (
            "--hyperparams 'policy_kwargs={net_arch: [0]}'",
            "net_arch.* must be greater",
        ),
        ("--hyperparams learning_rate=lin_fast", "rate must be"),
        ("--hyperparams learning_rate=null", "a rate must be a number"),
        ("--hyperparams gamma=1.5", "gamma must be less than or equal to 1, got 1.5"),
        ("--hyperparams gamma=.nan", "gamma must be a finite number"),
        ("--hyperparams n_steps=1e30", "n_steps must be less than or equal to"),
        ("--hyperparams normalize_advantage=1", "normalize_advantage must be a valid boolean"),
        ("--hyperparams use_sde=true", "use_sde must be False"),
        ("--hyperparams max_grad_norm=0", "max_grad_norm must be greater than 0"),
        ("--algo dqn --hyperparams 'train_freq=[4, step]'", "train_freq must be a valid integer"),
        ("--hyperparams 'gamma=&a [*a]'", "aliases .* are not allowed"),
        ("--hyperparams gamma=2001-99-99", "must be YAML"),
        (f"--hyperparams gamma={'[' * 5000}", "must be YAML.*recursion"),
    ],
)
def test_bad_commands_leave_nothing_behind(tmp_path, typed, words, message):
    status, _, error = typed(["train", *shlex.split(words)])
    assert (status, error.count("\n")) == (2, 1)
    assert re.search(f"^error: .*{message}", error)
    assert list(tmp_path.iterdir()) == []
