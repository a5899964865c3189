"""Import and compile what most blocks need, in the process that all blocks are forks of.

The package itself is unloaded, so that no environment is registered until a block imports it.
"""

import contextlib
import importlib
import sys

for package in ("numba", "gymnasium", "torch", "stable_baselines3"):
    with contextlib.suppress(ImportError):
        importlib.import_module(package)
importlib.import_module("matchenv.baselines.warm_up").warm_up(lambda text: None)
registry = importlib.import_module("gymnasium").registry
for name in [name for name in registry if name.startswith("Matchmaking")]:
    del registry[name]
# It registers the environments when it is imported again.
del sys.modules["matchenv.environments"]
del sys.modules["matchenv"]
