"""Prices of calls on a known path in units of the operator ``y * 2.0``, without NumPy's own share."""

from __future__ import annotations

import itertools
import re
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

import jittape as jt
import jittape.numpy as jnp

CALLS = 50
"""Number of calls in a block, which the operator's block surrounds in time."""
BLOCKS = 31
FORMS = {
    "methods": "x.sum() a.sum(axis=0) a.sum(axis=1,keepdims=True) a.reshape(4,3) a.T x.cumsum() x.clip(0.0,2.0) "
    "a@a.T x**2 x.sum(dtype=np.float32) x.mean(dtype=float) x.searchsorted(y) x.searchsorted(0.5) w.sort() x.sort()",
    "operands": "y+x y*2 -x v*2.0 x+array array*x x+frozen x[picked] x[[0,3]] x[t] x[2] x[1:5] a[1] a[:,1] x[::-1] "
    "single*2 t+1 x+count single*count x@array x[count] x[count:] a[:,[0,2]] a[[0,2],[1,3]] x+[0.5]*12 t+[0.5]*2 "
    "t+[1,2] w[0]=1.0 w[1:3]=0.0 w[t]=2.0 p,q=t",
    "np": "sum(x) sum(a,axis=0) sum(a,axis=1,keepdims=True) mean(a,axis=(0,1)) exp(x) add(x,y) add(x,array) "
    "clip(x,0.0,2.0) where(b,x,y) dot(x,y) concatenate([x,y]) stack([x,y],axis=1) reshape(a,(4,3)) transpose(a) "
    "sort(x) take(x,3) take(x,[0,3]) take(a,[0,2],axis=0) take(x,picked) tile(x,2) outer(x,y) median(x) "
    "percentile(x,30) percentile(x,[25,75]) split(x,3) shape(x) take(a,[0,2],axis=1) transpose(a,[1,0]) "
    "tensordot(a,a,([0],[0])) trapezoid(x,dx=0.5) searchsorted(x,y) add.reduce(x) maximum.reduce(x) add.accumulate(x) "
    "maximum.accumulate(x) logaddexp.reduce(x) subtract.outer(x,y) add(x,[0.5]*12) multiply(x,np.float64(2))",
    "jt": "jt.reduce_sum(x) jt.reduce_sum(a,axis=0) jt.reduce_max(a,axis=1,keepdims=True) jt.exp(x) jt.multiply(x,y) "
    "jt.add(x,array) jt.matmul(a,a,transpose_b=True) jt.stack([x,y]) jt.concat([x,y],0) jt.cast(x,jt.float32) "
    "jt.reshape(a,[4,3]) jt.transpose(a) jt.gather(x,t) jt.where(b,x,0.0) jt.clip_by_value(x,0.0,2.0) jt.split(x,3) "
    "jt.nn.softmax(x) jt.pad(x,[[1,1]]) jt.nn.leaky_relu(x) jt.gather(x,2) jt.gather(a,[0,2],axis=1) jt.one_hot(t,4) "
    "jt.searchsorted(x,y) jt.math.top_k(x,3) jt.linalg.svd(a) jt.stack([x,array]) jt.constant(2.5) "
    "jt.constant([0.5,1.5]) jt.constant(x) jt.convert_to_tensor(x) jnp.array([x,y]) jnp.array([1.0,2.0]) jnp.zeros(3) "
    "jnp.asarray(x,dtype=float) jnp.array(x,jnp.float32) jnp.float64(2.0) jnp.float32(x) jnp.array(array,dtype=float) "
    "jnp.eye(3) jnp.arange(5) jnp.linspace(0.0,1.0,5) jnp.full(3,2.0) jnp.array([[1.0,2.0],[3.0,4.0]]) jt.range(5) "
    "jt.constant(2.0,dtype=jt.float64) jt.shape(x)[0]",
}
"""Calls by group; those of ``jittape.numpy`` are those of NumPy."""


class _Foreign:
    """An operand that NumPy hands calls to, as it does to a tensor."""

    __array_function__ = itertools.chain
    __array_ufunc__ = itertools.chain


def _names() -> dict[str, Any]:
    array = np.arange(12.0)
    frozen = array.copy()
    frozen.flags.writeable = False
    x, y, a = (jt.constant(n) for n in (array, array + 1, array.reshape(3, 4)))
    found = {
        "x": x,
        "y": y,
        "a": a,
        "v": jt.Variable(array),
        "t": jt.constant([0, 3]),
        "b": jt.constant(array > 3),
        "w": jt.constant(array),
        "single": jt.constant(array.astype(np.float32)),
    }
    numbers = {
        "array": array,
        "frozen": frozen,
        "picked": np.array([0, 3]),
        "count": np.int64(3),
        "foreign": _Foreign(),
    }
    return {**found, **numbers, "np": np, "jnp": jnp, "jt": jt, "chain": itertools.chain}


def _block(
    form: str, names: dict[str, Any], context: Callable[[], Any] = jt.GradientTape
) -> Callable[[], None]:
    lines = "\n".join([f"        {form or 'pass'}"] * CALLS)
    space = {**names, "context": context}
    exec(f"def run():\n    with context():\n{lines}\n", space)
    run: Callable[[], None] = space["run"]
    return run


def _timed(run: Callable[[], None]) -> float:
    before = time.thread_time()
    run()
    return time.thread_time() - before


def _loop(x: Any) -> None:
    for _ in range(110):  # machine code records repeated loops
        float(jt.reduce_sum(x * 2.0))


def price(form: str) -> float:
    """Return the median price of a call in operators."""
    names = _names()
    operator, empty, run = (_block(text, names) for text in ("y * 2.0", "", form))
    shares: tuple[Callable[[], None], ...] = ()
    if form.startswith("np."):
        foreign = re.sub(r"\b[xyavtb]\b", "foreign", form)
        shares = tuple(_block(text, names, nullcontext) for text in (foreign, "chain(foreign, 1, 2, 3, 4)"))
    for _ in range(3):
        for block in (operator, empty, run, *shares):
            block()
        _loop(names["x"])
    found = []
    for _ in range(BLOCKS):
        one, none, mine = _timed(operator), _timed(empty), _timed(run)
        dispatch, own = (_timed(block) for block in shares) if shares else (0.0, 0.0)
        found.append((mine - none - dispatch + own) / (one - none))
    return statistics.median(found)


class Prices:
    """The median and the highest price of the calls of a group."""

    params = ("methods", "operands", "np", "jnp", "jt")
    param_names = ("group",)
    unit = "operators"

    def setup_cache(self) -> dict[str, list[float]]:
        prices = {}
        for group in self.params:
            dotted = f"{group}." if group in ("np", "jnp") else ""
            forms = FORMS["np" if group == "jnp" else group].split()
            prices[group] = [price(f"{dotted}{form}") for form in forms]
        return prices

    def track_median(self, prices: dict[str, list[float]], group: str) -> float:
        return statistics.median(prices[group])

    def track_highest(self, prices: dict[str, list[float]], group: str) -> float:
        return max(prices[group])


if __name__ == "__main__":
    for name, numbers in Prices().setup_cache().items():
        print(f"{name:10} median {statistics.median(numbers):5.2f}, highest {max(numbers):5.2f} operators")
