"""Watch policies side by side, in the same instance and with the same random numbers.

``stage`` plays and draws them, ``showing`` shows them in a window or writes a file. They need the
extra ``render``.
"""
