"""Command line of the training: ``python train.py --algo ppo --seed 1 --out runs/first``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.agents.algorithms import ALGORITHMS
from matchenv.agents.config_file import parse_pairs
from matchenv.agents.run_config import RunConfig, configured
from matchenv.agents.run_folder import RunFolder, unused_folder


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        description="Train a policy on Matchmaking-v0 and compare it. See docs/training.md."
    )
    new = made.add_argument_group("a new run")
    new.add_argument("--algo", default="ppo", metavar="NAME",
                     help=f"out of {', '.join(ALGORITHMS)} (default: %(default)s)")  # fmt: skip
    new.add_argument("--num-envs", type=int, metavar="E", help="environments side by side")
    new.add_argument("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
    new.add_argument("--out", type=Path, metavar="DIR",
                     help="folder of the run (default: a new one in runs/)")  # fmt: skip
    new.add_argument("--config", type=Path, metavar="FILE",
                     help="YAML file of hyperparameters (default: the package's own)")  # fmt: skip
    new.add_argument("--hyperparams", nargs="+", default=[], metavar="KEY=VALUE",
                     help="single hyperparameters, such as learning_rate=lin_1e-3")  # fmt: skip
    new.add_argument("--start-from", metavar="NAME",
                     help="learned policy to start from: a name, a run or a file")  # fmt: skip
    new.add_argument("--env-kwargs", nargs="+", default=[], metavar="KEY=VALUE",
                     help="of the environment, such as rank=top prior=equal")  # fmt: skip
    new.add_argument("--evaluate-every", type=int, metavar="N", help="timesteps (default: 1/10)")
    new.add_argument("--evaluation-episodes", type=int, default=64, metavar="N",
                     help="of each evaluation (default: %(default)s)")  # fmt: skip
    new.add_argument("--checkpoint-every", type=int, metavar="N", help="timesteps (default: 1/20)")
    made.add_argument("--resume", type=Path, metavar="DIR",
                      help="go on with this run, as it was configured")  # fmt: skip
    made.add_argument("--timesteps", type=int, metavar="N",
                      help="games to train for in all (default: as in the file)")  # fmt: skip
    made.add_argument("--device", default="cpu",
                      help="of torch; auto: a GPU where there is one (default: cpu)")  # fmt: skip
    made.add_argument("--threads", type=int, default=1, metavar="T",
                      help="of torch (default: %(default)s)")  # fmt: skip
    made.add_argument("--comparison-episodes", type=int, default=200, metavar="N",
                      help="of the final comparison; 0: none (default: %(default)s)")  # fmt: skip
    made.add_argument("--workers", type=int, metavar="W",
                      help="processes of the comparison (default: all cores)")  # fmt: skip
    made.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    made = parser()
    options = made.parse_args(arguments)
    try:
        folder = _train(options)
        _compare(options, folder)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; go on with --resume and the folder of the run", file=sys.stderr)
        return 130
    return 0


def _train(options: argparse.Namespace) -> RunFolder:
    # torch takes seconds to import; --help and bad input need not wait for it.
    if options.resume is not None:
        from matchenv.agents import continue_training

        return continue_training(
            options.resume,
            timesteps=options.timesteps,
            device=options.device,
            threads=options.threads,
            quiet=options.quiet,
        )
    config = _config(options)
    from matchenv.agents import start_training

    out = options.out or unused_folder(config)
    return start_training(
        out, config, device=options.device, threads=options.threads, quiet=options.quiet
    )


def _config(options: argparse.Namespace) -> RunConfig:
    return configured(
        options.algo,
        timesteps=options.timesteps,
        num_envs=options.num_envs,
        seed=options.seed,
        config_file=options.config,
        hyperparameters=parse_pairs("hyperparams", options.hyperparams),
        env_kwargs=parse_pairs("env-kwargs", options.env_kwargs),
        evaluate_every=options.evaluate_every,
        evaluation_episodes=options.evaluation_episodes,
        checkpoint_every=options.checkpoint_every,
        start_from=options.start_from,
    )


def _compare(options: argparse.Namespace, folder: RunFolder) -> None:
    if options.comparison_episodes == 0:
        return
    from matchenv.benchmarks.compare import run_comparison

    comparison = run_comparison(
        [str(folder.path), "pe", "drawchance", "kg", "random", "oracle"],
        **folder.read_config().comparison(),
        episodes=options.comparison_episodes,
        workers=options.workers,
        out=folder.comparison,
        replace_out=True,  # of this run with fewer games
        quiet=options.quiet,
    )
    if not options.quiet:
        print(comparison.table())


if __name__ == "__main__":
    sys.exit(main())
