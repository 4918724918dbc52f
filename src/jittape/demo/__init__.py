"""The demo, ``python -m jittape demo``; it requires the extra ``demo``. The program is in `digits`."""
