"""Replay, fit and smooth: what their commands do with a log, as data, text and files."""
