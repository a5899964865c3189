"""The commands replay, fit and smooth: their results as data, text and files."""
