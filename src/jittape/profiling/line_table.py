"""`LineTable`: the measurements of a profile by line of the user's source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jittape.core.forms import runs_of
from jittape.core.program import Program, SourceLine, bodies_of
from jittape.profiling.flush_clock import ThreadTimes
from jittape.profiling.line_samples import LineSamples, Sampled
from jittape.profiling.measurement import Measurement
from jittape.profiling.op_costs import (
    OpShare,
    Role,
    is_of_gradient,
    role_of,
    roles_of,
    runs_by_body,
    shares_of,
    stored_slots,
    with_aliased,
)
from jittape.profiling.remarks import LineFacts, layer_of
from jittape.recording.new_programs import new_program_at
from jittape.runtime.clocked_executable import ClockedExecutable

__all__ = ["LineCost", "LineTable", "Totals"]

_COPIED = "identity"
"""Name of the op by which a body reads its carries. It has the line of the loop, which does not run again."""


@dataclass
class LineCost:
    """Costs of a line of the user's source. Times are in ns, over the whole profile.

    Attributes
    ----------
    runs : int
        Number of times that compiled code or the interpreter ran the line; 0 for a line that records nothing.
    forward, backward, update : float
        Time in kernels and NumPy steps of the line's ops, of their gradients, and of updates with gradients.
    python, recording : float
        Time of the user's code, and of jittape's, while the line ran, outside of flushes.
    compile : float
        Time in which the line waited for the compiler.
    nbytes : int
        Bytes that the kernels read and wrote for the line.
    operations : int
        Arithmetic operations on elements.
    kept : int
        Bytes of the line's results that one run keeps for a backward pass.
    facts : LineFacts
        What the remarks say.
    """

    line: SourceLine
    runs: int = 0
    forward: float = 0.0
    backward: float = 0.0
    update: float = 0.0
    python: float = 0.0
    recording: float = 0.0
    compile: float = 0.0
    nbytes: float = 0.0
    operations: int = 0
    kept: int = 0
    facts: LineFacts = field(default_factory=LineFacts)

    @property
    def kernels(self) -> float:
        """Time in kernels and NumPy steps, in ns."""
        return self.forward + self.backward + self.update

    @property
    def total(self) -> float:
        """All times, in ns."""
        return self.kernels + self.python + self.recording + self.compile


@dataclass
class Totals:
    """Time of a profile by kind of work, in ns; the parts add up to `wall`.

    Attributes
    ----------
    wall : float
        Time of the threads that ran anything: that of the ``with`` block for each of them.
    """

    wall: float = 0.0
    python: float = 0.0
    recording: float = 0.0
    flush: float = 0.0
    kernels: float = 0.0
    products: float = 0.0
    numpy: float = 0.0
    interpreted: float = 0.0
    compile: float = 0.0
    threads: int = 1


class LineTable:
    """The lines and the totals of a profile.

    Attributes
    ----------
    lines : dict of SourceLine to LineCost
    totals : Totals
    """

    def __init__(self, measured: Measurement, samples: LineSamples) -> None:
        self.lines: dict[SourceLine, LineCost] = {}
        self.totals = Totals()
        self.kernel_names: dict[int, str] = {}
        in_paths = sum([self._add_executable(one) for one in measured.path_runs.executables])
        in_functions = sum([self._add_executable(one) for one in measured.function_runs.executables])
        self._add_numpy(measured)
        for compilation in measured.compilations:
            if compilation.line is not None:
                cost = self._of(compilation.line)
                cost.compile += compilation.ns
                cost.facts.compilations.append(compilation)
        for line, count in measured.flushes.looks.items():
            self._of(line).facts.looks += count
        for line, (count, nbytes) in measured.copies.items():
            self._of(line).facts.copied_operands = (count, nbytes)
        for node in measured.new_nodes:
            place = new_program_at(node, derived=True)
            if place is not None and place.line is not None:
                facts = self._of(place.line).facts
                facts.new_programs, facts.change = facts.new_programs + 1, place.change
        for line, why in measured.traces:
            facts = self._of(line).facts
            facts.traces, facts.trace_reason = facts.traces + 1, why
        self._add_up(measured, samples, in_paths, in_functions)
        self._divide_rest(samples.lines_of(self._threads), in_functions)

    def _of(self, line: SourceLine) -> LineCost:
        line = SourceLine(*line)
        found = self.lines.get(line)
        if found is None:
            found = self.lines[line] = LineCost(line)
        return found

    # ---- kernels -----------------------------------------------------------------------------------------------------

    def _add_executable(self, one: ClockedExecutable) -> float:
        """Add the kernels of an executable to the lines; return their time."""
        times = one.times()
        runs = max([count for _, count in times], default=0)
        if not runs:
            return 0.0
        found = one.explained
        program = found.program
        roles = roles_of(program)
        whole = len(found.steps) == len(one.schedule.steps)
        body_runs = one.body_runs()
        trips = iter([count / runs for count in body_runs])
        stored = stored_slots(program, found.steps)
        shares_by_group: list[list[OpShare]] = []
        for group, (total, count) in zip(one.groups, times, strict=True):
            steps = found.steps[group.first : group.first + group.n_steps] if whole else ()
            shares = shares_of(program, steps, roles, stored, trips)
            shares_by_group.append(shares)
            self._add_group(shares, total, count, group.record)
        self._add_structure(program, shares_by_group, roles, runs)
        runs_of_body: dict[int, list[int]] = {}
        for body, body_count in runs_by_body(found.steps if whole else (), iter(body_runs)):
            runs_of_body.setdefault(body, []).append(body_count)
        self._add_runs(one.recorded, runs, runs_of_body)
        return float(sum([total for total, _ in times]))

    def _add_group(self, shares: list[OpShare], total: int, count: int, record: int) -> None:
        weights = sum([share.weight * share.trips for share in shares]) or 1.0
        lines = dict.fromkeys([s.op.source for s in shares if s.op.source is not None])
        names = dict.fromkeys([s.op.primitive.name for s in shares])
        where = ", ".join([f"line {line.line}" for line in lines])
        self.kernel_names[record] = f"{', '.join(names)} ({where})" if where else ", ".join(names) or "kernel"
        products = 0.0
        lines_of: dict[tuple[int, ...], set[SourceLine]] = {}
        for share in shares:
            if share.op.source is None:
                continue
            cost = self._of(share.op.source)
            part = total * share.weight * share.trips / weights
            if share.is_product:
                products += part
            setattr(cost, share.role, getattr(cost, share.role) + part)
            cost.facts.parts[f"{share.role} `{share.op.primitive.name}`"] += round(part)
            cost.facts.layers[layer_of(share.op, share.role)] += round(part)
            cost.nbytes += share.nbytes * share.trips * count
            cost.operations += round(share.operations * share.trips * count)
            if not share.is_product:
                lines_of.setdefault(share.step, set()).add(cost.line)
        self.totals.products += products
        self.totals.kernels += total - products
        for fused in lines_of.values():
            for at in fused:
                self._of(at).facts.fused.update(fused - {at})

    def _add_structure(
        self, program: Program, groups: Sequence[list[OpShare]], roles: dict[int, str], runs: int
    ) -> None:
        """Find kept values, recomputed values and copies."""
        made: dict[int, int] = {}
        for number, shares in enumerate(groups):
            # A set: an unrolled loop has thousands of ops on few lines.
            backward = {SourceLine(*s.op.source) for s in shares if s.role == "backward" and s.op.source}
            for share in shares:
                line = share.op.source
                if line is None or share.program is not program:
                    continue
                if share.op.out in made and share.role == "forward":
                    self._of(line).facts.recomputed.update(backward)
                made.setdefault(share.op.out, number)
        readers = _backward_readers(program, roles)
        for number, shares in enumerate(groups):
            for share in shares:
                line = share.op.source
                if line is None or not share.stored or share.program is not program:
                    continue
                nbytes = program.avals[share.op.out].nbytes
                if share.role == "forward" and share.op.out in readers and made[share.op.out] == number:
                    self._of(line).kept += nbytes
                self._of(line).facts.note_stored(share.op, share.program, share.role, runs)

    def _add_runs(self, recorded: Program, runs: int, runs_of_body: Mapping[int, Sequence[int]]) -> None:
        """Count the runs of the lines of a program; an unrolled loop runs a line several times.

        `runs_of_body` are the runs of each body, for each loop or branch that has it.
        """
        by_line: dict[SourceLine, Counter[str]] = {}
        ops_of: Counter[SourceLine] = Counter()
        controls = runs_of(recorded.ops)
        for op in recorded.ops:
            if op.source is None:
                continue
            line = SourceLine(*op.source)
            ops_of[line] += 1
            first_result = op is controls.get(op.out, (op,))[0]
            if first_result and not is_of_gradient(op) and op.primitive.name != _COPIED:
                by_line.setdefault(line, Counter())[op.primitive.name] += 1
                if op.out in controls:
                    for body in bodies_of(op):
                        known = runs_of_body.get(id(body))
                        if known is not None:
                            self._add_runs(body.program, round(sum(known) / len(known)), runs_of_body)
        for line, names in by_line.items():
            self._of(line).runs += runs * min(names.values())
        for line, count in ops_of.items():
            facts = self._of(line).facts
            facts.recorded_ops = max(facts.recorded_ops, count)
        for op in recorded.ops:
            if op.source is not None:
                self._of(op.source).facts.note_op(op, recorded)

    # ---- NumPy -------------------------------------------------------------------------------------------------------

    def _add_numpy(self, measured: Measurement) -> None:
        interpreted: dict[tuple[int, SourceLine], Counter[str]] = {}
        roles_in: dict[int, dict[int, Role]] = {}
        for known in measured.numpy.values():
            if known.compiled:
                self.totals.numpy += known.ns
            else:
                self.totals.interpreted += known.ns
            line = known.op.source
            if line is None:
                continue
            cost = self._of(line)
            program = known.program
            if id(program) not in roles_in:
                roles_in[id(program)] = roles_of(program)
            role = role_of(known.op, roles_in[id(program)])
            setattr(cost, role, getattr(cost, role) + known.ns)
            if known.compiled:
                cost.facts.numpy_ops.add(known.op.primitive.name)
            elif role == "forward" and not known.in_gradient and known.op.primitive.name != _COPIED:
                counts = interpreted.setdefault((id(program), SourceLine(*line)), Counter())
                counts[known.op.primitive.name] += known.count
        for (_, at), counts in interpreted.items():
            self._of(at).runs += min(counts.values())

    # ---- totals ------------------------------------------------------------------------------------------------------

    def _add_up(
        self, measured: Measurement, samples: LineSamples, in_paths: float, in_functions: float
    ) -> None:
        totals = self.totals
        threads = [one for one in measured.flushes.threads if one.flush or one.compile or one.numpy]
        flush = max(in_paths, sum([one.flush for one in threads]))
        spans = _spans(measured, threads, samples)
        self._threads = {thread for thread, *_ in spans}
        totals.threads = len(spans)
        totals.compile = float(sum([one.compile for one in threads]))
        numpy = sum([one.numpy for one in threads])
        totals.flush = flush - in_paths
        parts = flush + in_functions + totals.compile + numpy
        totals.wall = max(parts, float(sum([last - first for _, first, last in spans])))
        self._rest = totals.wall - parts

    def _divide_rest(self, samples: dict[SourceLine, Sampled], in_functions: float) -> None:
        """Divide the time that nothing else explains among the sampled lines."""
        calls = sum([found.calls for found in samples.values()])
        overhead = max(0.0, calls - in_functions) / calls if calls else 0.0
        parts: dict[SourceLine, tuple[float, float]] = {}
        for line, found in samples.items():
            parts[line] = float(found.python), found.recording + found.calls * overhead
        sampled = sum([python + recording for python, recording in parts.values()])
        scale = self._rest / sampled if sampled else 0.0
        for line, (python, recording) in parts.items():
            cost = self._of(line)
            cost.python += python * scale
            cost.recording += recording * scale
        self.totals.recording = sum([cost.recording for cost in self.lines.values()])
        self.totals.python = max(0.0, self._rest - self.totals.recording)


def _spans(
    measured: Measurement, threads: Sequence[ThreadTimes], samples: LineSamples
) -> list[tuple[int, int, int]]:
    """Return the start and end, in ns, of each thread that worked; the main thread has those of the profile."""
    counts = Counter([one.thread for one in threads])
    spans: list[tuple[int, int, int]] = []
    for one in threads:
        first, last = one.first, one.last
        if (
            counts[one.thread] == 1 and one.thread in samples.seen
        ):  # else later threads have had the same number
            first, last = min(first, samples.seen[one.thread][0]), max(last, samples.seen[one.thread][1])
        spans.append((one.thread, first, last))
    spans += [(thread, *seen) for thread, seen in samples.seen.items() if thread not in counts]
    others = [span for span in spans if span[0] != measured.thread]
    if len(others) < len(spans) or not spans:
        others.append((measured.thread, measured.began, measured.ended))
    return others


def _backward_readers(program: Program, roles: dict[int, str]) -> set[int]:
    """Return the slots that ops of gradients read."""
    read = {slot for op in program.ops if roles.get(op.out) == "backward" for slot in op.args}
    return with_aliased(program, read)
