"""Watch policies side by side, on the same instance and the same noise.

``stage`` plays them, ``picture`` draws them, ``live`` shows them in a window and ``film`` writes a
file. They need the extra ``render``.
"""
