"""Values that hyperparameters may have, checked before a training begins.

The libraries would stop at a bad one in the middle of the training.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from matchenv.runtime.checks import as_integer, as_non_negative_number, as_number

# Beyond it no buffer fits into a memory.
MOST = 100_000_000


def check_value(name: str, value: Any) -> None:
    """See that a hyperparameter has a value that its algorithm can work with.

    Args:
        name: of the hyperparameter; one that is not known here may have any value.
        value: plain data.

    Raises:
        ValueError: if not; it names the hyperparameter, the value and what is allowed.
    """
    if value is None and name in MAY_BE_NONE:
        return
    if name in CHECKS:
        CHECKS[name](name, value)


def _share(name: str, value: Any) -> None:
    if not 0.0 <= as_number(name, value) <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value!r}")


def _positive(name: str, value: Any) -> None:
    if not as_number(name, value) > 0.0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def _switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")


def _discrete(name: str, value: Any) -> None:
    if value is not False:
        raise ValueError(f"{name} must be false: an opponent is a discrete choice; got {value!r}")


_count = partial(as_integer, low=1, high=MOST)

MAY_BE_NONE = ("batch_size", "n_top", "target_kl", "clip_range_vf", "max_grad_norm")

CHECKS: dict[str, Callable[[str, Any], object]] = {
    **dict.fromkeys(
        ("n_steps", "batch_size", "n_epochs", "buffer_size", "target_update_interval", "n_delta",
         "n_top", "n_eval_episodes", "train_freq", "stats_window_size", "cg_max_steps",
         "line_search_max_iter", "n_critic_updates", "sub_sampling_factor"),
        _count,
    ),
    "learning_starts": partial(as_integer, low=0, high=MOST),
    # -1: as many as games since the last ones.
    "gradient_steps": partial(as_integer, low=-1, high=MOST),
    "sde_sample_freq": partial(as_integer, low=-1, high=MOST),
    **dict.fromkeys(
        ("gamma", "gae_lambda", "tau", "exploration_fraction", "exploration_initial_eps",
         "exploration_final_eps", "line_search_shrinking_factor"),
        _share,
    ),
    **dict.fromkeys(("ent_coef", "vf_coef", "cg_damping"), as_non_negative_number),
    **dict.fromkeys(("max_grad_norm", "rms_prop_eps", "target_kl"), _positive),
    **dict.fromkeys(
        ("normalize_advantage", "use_rms_prop", "zero_policy", "optimize_memory_usage"), _switch
    ),
    "use_sde": _discrete,
    "alive_bonus_offset": as_number,
}  # fmt: skip
