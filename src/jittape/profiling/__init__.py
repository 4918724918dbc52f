"""Profiles, and why programs are compiled again: ``jt.profile`` and ``jt.explain_recompiles``."""

from jittape.profiling.line_profile import LineProfile as LineProfile
from jittape.profiling.profile import Profile as Profile
from jittape.profiling.profile import profile as profile
from jittape.profiling.recompiles import Recompiles as Recompiles
from jittape.profiling.recompiles import explain_recompiles as explain_recompiles
