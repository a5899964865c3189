"""The environments: each a simulator and a page, over loops that are written once."""
