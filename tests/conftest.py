"""Settings of the whole test suite."""

import os
from pathlib import Path

from hypothesis import settings

from matchenv.runtime.compile import _Notice

# Windows are opened without a screen.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Tables of the tests are kept beside the build, not in the home of whoever runs them.
os.environ.setdefault("MATCHENV_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))

# A change must not fail for an example that another change would have met just as well; the
# search for new examples goes on wherever people run the tests.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# What a test reads from a command must not depend on who was the first to compile a function.
_Notice.due = False
