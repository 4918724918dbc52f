"""Boolean masks: compiled loops against NumPy, for all ends of blocks and words, dtypes and numbers of threads."""

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.interpret import interpret
from jittape.primitives.indexing.getitem import getitem, setitem
from jittape.primitives.indexing.masks import masked_op, unmasked_op
from programs import compiled, program_of

RNG = np.random.default_rng(3)
SHARES = [0.0, 0.03, 0.5, 0.97, 1.0]
"""Shares of true elements: words without true elements, of true elements only, and mixed ones."""
DTYPES = ["float64", "float32", "float16", "complex128", "int8"]


def drawn(shape: tuple[int, ...], dtype: str = "float64") -> Any:
    return (RNG.normal(size=shape) * 3).astype(dtype)


def both_of(count: int, axis: int = 0) -> Any:
    """Return the function that selects, and the one that puts values where the mask is true."""
    return lambda x, v, mask: (
        masked_op.bind(x, mask, axis=axis, count=count),
        unmasked_op.bind(v, mask, axis=axis),
    )


@pytest.mark.parametrize(
    ("shape", "ndim", "axis"), [((3, 4, 5), 2, 1), ((3, 4, 5), 2, 0), ((3, 4, 5), 1, 1), ((4, 9), 2, 0)]
)
def test_keys_with_a_mask(shape: tuple[int, ...], ndim: int, axis: int) -> None:
    """The first run is interpreted, the second one compiled."""
    for dtype, share in zip(DTYPES, SHARES, strict=True):
        x, mask = drawn(shape, dtype), RNG.random(shape[axis : axis + ndim]) < share
        for key in (
            (slice(None),) * axis + (mask,),
            (..., mask, *[slice(None)] * (len(shape) - ndim - axis)),
        ):
            value = drawn(x[key].shape, dtype)
            changed = x.copy()
            changed[key] = value
            for _ in range(2):
                np.testing.assert_array_equal(getitem(jt.constant(x), key).numpy(), x[key])
                np.testing.assert_array_equal(setitem(jt.constant(x), key, value).numpy(), changed)


@pytest.mark.parametrize("share", SHARES)
def test_blocks_and_words(share: float, override_tuning: Any) -> None:
    """Blocks of all lengths, for one and several threads; the last words of a block have few places left."""
    before = jt.config.threads
    for number, size in enumerate((1, 7, 8, 16, 63, 150)):
        for block in (9, 16, 1000):
            override_tuning(mask_block_elements=block, mask_blocks_limit=7, parallel_work_ns=1)
            mask, dtype = RNG.random(size) < share, DTYPES[number % len(DTYPES)]
            count = int(mask.sum())
            if count:
                operands = drawn((size,), dtype), drawn((count,), dtype), mask
                program = program_of(both_of(count), *operands)
                expected = interpret(program, operands)
                for jt.config.threads in (1, 3):
                    for got, wanted in zip(compiled(program, operands), expected, strict=True):
                        np.testing.assert_array_equal(got, wanted)
    jt.config.threads = before


def test_a_wrong_count_stays_in_memory() -> None:
    """A mask with other true elements than those recorded gives the first ones, or zeros for those that are missing."""
    x, v = np.arange(1.0, 41.0), np.arange(1.0, 11.0)
    program = program_of(both_of(10), x, v, x > 0)
    for mask in (x > 20, x > 36, x > 50):
        chosen = x[mask][:10]
        selected, put = compiled(program, (x, v, mask), fill=7.0)
        np.testing.assert_array_equal(selected, np.pad(chosen, (0, 10 - len(chosen))))
        expected = np.zeros(40)
        expected[np.flatnonzero(mask)[:10]] = v[: len(chosen)]
        np.testing.assert_array_equal(put, expected)


def test_bytes_other_than_one_are_true() -> None:
    mask = np.frombuffer(bytes([255, 0, 2, 128, 0, 64, 1, 0, 3]), bool)
    x = jt.constant(np.arange(9.0))
    for _ in range(2):
        assert x[mask].numpy().tolist() == [0, 2, 3, 5, 6, 8]


def test_derivatives_to_third_order() -> None:
    """The values are cubed, so the third derivative is 6 where the mask is true."""
    x = jt.constant(drawn((4, 5)))
    mask = x.numpy() > 0

    def cubes(x: Any) -> Any:
        return jt.reduce_sum(getitem(x, mask) ** 3)

    function = cubes
    for factor, power in ((3, 2), (6, 1), (6, 0)):
        function = jt.grad(lambda x, inner=function: jt.reduce_sum(inner(x)))
        for f in (function, function, jt.function(function)):
            expected = np.where(mask, factor * x.numpy() ** power, 0)
            np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(jt.jvp(cubes, (x,), (x,))[1].numpy(), 3 * cubes(x).numpy())


def test_assignment_moves_gradients() -> None:
    """Elements that are replaced have no gradient; the values that replace them have."""
    x, v = jt.constant(drawn((6,))), jt.constant(drawn((3,)))
    mask = np.array([True, False, True, True, False, False])
    for _ in range(2):
        of_x, of_v = jt.grad(lambda x, v: jt.reduce_sum(setitem(x, mask, v) ** 2), argnums=(0, 1))(x, v)
        np.testing.assert_array_equal(of_x.numpy(), np.where(mask, 0, 2 * x.numpy()))
        np.testing.assert_array_equal(of_v.numpy(), 2 * v.numpy())


@pytest.mark.parametrize("shape", [(), (0, 3), (13,), (4, 5), (2, 3, 4)])
def test_coordinates(shape: tuple[int, ...]) -> None:
    for condition in (RNG.random(shape) < 0.4, np.zeros(shape, bool), drawn(shape, "int8")):
        for _ in range(2):
            np.testing.assert_array_equal(jt.where(condition).numpy(), np.argwhere(condition))
