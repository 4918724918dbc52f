"""Reports of what was recorded and compiled, and why: `jt.explain` and `jt.stats`."""

from jittape.inspect.explain import Explanation as Explanation
from jittape.inspect.explain import explain as explain
from jittape.inspect.stats import Stats as Stats
from jittape.inspect.stats import reset_stats as reset_stats
from jittape.inspect.stats import stats as stats
from jittape.recording.new_programs import NewProgram as NewProgram
