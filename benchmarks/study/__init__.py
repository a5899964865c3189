"""Section 4 of Ryzhov, Tariq and Powell (2011) again: ``matchenv study``."""
