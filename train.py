"""The same as ``matchenv train``: ``python train.py --algo ppo --seed 1 --out runs/first``."""

import sys

from matchenv.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
