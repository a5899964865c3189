"""Commands that compare, repeat the papers' studies, replay match logs and time the code."""
