"""The contract of bad input: a ``ValueError`` names it."""

from collections.abc import Callable
from typing import Any

import pytest


def refusals(
    *cases: tuple[Any, ...], call: Callable[..., Any] = lambda made: made()
) -> Callable[..., None]:
    """Return a test with a parameter for each case.

    Args:
        *cases: arguments of ``call``, and a pattern of the message.
        call: the function that refuses them; without it each case holds a function to call.
    """

    @pytest.mark.parametrize("case", cases, ids=lambda case: str(case[-1]))
    def test(case: tuple[Any, ...]) -> None:
        *arguments, message = case
        with pytest.raises(ValueError, match=message):
            call(*arguments)

    return test
