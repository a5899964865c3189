"""The contract of bad input: a ``ValueError`` names it."""

from collections.abc import Callable
from typing import Any

import pytest


def refusals(
    *cases: tuple[Any, ...], call: Callable[..., Any] = lambda made: made(), file: str = ""
) -> Callable[..., None]:
    """Return a test with a parameter for each case.

    Args:
        *cases: arguments of ``call``, and a pattern of the message.
        call: the function that refuses them; without it each case holds a function to call.
        file: name of a file; the first argument is its content, and ``call`` gets its path.
    """

    @pytest.mark.parametrize("case", cases, ids=lambda case: str(case[-1]))
    def test(case: tuple[Any, ...], request: pytest.FixtureRequest) -> None:
        *arguments, message = case
        if file:
            content, path = arguments[0], request.getfixturevalue("tmp_path") / file
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            arguments[0] = path
        with pytest.raises(ValueError, match=message):
            call(*arguments)

    return test
