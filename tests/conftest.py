"""Settings of the whole test suite."""

import os
from pathlib import Path

from hypothesis import settings

# Windows are opened without a screen.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Tables of the tests are kept beside the build, not in the home of whoever runs them.
os.environ.setdefault("MATCHENV_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))

# A change must not fail for an example that another change would have met just as well; the
# search for new examples goes on wherever people run the tests.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
