"""The papers' match-making policies and reference policies."""
