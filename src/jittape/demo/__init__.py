"""What ``python -m jittape demo`` runs; needs the extra ``demo``. Read `digits` first: it is the program."""
