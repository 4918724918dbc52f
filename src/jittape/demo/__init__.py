"""The demos, ``python -m jittape demo``; they require the extra ``demo``. The program of the digits is in `digits`."""
