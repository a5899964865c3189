"""Settings of the whole test suite."""

import os

from hypothesis import settings

# Windows are opened without a screen.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# A change must not fail for an example that another change would have met just as well; the
# search for new examples goes on wherever people run the tests.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
