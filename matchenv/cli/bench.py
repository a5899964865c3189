"""Score a policy on matchenv-bench-v1: 32 families of problems with fixed seeds.

Several policies are the runs of one method, one for each training seed. See
docs/bench.md.

Example:
    matchenv bench --policy kg --out results/bench-kg
"""

from __future__ import annotations

from matchenv.cli.options import add_policies, add_results, run_options
from matchenv.cli.output import print_result
from matchenv.cli.parser import Arguments, Collect, Parser
from matchenv.evaluation.registry import expanded


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    policies = parser.add_argument_group("policies")
    add_policies(policies)
    policies.add_argument("--method", help="name in tables (default: the first policy's)")
    policies.add_argument(
        "--only",
        action=Collect,
        help="names of families; a result of some families is not an entry",
    )
    add_results(parser)


def run(arguments: Arguments) -> None:
    """Score policies."""
    from matchenv.benchmarks.bench.benchmark import run_bench

    result = run_bench(
        expanded(arguments.policy),
        method=arguments.method,
        only=arguments.only,
        run=run_options(arguments),
    )
    print_result(result.text, arguments.quiet)
