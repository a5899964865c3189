"""Watch policies side by side, in the same instance and with the same random numbers.

``stage`` plays and draws them, ``live`` shows them in a window and ``film`` writes a file. They
need the extra ``render``.
"""
