"""Row tiling: finds consecutive steps over the same rows that can run block by block, while a block is in the cache.

``x @ w``, a function of the result and ``x.T @ g`` are three passes over `x`; for 256 rows at a time they are one pass.
Values for the next step then stay in the cache, and values for no other step take memory for a few blocks only. A step
can be *cut* at a number of rows if each block of its results reads only the same rows of the values that other steps of
the tile loop compute. A sum over rows has a partial result for each block.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.instructions import BoundsMask, Load
from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.loop_nest import ConcreteLinear, LoopNest
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import is_about_at_most, whole_quotient
from jittape.core.symbolic.extents import applied
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["Cut", "Found", "RowTileFinder", "TileStep", "groups_of"]


class Cut(NamedTuple):
    """A step cut into blocks of rows.

    Attributes
    ----------
    reads, writes : frozenset of int
        Slots whose rows are those of the step.
    whole : frozenset of int
        Slots that every block may read all of.
    partial : frozenset of int
        Slots that every block has a result for.
    across : frozenset of int
        Results of the program whose columns are the rows of the step.
    axis : str
        For a product, the extent that is cut.
    inner : int
        For a product, the number of its rows or summands in each row of the tile loop, such as the pixels of an image.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    whole: frozenset[int]
    partial: frozenset[int]
    across: frozenset[int] = frozenset()
    axis: str = ""
    inner: int = 1


def possible_rows(nest: LoopNest | None, kernel: object, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of rows at which a step might be cut."""
    if nest is not None:
        return [n for n in nest.extents[:1] if n > 1]
    if isinstance(kernel, Gemm):
        named = dict(zip(kernel.SYMBOLS, sizes, strict=True))
        return [n for n in (named["b0"], named["b1"], named["m"], named["k"]) if n > 1]
    return []


def cut_nest(nest: LoopNest, sizes: Mapping[int, int], rows: int) -> Cut | None:
    """Return a loop nest cut along its outermost loop; None if it cannot be. `sizes` are the elements of slots."""
    if nest.extents[:1] != (rows,):
        return None
    reads: set[int] = set()
    whole: set[int] = set()
    writes: set[int] = set()
    partial: set[int] = set()
    across: set[int] = set()
    everywhere = _ranges(nest, None)
    for instruction in nest.instructions:
        if isinstance(instruction, Load):
            slot, linear = instruction.address[:2]
            ranges = _ranges(nest, instruction.mask)
            (reads if _stays(linear, ranges, rows, sizes[slot]) else whole).add(slot)
    for store in nest.stores:
        if store.scan is not None and store.scan.axis == 0:
            return None
        slot, linear = store.address[:2]
        if _stays(linear, everywhere, rows, sizes[slot]):
            writes.add(slot)
        elif store.scatter is None and _is_column(linear, rows, sizes[slot]):
            across.add(slot)
        else:
            return None
    for r in nest.reductions:
        slot, linear = r.address[:2]
        if 0 in r.axes:
            partial.add(slot)
        elif _stays(linear, everywhere, rows, sizes[slot]):
            writes.add(slot)
        else:
            return None
    if not across.isdisjoint(reads | whole | writes | partial):
        return None
    return Cut(*map(frozenset, (reads - whole, writes, whole, partial, across)))  # type: ignore[arg-type]


def _ranges(nest: LoopNest, mask: int | None) -> list[tuple[int, int]]:
    """Return the first and the last number of each loop where the instruction `mask` may be true."""
    ranges = [(0, extent - 1) for extent in nest.extents]
    while mask is not None:
        found = nest.instructions[mask]
        if not isinstance(found, BoundsMask):
            break
        mask = found.also
        match found.linear:
            case ConcreteLinear(((int(axis), 1, _),), offset, fixed):
                first, last = ranges[axis]
                start = -(offset + fixed)
                end = start + found.divisor * (found.extent - 1)
                ranges[axis] = max(first, start), min(last, end)
    return ranges


def _stays(linear: ConcreteLinear, ranges: Sequence[tuple[int, int]], rows: int, size: int) -> bool:
    """Return whether an address stays in the row of `size / rows` elements that the outermost loop is at.

    `ranges` are the first and the last number of each loop.
    """
    if size % rows:
        return False
    length = size // rows
    first = last = linear.offset + linear.fixed
    step = 0
    for variable, factor, _ in linear.terms:
        if isinstance(variable, str):
            return False
        if variable == 0:
            step = factor
        else:
            ends = [factor * n for n in ranges[variable]]
            first, last = first + min(ends), last + max(ends)
    return step == length and first >= 0 and last < length


def _is_column(linear: ConcreteLinear, rows: int, size: int) -> bool:
    """Return whether the outermost loop is at a column of an array with rows of `rows` elements."""
    if size % rows or (linear.offset + linear.fixed) % rows:
        return False
    factors = {variable: factor for variable, factor, _ in linear.terms}
    return factors.pop(0, 0) == 1 and all(v.__class__ is int and f % rows == 0 for v, f in factors.items())


def cut_product(
    kernel: Gemm, sizes: Sequence[int], slots: Sequence[int], size_of: Mapping[int, int], rows: int
) -> Cut | None:
    """Return a stack of products cut along the stack, the rows or the summands; None if it cannot be."""
    s = dict(zip(kernel.SYMBOLS, sizes, strict=True))
    x, y, out = slots
    tx, ty = kernel.transposed
    m, n, k = s["m"], s["n"], s["k"]
    stacked = s["b0"] * s["b1"] > 1
    if kernel.accumulates or size_of[out] != s["b0"] * s["b1"] * m * n:
        return None
    extent_x, extent_y = _extent(m, k, s["lx"], tx), _extent(k, n, s["ly"], ty)
    axis = next((b for b in ("b0", "b1") if s[b] == rows and s["b0"] * s["b1"] == rows), "")
    written, partial, inner = frozenset([out]), frozenset[int](), 1
    if axis:
        strides = s[f"x{axis[1]}"], s[f"y{axis[1]}"]
    elif stacked:
        return None
    elif m == rows and (n == 1 or max(n, k) <= tuning.row_tile_gemm_extent):
        axis = "m"
    elif k == rows:
        axis = "k"
    else:
        axis, inner = _cut_of_multiples(m, k, rows)
    if axis == "m":
        strides, extent_x = (inner if tx else inner * s["lx"], 0), _extent(inner, k, s["lx"], tx)
    elif axis == "k":
        written, partial = frozenset[int](), frozenset([out])
        strides = (inner * s["lx"] if tx else inner), (inner if ty else inner * s["ly"])
        extent_x, extent_y = _extent(m, inner, s["lx"], tx), _extent(inner, n, s["ly"], ty)
    elif not axis:
        return None
    if axis == kernel.made_for:
        return None
    reads: set[int] = set()
    whole: set[int] = set()
    for slot, offset, stride, extent in (
        (x, s["ox"], strides[0], extent_x),
        (y, s["oy"], strides[1], extent_y),
    ):
        inside = size_of[slot] == stride * rows and offset + extent <= stride
        (reads if inside else whole).add(slot)
    return Cut(frozenset(reads - whole), written, frozenset(whole), partial, axis=axis, inner=inner)


def _cut_of_multiples(m: int, k: int, rows: int) -> tuple[str, int]:
    """Return the extent that has so many numbers for each row that blocks of few rows are efficient products.

    The number comes second. Without one the extent is empty.
    """
    for axis, extent in (("m", m), ("k", k)):
        inner = (
            None
            if is_about_at_most(extent, rows * tuning.row_tile_gemm_rows)
            else whole_quotient(extent, rows)
        )
        if inner is not None:
            return axis, inner
    return "", 1


def _extent(rows: int, columns: int, leading: int, transposed: bool) -> int:
    """Return the number of elements from the first to the last of a matrix in memory."""
    if transposed:
        rows, columns = columns, rows
    return (rows - 1) * leading + columns


def groups_of(blocks: int, region: int) -> int:
    """Return the number of tasks of a tile loop, each of which has `region` bytes of memory."""
    return applied(_groups_of, blocks, region)


def _groups_of(blocks: int, region: int) -> int:
    if blocks <= 2 * tuning.row_tile_min_groups:
        return blocks
    wanted = min(
        tuning.row_tile_groups_limit,
        max(tuning.row_tile_min_groups, tuning.row_tile_memory_bytes // max(1, region)),
    )
    return -(-blocks // -(-blocks // wanted))


class TileStep(NamedTuple):
    """A step: its kernel, the kernel's sizes, the slots that it reads and writes, and the kernel's loop nest."""

    kernel: Kernel | None
    sizes: tuple[int, ...]
    operands: tuple[int, ...]
    nest: LoopNest | None


class Found(NamedTuple):
    """A tile loop: its steps by number with their cuts, and the slots that no other step needs.

    `moved` has the bytes of one block of each of these slots.
    """

    rows: int
    block: int
    members: tuple[tuple[int, Cut], ...]
    moved: dict[int, int]

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.block)

    @property
    def whole(self) -> frozenset[int]:
        """The slots that every block may access all of."""
        return frozenset().union(*[cut.whole | cut.across for _, cut in self.members])


class RowTileFinder:
    """Finder of steps that can run in a tile loop.

    Parameters
    ----------
    steps : sequence of TileStep
        The steps in an order in which they can run.
    avals : mapping
        Shape and dtype of the slots.
    owner_of : mapping
        For a slot stored in the memory of another slot, that slot.
    outside : container of int
        Slots that are inputs or results of the program.
    """

    def __init__(
        self,
        steps: Sequence[TileStep],
        avals: Mapping[int, Aval],
        owner_of: Mapping[int, int],
        outside: Container[int],
    ) -> None:
        self.steps = steps
        self.owner_of = owner_of
        self.outside = outside
        self.users: dict[int, set[int]] = {}
        self._owners = [self._owners_of(frozenset(step.operands)) for step in steps]
        for i, owners in enumerate(self._owners):
            for slot in owners:
                self.users.setdefault(slot, set()).add(i)
        slots = frozenset().union(*self._owners, *[step.operands for step in steps])
        self._size = {slot: avals[slot].size for slot in slots}
        self._nbytes = {slot: size * avals[slot].dtype.itemsize for slot, size in self._size.items()}
        self._cuts: dict[tuple[int, int], Cut | None] = {}
        self._large: dict[int, bool] = {}

    def fit_cache(self) -> bool:
        """Return whether all slots together fit the cache, so that no tile loop pays."""
        return is_about_at_most(sum(self._nbytes.values()), tuning.row_tile_cached_bytes)

    def tile_from(self, first: int, taken: Container[int]) -> Found | None:
        """Return the tile loop that begins with a step and saves most bytes, without the `taken` steps, or None."""
        step = self.steps[first]
        nbytes = sum([self._nbytes[slot] for slot in step.operands])
        if is_about_at_most(nbytes, tuning.row_tile_step_bytes):
            return None
        best, most = None, 0
        for rows in dict.fromkeys(
            [*possible_rows(step.nest, step.kernel, step.sizes), *self._rows_of_nests(step)]
        ):
            if self._cut(first, rows) is None or not self._is_large(rows):
                continue
            members = self._members(first, rows, taken)
            found, saved = self._measured(rows, members)
            if found is not None and saved > most:
                best, most = found, saved
        return best

    def _rows_of_nests(self, step: TileStep) -> list[int]:
        """Return the rows of nests, at which a product of several rows or summands for each of them may be cut."""
        if not isinstance(step.kernel, Gemm):
            return []
        return [other.nest.extents[0] for other in self.steps if other.nest and other.nest.extents]

    def _is_large(self, rows: int) -> bool:
        """Return whether all steps that can be cut at `rows` touch, together, more than fits the cache."""
        if rows not in self._large:
            cuts = [cut for i in range(len(self.steps)) if (cut := self._cut(i, rows)) is not None]
            distinct = frozenset().union(*[cut.reads | cut.writes for cut in cuts])
            nbytes = sum([self._nbytes[slot] for slot in distinct])
            self._large[rows] = not is_about_at_most(nbytes, tuning.row_tile_cached_bytes)
        return self._large[rows]

    def _members(self, first: int, rows: int, taken: Container[int]) -> list[tuple[int, Cut]]:
        members: list[tuple[int, Cut]] = []
        written: set[int] = set()
        partial: set[int] = set()
        read: set[int] = set()
        across: set[int] = set()
        late: set[int] = set()  # written by steps after the tile loop
        for i in range(first, len(self.steps)):
            step = self.steps[i]
            if i in taken:
                continue
            if not isinstance(step.kernel, LoopKernel | Gemm):
                break
            cut = self._cut(i, rows)
            owners = self._owners[i]
            if (
                cut is None
                or not owners.isdisjoint(late)
                or not cut.whole.isdisjoint(written | partial)
                or not cut.reads.isdisjoint(partial)
                or not cut.across.isdisjoint(written | partial | read)
                or not across.isdisjoint(cut.reads | cut.whole | cut.writes | cut.partial)
            ):
                late |= owners
                continue
            members.append((i, cut))
            written |= cut.writes
            partial |= cut.partial
            read |= cut.reads | cut.whole
            across |= cut.across
        return members

    def _measured(self, rows: int, members: list[tuple[int, Cut]]) -> tuple[Found | None, int]:
        """Return the tile loop of these steps, None if it does not pay, and the bytes that are not fetched again."""
        used = [cut.reads | cut.writes for _, cut in members]
        distinct = frozenset().union(*used)
        nbytes = sum([self._nbytes[slot] for slot in distinct])
        saved = sum([self._nbytes[slot] for slots in used for slot in slots]) - nbytes
        block = applied(_block_of, rows, nbytes)
        partial = sum([self._nbytes[slot] for _, cut in members for slot in cut.partial])
        blocks = -(-rows // block)
        few = len(members) < 2 or not is_about_at_most(2, blocks)
        if few or is_about_at_most(nbytes, tuning.row_tile_cached_bytes):
            return None, 0
        if not is_about_at_most(nbytes, 4 * saved) or not is_about_at_most(4 * partial * blocks, saved):
            return None, 0
        if any([cut.inner.__class__ is not int or cut.inner > 1 for _, cut in members]) and not (
            is_about_at_most(2 * tuning.row_tile_min_groups, blocks)
            and is_about_at_most(nbytes, rows * tuning.row_tile_image_bytes)
        ):
            return None, 0  # all rows at once have work for more threads
        inside = {i for i, _ in members}
        whole = frozenset().union(*[cut.whole for _, cut in members])
        moved = {
            slot: block * (self._nbytes[slot] // rows)
            for slot in sorted(distinct - whole)
            if slot not in self.outside and self.users[slot] <= inside
        }
        return Found(rows, block, tuple(members), moved), saved

    def _cut(self, i: int, rows: int) -> Cut | None:
        if (i, rows) not in self._cuts:
            step = self.steps[i]
            cut = None
            if step.nest is not None:
                cut = cut_nest(step.nest, self._size, rows)
            elif isinstance(step.kernel, Gemm):
                cut = cut_product(step.kernel, step.sizes, step.operands, self._size, rows)
            if cut is not None:
                reads, writes, whole, partial, across = map(self._owners_of, cut[:5])
                cut = Cut(reads - whole, writes, whole, partial, across, cut.axis, cut.inner)
                if not all(slot in self.outside for slot in across):
                    cut = None
            self._cuts[i, rows] = cut
        return self._cuts[i, rows]

    def _owners_of(self, slots: frozenset[int]) -> frozenset[int]:
        owner_of = self.owner_of
        return slots if owner_of.keys().isdisjoint(slots) else frozenset([owner_of.get(s, s) for s in slots])


def _block_of(rows: int, nbytes: int) -> int:
    """Return the rows of a block, if all rows touch `nbytes`: a power of two, or `rows`."""
    number = tuning.row_tile_bytes * rows // max(1, nbytes)
    return min(rows, 1 << (max(1, number).bit_length() - 1))
