"""Thresholds that decide how programs are compiled and run; all code reads them when it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

__all__ = ["Tuning", "threshold_cache", "tuning"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_caches: list[Callable[[], None]] = []


class Tuning:
    """Thresholds, by the package that reads them.

    Costs are about LLVM instructions per element, as counted by ``analysis/cost.py``. Times are for a machine with
    AVX-512. A limit is the largest value to which a rule applies; a minimum is the smallest.
    """

    # ---- core --------------------------------------------------------------------------------------------------------

    length_slack: float = 1.5
    """Maximum ratio of a size to a threshold at which a schedule for other lengths may decide either way."""

    # ---- primitives --------------------------------------------------------------------------------------------------

    mask_block_elements: int = 1 << 15
    """Minimum elements of a boolean mask in each block whose true elements are counted; a block is a task."""
    mask_blocks_limit: int = 32
    """Maximum blocks of a boolean mask."""
    regathered_elements: int = 1024
    """Minimum elements of a row, for each of its indices, that the gradient of a loop reads again, not saves."""

    # ---- transform ---------------------------------------------------------------------------------------------------

    template_slots: int = 20_000
    """Maximum slots of the templates that are kept; above it, all are dropped. Typical programs use hundreds."""

    # ---- compile/ir --------------------------------------------------------------------------------------------------

    unrolled_elements: int = 4
    """Maximum elements of a reduction, or of a row, that are written out. The loop around three written-out coordinates
    vectorizes: the forces between 64 bodies take 4.7 instead of 29 µs."""

    # ---- compile/llvm ------------------------------------------------------------------------------------------------

    interrupt_check_iterations: int = 4096
    """Maximum iterations between two readings of the clock in a watched loop."""
    compile_switch_seconds: float = 0.0005
    """Maximum interval, in seconds, after which Python switches threads while several compile."""
    math_function_cost: int = 30
    """Cost of a call of a function of ``vectormath`` in linked code."""
    helper_spins: int = 1000
    """Number of times that a helper thread looks for work before it sleeps; a helper that looks starts at once."""
    helper_patience_tasks: int = 4
    """Number of average task times that the opener spins for its helpers before it sleeps.

    The opener then assumes that a helper has lost its core. For shares, the factor is half as large.
    """
    opener_sleep_us: int = 50
    """Time, in µs, that the opener sleeps while a helper that has lost its core is in the middle of a task."""
    clocked_runs: int = 64
    """Number of first runs of a table with clocks that are all timed."""
    clocked_run_ns: int = 60_000
    """Minimum time, in ns, between the starts of two runs for which all runs are timed; also that of a long step."""
    clock_period: int = 32
    """Number of runs of which the first two are timed if runs are shorter; a power of two."""

    # ---- compile/analysis: costs -------------------------------------------------------------------------------------

    instruction_costs: Mapping[str, int] = MappingProxyType(
        {"call": 8, "fdiv": 4, "frem": 30, "sdiv": 10, "udiv": 10}
    )
    """Costs of slow LLVM instructions by opcode; all other instructions cost 1."""
    instructions_per_ns: int = 100
    """Cost that one thread executes per ns, on elements of 8 bytes."""
    memory_access_cost: int = 20
    """Cost of loading or storing an element."""
    gemm_bytes_per_ns: Mapping[str, int] = MappingProxyType({
        "matrix": 400, "vector": 32, "tiny": 64, "tiled": 400, "tiny or matrix": 400, "tiled or matrix": 400,
        "dots": 128, "rows": 110, "columns": 110,
    })  # fmt: skip
    """Speed of each form of `Gemm`: multiplications times the bytes of an element, per ns."""
    lapack_bytes_per_ns: int = 40
    """Speed of LAPACK: multiplications times the bytes of an element, per ns."""
    lapack_call_ns: int = 100
    """Time, in ns, of a call of LAPACK on an empty matrix."""
    unrolled_lapack_order: int = 8
    """Maximum order of matrices whose factorizations and solves are unrolled, without calls of LAPACK."""
    unrolled_lapack_columns: int = 16
    """Maximum right-hand sides of unrolled solves; for more, LAPACK is faster, with the columns in the lanes."""
    unrolled_lapack_bytes_per_ns: int = 20
    """Speed of unrolled factorizations and solves: multiplications times the bytes of an element, per ns."""
    decomposition_ns: int = 2_000
    """Time, in ns, of a decomposition besides that for its elements."""
    decomposition_ns_per_element: Mapping[str, int] = MappingProxyType(
        {
            "eigh": 60, "eigvalsh": 30, "eig": 300, "svd": 120, "svdvals": 50, "qr": 30, "complement": 50,
            "expm": 60, "expm_derivative": 90, "sqrtm": 400, "sqrtm_derivative": 600, "logm": 600,
            "logm_derivative": 2_000,
        }
    )  # fmt: skip
    """Time of decompositions of 100 x 100 matrices for each element, in ns; it varies little with the order."""
    max_decomposition_tasks: int = 32
    """Maximum number of tasks of a stack of decompositions; each has scratch memory for about five matrices."""
    pullback_loops_order: int = 192
    """Maximum order of a Cholesky factor whose diagonal has a pullback in loops; at 100, 68 µs instead of 100."""
    mirrored_block_side: int = 16
    """Rows and columns of the blocks in which a triangle is copied to the other one."""

    # ---- compile/analysis: tasks -------------------------------------------------------------------------------------

    task_ns: int = 10_000
    """Intended length of a task, in ns; handing out a task of this length costs little in comparison."""
    parallel_work_ns: int = 20_000
    """Minimum work, in ns on one thread, of kernels that are divided into tasks."""
    parallel_loop_elements: int = 1 << 15
    """Minimum elements that an iteration computes if its terms of sums are stored, so that threads share the loop."""
    parallel_region_ns: int = 100_000_000
    """Time of the iterations of a loop, in ns on one thread, between two checks for Ctrl-C."""
    long_sum_rows: int = 1024
    """Maximum rows that one task adds up; the rounding error of a sum grows with their number."""
    long_sum_task_rows: int = 256
    """Maximum rows per task if a sum has more than `long_sum_rows` rows."""
    min_task_rows: int = 64
    """Minimum rows per task in a sum over rows, whose partial results are as long as a row; fewer if it is longer."""
    sum_chunk_elements: int = 1024
    """Elements of an innermost sum that lanes add up before pairwise summation; tasks of one loop are multiples."""
    scan_task_elements: int = 2048
    """Minimum adjacent elements of a row in each task of a scan over rows; with 1,024, an option takes 2 % longer."""
    grouped_rows: int = 4
    """Number of short rows that are added up first: sums of columns of 100,000x10 take 158 µs instead of 318."""
    grouped_row_elements: int = 32
    """Maximum elements of rows that are grouped; one by one, they wait ten cycles for a store."""
    grouped_min_elements: int = 1 << 13
    """Minimum elements of arrays whose rows are grouped; fewer take about 1 µs, and grouping 15 ms to compile."""
    grouped_cost_limit: int = 16
    """Maximum cost of an element of rows that are grouped."""

    # ---- compile/analysis: forms of matrix products ------------------------------------------------------------------

    vector_bytes: int = 64
    """Size, in bytes, of the vector registers that code is written for."""
    small_gemm_extent: int = 8
    """Maximum extent of a product that always runs in jittape's own loops: see `small_gemm` for all times."""
    tiny_gemm_multiplications: int = 1 << 12
    """Maximum multiplications of other products in these loops on processors with registers of 32 bytes."""
    tiled_gemm_multiplications: int = 1 << 25
    """Maximum multiplications of products in loops with 32 registers of 64 bytes."""
    tiled_gemm_limits: tuple[int, int] = (1 << 10, 1 << 22)
    """Maximum summands of these, as the rounding error grows with them, and bytes of y, which is read again."""
    tiled_gemm_least: tuple[int, int] = (5, 40)
    """Minimum rows of these, and minimum size, in bytes, of one, if the BLAS has kernels for AVX-512."""
    short_gemm_extent: int = 16
    """Maximum rows and columns of a skinny product, and summands of a product that packs a transposed operand."""
    skinny_gemm_summands: tuple[int, int] = (64, 1 << 16)
    """Minimum and maximum summands of a product with few rows and columns that is made of dot products.

    The summands must be contiguous in both operands. 25 products 10x1000 @ (10x1000)' take 59 µs instead of 79 with
    OpenBLAS.
    """
    gemv_registers: int = 16
    """Maximum vector registers of a contiguous row of a matrix whose product with a vector runs in jittape's own loops.

    The row must also take more than half a register. With AVX-512, 10,000x100 by 100 takes 66 µs and the transpose by
    10,000 numbers 64 µs, with OpenBLAS 74 and 88. 512x100 of it, which fits the second-level cache, takes 1.7 and 1.7
    instead of 3.2 and 3.8, and 1,000x20 in float32 0.6 instead of 1.3. For rows of 8 bytes OpenBLAS takes a third of
    that time, and from 32 registers on both take the same. Registers of 32 bytes are too few.
    """
    cut_gemm_extent: int = 64
    """Maximum smallest extent of a product that is cut into pieces: see `gemm_operands.block_sizes`."""
    unpacked_gemm_multiplications: int = 1_000_000
    """Maximum multiplications of a product that OpenBLAS computes without packing."""
    gemm_piece_multiplications: int = 2**18
    """Approximate multiplications in a piece of a product."""

    # ---- compile/rewrite ---------------------------------------------------------------------------------------------

    row_bytes_in_place: int = 1024
    """Minimum bytes of a row that a loop reads from the array of which its operand is a part, without a copy."""
    overlap_check_elements: int = 1 << 18
    """Maximum elements that are compared to find out whether terms overlap; more are assumed to overlap."""
    symmetry_depth: int = 64
    """Maximum ops, one after another, through which an array is proved symmetric."""
    diagonal_terms_limit: int = 32
    """Maximum terms of a sum of diagonals; a stack of more terms is computed as a whole."""
    selected_diagonals_limit: int = 2
    """Maximum diagonals of an array that is made by selecting between them."""
    diagonal_sparsity: int = 4
    """Minimum ratio of the elements of an array to those of its diagonals."""
    diagonal_min_elements: int = 64
    """Minimum elements of an array made of diagonals; smaller arrays cost less than a step."""
    repeated_starts_min_elements: int = 64
    """Minimum elements of an array whose parts are compiled for the starts that they had at the first visits."""
    transposed_columns_limit: int = 16
    """Maximum columns of an array that is stored transposed."""
    transposed_rows_per_column: int = 8
    """Minimum ratio of rows to columns of an array that is stored transposed."""
    transposed_min_elements: int = 1 << 15
    """Minimum elements of an array that is stored transposed; smaller arrays fit the first-level cache."""
    transposed_broadcast_factor: int = 4
    """Minimum ratio of the elements of a transposed array to those of an operand that is broadcast to it."""

    small_part_ratio: int = 4
    """Minimum ratio of the elements of an array to those of a part that is written in its memory."""
    fused_parts_limit: int = 16
    """Maximum small parts of arrays that a program without loops writes as a part of loops over the whole arrays."""

    # ---- compile/fuse ------------------------------------------------------------------------------------------------

    recompute_cost_limit: int = 8
    """Maximum cost of a value that each loop nest may recompute."""
    recompute_scalar_cost_limit: int = 60
    """Maximum cost of a value of one element that each loop nest may recompute; it is computed once per nest."""
    recompute_uses_limit: int = 8
    """Maximum uses of a value that is recomputed."""
    recompute_gathers_limit: int = 3
    """Maximum nested index arrays in the access to a value that is recomputed."""
    recompute_loads_limit: int = 2
    """Maximum arrays that a recomputed value is read from; reading more costs more than storing the value."""
    strided_reads_before_copy: int = 4
    """Minimum reads across a view's order in memory for which it is copied: 25 of 1000x10 take 35, not 83 µs."""
    counted_cost_limit: int = 1 << 20
    """Maximum cost that is counted; higher costs count as this one."""
    partition_rounds: int = 6
    """Number of rounds after which the partition stores every value that is used twice."""

    # ---- compile/lower -----------------------------------------------------------------------------------------------

    split_cost_limit: int = 768
    """Maximum cost of a loop nest; a nest above it is split into pieces."""
    split_piece_cost: int = 128
    """Maximum cost of a piece of a split nest. A gradient of 252 steps over 10,000 numbers takes 2.3 ms with pieces of
    this size, as with pieces half as large again, but compiles 15 ms faster. With half the size it takes 6.3 ms."""
    structural_offset_limit: int = 2
    """Maximum absolute offset that is part of a kernel's text, so that neighbors share loads; others are parameters."""

    # ---- compile/kernels ---------------------------------------------------------------------------------------------

    outline_min_cost: int = 12
    """Minimum cost of an expression that becomes a function of its own."""
    unrelated_min_places: int = 16
    """Minimum memory places of a loop for which LLVM is told no distances between them: see `scalar_body`."""
    lanes_limit: int = 32
    """Maximum lanes of a vector with a mask, which takes many comparisons; others have at most twice as many."""
    light_loop_cost: int = 16
    """Maximum cost of a loop that waits for memory and is compiled for one vector at a time: 480 of them compile in
    2.1 s instead of 2.2. Where LLVM vectorizes them, it takes 3.3 s instead of 4.8."""
    strided_load_cost: int = 20
    """Minimum cost of a vectorized loop for each load of elements that are not adjacent, which is one load per lane."""
    window_stride: int = 8
    """Maximum distance of elements that vectors read and write in windows; a vector has as many windows."""
    window_cost: int = 10
    """Minimum cost of a vectorized loop for each column in windows: LLVM adds two of float64 in 2.3 us, not 3.7."""
    heavy_loop_cost: int = 320
    """Maximum cost of a loop that handles several vectors at a time; one vector of a larger loop is parallel enough."""
    hoisted_loop_cost: int = 64
    """Maximum cost of a loop before which broadcasts are made; values of a larger loop need all registers."""
    vector_loop_loads: int = 10
    """Maximum loads of a loop that handles two vectors at a time; more do not fit the registers."""
    four_vectors_arrays: int = 4
    """Maximum loads, stores and sums of a loop that handles four vectors at a time instead of two, which wait for one
    another: the gradient of 100,000 chains of exponentials takes 349 us, not 382. More arrays do not fit the registers.
    """
    gemv_row_block: int = 8
    """Number of rows whose lane sums are added up together."""
    gemv_unrolled_registers: int = 4
    """Maximum registers of a row that is processed without a loop over its registers."""
    gemv_chunk_rows: int = 256
    """Number of rows that are added up before they are added to the result; the rounding error grows with it."""
    gemv_min_sums: int = 5
    """Minimum independent sums; each addition waits four cycles for the one before."""
    gemm_share_step: int = 16
    """Multiple of rows or columns in a share of a product: the number that the kernels of a BLAS compute at once."""
    stack_first_bytes: int = 4096
    """Bytes by which a growing stack is enlarged besides doubling, thus the size that it begins with."""
    bytecode_min_ops: int = 256
    """Minimum operations on single numbers that become scalar bytecode; fewer are compiled."""

    # ---- compile/schedule --------------------------------------------------------------------------------------------

    separate_bytes: int = 1 << 16
    """Maximum size of temporaries that are not written over operands: in a step of a network, 6.4 instead of 6.7 µs."""
    row_tile_cached_bytes: int = 1 << 20
    """Maximum size, in bytes, of all arrays of steps that are not tiled, since they fit the cache together."""
    row_tile_bytes: int = 1 << 19
    """Approximate size, in bytes, of a block of rows."""
    row_tile_step_bytes: int = 1 << 17
    """Maximum size, in bytes, of the operands of a step that does not begin a tile loop."""
    row_tile_groups_limit: int = 64
    """Maximum groups of blocks, with memory of their own. A thread should not wait long for the group of another."""
    row_tile_memory_bytes: int = 1 << 22
    """Approximate limit, in bytes, of the memory of all groups; `row_tile_min_groups` takes precedence."""
    row_tile_min_groups: int = 8
    """Minimum groups of blocks if there are at least twice as many blocks."""
    row_tile_gemm_extent: int = 64
    """Maximum columns and summands of a matrix product in a tile loop; a larger product takes all rows at once."""
    row_tile_image_bytes: int = 1 << 22
    """Maximum size, in bytes, of one row of a tile loop with products that have several rows in it."""
    row_tile_gemm_rows: int = 128
    """Minimum rows of a product for each row of a tile loop. 25,088 x 288 x 64 takes 20 % less in blocks of 784."""

    segmented_program_ops: int = 32_768
    """Minimum ops of a program in segments: 71,000 ops compile in 1.2 s instead of 4.4 and run 3 to 9 % slower."""
    segment_ops: int = 2048
    """Minimum ops of a segment that repeats; 1,024 steps of an LSTM then take 2 % more kernels than as a whole."""
    segment_windows: tuple[int, ...] = (32, 512)
    """Numbers of consecutive ops, powers of two, that must be like later ones in a stretch that repeats."""
    segment_reach: int = 512
    """Maximum distance, in ops, at which an operand's place counts in the comparison of windows."""
    segment_shared_reads: int = 16
    """Number of reads above which an input of the program counts in the comparison of windows, such as a weight."""
    compiled_at_once_repetition: int = 32
    """Minimum ops, per op of distinct segments, if the first visit is compiled: a chain has 53. An LSTM has 22: its
    kernels take longer to compile than one interpretation, 3.2 instead of 1.2 s."""
    segments_arena_bytes: int = 1 << 26
    """Maximum size, in bytes, of the arena of segments with row tiles; above it, no segments are made."""

    # ---- compile/cache -----------------------------------------------------------------------------------------------

    module_functions_limit: int = 64
    """Maximum functions in a module; a process that needs one of them from disk loads all, at 0.07 ms each."""
    compile_threads_limit: int = 8
    """Maximum threads that compile."""
    code_group_min_bytes: int = 1 << 19
    """Minimum size, in bytes, of object files loaded into one LLVM engine before the next begins; one costs 0.5 ms."""
    modules_per_thread: int = 4
    """Number of modules per thread: with fewer, threads finish at different times, and each module adds work."""
    function_compile_weight: int = 1500
    """Weight of a function that is no kernel when modules are balanced, in characters of a kernel's listing."""
    effort_weights: Mapping[str, int] = MappingProxyType({"LEAST": 1, "LITTLE": 4, "LOOPS": 10})
    """Relative compile time per character, by the name of the `Effort`."""
    stored_schedule_ops: int = 256
    """Minimum ops of a program whose schedule is stored on disk; scheduling fewer is faster than the look-up."""
    first_stored_schedules: int = 16
    """Number of small programs of a process whose schedules are stored too, to save 14 ms of importing the passes."""
    stale_file_seconds: float = 3600.0
    """Age, in seconds, above which a temporary file of the disk cache counts as left by a killed process."""

    # ---- runtime -----------------------------------------------------------------------------------------------------

    interpreted_loop_ops: int = 20_000
    """Maximum ops in loops that are interpreted: at 5 µs each, they take as long as to compile a loop, 0.1 s."""
    threads_at_parallel_work: int = 2
    """Number of threads that work of `parallel_work_ns` is worth."""
    result_sets_limit: int = 3
    """Maximum sets of result buffers that an executable remembers."""
    result_misses: int = 8
    """Number of runs in a row without free result buffers, after which a run checks the oldest set only."""
    remembered_result_bytes: int = 1 << 20
    """Minimum bytes of results that each run allocates from the pool; with half of it, 800 kB take 46 us, not 39."""
    remembered_set_bytes: int = 1 << 20
    """Maximum bytes from the pool in a set of remembered results; a larger set remembers none of these."""
    workspace_arena_bytes: int = 1 << 20
    """Minimum size, in bytes, of an arena that each run takes from the pool, which costs 2.5 µs."""

    # ---- scipy -------------------------------------------------------------------------------------------------------

    newton_iterations_limit: int = 6
    """Maximum iterations of Newton's method in a step of an implicit Runge-Kutta method."""
    newton_tolerance: float = 1e-3
    """Accuracy of Newton's method in units of the tolerance of a step: gradients assume a solved equation."""
    _label = ""  # no annotation: no field

    @property
    def work_per_thread_ns(self) -> int:
        """Minimum work, in ns, for which another thread is used."""
        return max(1, self.parallel_work_ns // self.threads_at_parallel_work)

    @property
    def label(self) -> str:
        """The overridden fields with their values; empty without an override.

        Part of the names of kernels and of the disk cache's environment, since thresholds decide the machine code.
        """
        return self._label

    @contextmanager
    def override(self, **values: Any) -> Iterator[None]:
        """Set fields within a ``with`` block, for the whole process; meant for tests.

        Programs that were scheduled before keep their schedules. Code of the thread pool and the driver is compiled
        once per process and keeps the thresholds of that time.
        """
        unknown = values.keys() - Tuning.__annotations__
        if unknown:
            raise TypeError(f"no such thresholds: {', '.join(sorted(unknown))}")
        before = {name: getattr(self, name) for name in values}
        try:
            self._set(values)
            yield
        finally:
            self._set(before)

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        changed = [name for name in Tuning.__annotations__ if getattr(self, name) != getattr(Tuning, name)]
        self._label = ", ".join([f"{name}={getattr(self, name)!r}" for name in changed])
        for clear in _caches:
            clear()


def threshold_cache(maxsize: int) -> Callable[[_Function], _Function]:
    """Return a decorator like `lru_cache`, for functions that read thresholds: an override clears the cache."""

    def decorate(function: _Function) -> _Function:
        cached: Any = lru_cache(maxsize)(function)
        _caches.append(cached.cache_clear)
        return cached

    return decorate


tuning = Tuning()
