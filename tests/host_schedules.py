"""The scheduler with the facts of this machine."""

from functools import partial

from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule import schedule as scheduling

schedule = partial(scheduling.schedule, target=host_facts)
schedule_long = partial(scheduling.schedule_long, target=host_facts)
schedule_recorded = partial(scheduling.schedule_recorded, target=host_facts)
passes_of = partial(scheduling.passes_of, target=host_facts)
