"""Tensors that leave an active tape: which calls warn, on which line and about what, and which stay silent."""

from __future__ import annotations

import array
import copy
import inspect
import logging
import math
import re
import struct
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.sparse
import scipy.stats

import jittape as jt
from jittape.recording.tape_exits import MATH

HERE = __file__


def library(text: str) -> dict[str, Any]:
    """The names of a module of somebody else's that is installed, such as pandas."""
    names: dict[str, Any] = {"__name__": "frames.core"}
    exec(compile(inspect.cleandoc(text), "/usr/lib/python3/site-packages/frames/core.py", "exec"), names)
    return names


frames = library(
    """
    import numpy as np

    class Series:
        __pandas_priority__ = 3000

        def __init__(self, values):
            self.values = np.asarray(values)

        def __mul__(self, other):
            if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
                return NotImplemented
            return Series(self.values * np.asarray(other))

        def __matmul__(self, other):
            return self.values @ np.asarray(other)

        def __array__(self, dtype=None, copy=None):
            return self.values

        def apply(self, f):
            return [f(v) for v in self.values]

    class Lazy:
        computed = 0
        dtype = np.dtype(np.int64)

        def __dask_graph__(self):
            return {}

        def __array__(self, dtype=None, copy=None):
            Lazy.computed += 1
            return np.ones(3)

    def logpdf(values):
        return np.exp(-np.asarray(values) ** 2)
    """
)
Series, Lazy, logpdf = frames["Series"], frames["Lazy"], frames["logpdf"]


def written(x: Any) -> Any:
    a = np.zeros(4)
    a[1:3] = x[:2]
    return a


def comprehended(x: Any) -> Any:
    return np.array([v * 2.0 for v in x])


IMPLICIT: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "sum": (lambda x: np.sum([x[0], x[1]]), "np.sum", r"np.sum\(jt.stack"),
    "mean": (lambda x: np.mean([x[0], x[1]]), "np.mean", "jt.stack"),
    "dot": (lambda x: np.dot([x[0], x[1]], [1.0, 2.0]), "np.dot", "jt.stack"),
    "exp": (lambda x: np.exp([x[0], x[1]]), "np.exp", "jt.stack"),
    "array": (lambda x: np.array([x[0], x[1]]), "np.array", r"jt.stack\(\[...\]\) records"),
    "array of a list": (lambda x: np.array(list(x)), "np.array", "jt.stack"),
    "comprehension": (comprehended, "np.array", "jt.stack"),
    "part of an array": (written, "an assignment to a part", "jt.stack"),
    "math.exp": (lambda x: math.exp(x[0]), "math.exp", "jt.exp records"),
    "math.log": (lambda x: math.log(x[0]), "math.log", "jt.math.log records"),
    "math.fsum": (lambda x: math.fsum(x), "math.fsum", "jt.reduce_sum records"),
    "vectorize": (lambda x: np.vectorize(lambda v: v * v)(x), "vectorize", "jt.vectorized_map"),
    "bincount": (lambda x: np.bincount([0, 1, 1], weights=list(x)), "np.bincount", "scatter"),
    "full": (lambda x: np.full(3, x[0]), "np.full", "jt.stack"),
    "norm": (lambda x: np.linalg.norm([x[0], x[1]]), "np.linalg.norm", "jt.stack"),
    "fromiter": (lambda x: np.fromiter(x, float), "np.fromiter", "records"),
    "array.array": (lambda x: array.array("d", x), "array.array", "custom_gradient"),
    "struct": (lambda x: struct.pack("d", x[0]), "struct.pack", "custom_gradient"),
    "draw": (lambda x: np.random.default_rng(0).normal(x), "normal", "x.numpy"),
    "logpdf": (lambda x: scipy.stats.norm.logpdf(x), "scipy.stats.norm.logpdf", "custom_gradient"),
    "solve": (lambda x: scipy.linalg.solve(np.eye(3), x), "scipy.linalg.solve", "custom_gradient"),
    "spline": (lambda x: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)(0.5), "CubicSpline", "custom_gradient"),
    "sparse": (lambda x: scipy.sparse.csr_array(np.eye(3)) * x, "csr_array * tensor", "custom_gradient"),
    "quad": (lambda x: scipy.integrate.quad(lambda s: s * x[0], 0, 1), "scipy.integrate.quad", "custom_gradient"),
    "a library's function": (lambda x: logpdf(x), "logpdf", "custom_gradient"),
    "a library's product": (lambda x: Series([1.0, 2.0, 3.0]) @ x, "Series @ tensor", "custom_gradient"),
    "a library's class": (lambda x: Series(x), "Series", "custom_gradient"),
}  # fmt: skip


class Holder:
    tensor: Any = None


def held(x: Any) -> Any:
    holder = Holder()
    holder.tensor = x
    return np.asarray(holder.tensor)


def logged(x: Any) -> None:
    logging.getLogger("jittape.test").warning("loss %f, %s", x[0], x)


SILENT: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "float": lambda x: float(x[0]),
    "float of a call": lambda x: float(jt.reduce_sum(x)),
    "int": lambda x: int(x[0]),
    "complex": lambda x: complex(x[0]),
    "asarray": lambda x: np.asarray(x),
    "asarray with dtype": lambda x: np.asarray(x, dtype=np.float32),
    "array": lambda x: np.array(x),
    "array of an element": lambda x: np.array(x[0]),
    "array of a product": lambda x: np.array(x * 2.0),
    "array of an attribute": held,
    "scalar type": lambda x: np.float64(x[0]),
    "comprehension": lambda x: [float(v) for v in x],
    "branch": lambda x: 1 if x[0] > 0 else 2,
    "truth": lambda x: bool(x[0]),
    "str": str,
    "repr": repr,
    "format": lambda x: f"{x} {x[0]:.3f}",
    "percent": lambda x: "%.3f" % x[0],  # noqa: UP031
    "round": lambda x: round(x[0], 2),
    "log": logged,
    "isnan": lambda x: math.isnan(x[0]),
    "floor": lambda x: math.floor(x[0]),
    "argsort": lambda x: np.argsort(x),
    "allclose": lambda x: np.allclose(x, 1.0),
    "testing": lambda x: np.testing.assert_array_less(x, 100.0),
    "integers": lambda x: np.array([jt.argmax(x), jt.argmax(x)]),
    "constants": lambda x: np.sum([jt.constant(1.0), jt.constant(2.0)]),
    "stopped": lambda x: math.exp(jt.stop_gradient(x)[0]),
    "numpy's names": lambda x: np.sum(np.exp(x)),
    "stack": lambda x: np.sum(jt.stack([x[0], x[1]])),
    "a library's operator": lambda x: Series([1.0, 2.0, 3.0]) * x,
    "shuffle": lambda x: jt.random.shuffle(x),
    "numpy_function": lambda x: jt.numpy_function(np.sin, [x], x.dtype),
    "pickle": lambda x: x.__reduce__(),
    "deepcopy": copy.deepcopy,
}

POINT = np.array([0.5, 1.5, 2.5])


@pytest.fixture(autouse=True)
def every_time() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", jt.TapeExitWarning)
        warnings.simplefilter("ignore", jt.FunctionWarning)
        yield


def exits_of(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [w for w in caught if w.category is jt.TapeExitWarning]


def in_tape(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape():
        f(x * 1.0)


# ---- which calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IMPLICIT)
def test_somebody_elses_function_warns_on_the_users_line(name: str) -> None:
    f, function, remedy = IMPLICIT[name]
    exits = exits_of(lambda: in_tape(f))
    assert exits
    code = f.__code__
    lines = {line for *_, line in code.co_lines()} | {
        line for c in code.co_consts if inspect.iscode(c) for *_, line in c.co_lines()
    }
    for w in exits:
        assert w.filename == HERE
        assert w.lineno in lines
        assert function in str(w.message).partition(" takes the value of a tensor")[0]
    text = str(exits[0].message)
    assert re.search(remedy, text), text
    assert "write x.numpy()" in text


@pytest.mark.parametrize("name", SILENT)
def test_what_is_on_purpose_or_only_shows_stays_silent(name: str) -> None:
    assert exits_of(lambda: in_tape(SILENT[name])) == []


def variables(f: Callable[[Any], Any]) -> None:
    with jt.GradientTape():
        f(jt.Variable(POINT))


def watched_constant(f: Callable[[Any], Any]) -> None:
    x = jt.constant(POINT)
    with jt.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        f(x)


def forward(f: Callable[[Any], Any]) -> None:
    x = jt.constant(POINT)
    with jt.autodiff.ForwardAccumulator(x, jt.ones_like(x)):
        f(x + 1.0)


def outer_watches(f: Callable[[Any], Any]) -> None:
    x = jt.constant(POINT)
    with jt.GradientTape() as outer:
        outer.watch(x)
        with jt.GradientTape():
            f(x * 2.0)


def inner_paused(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape():
        y = 2.0 * x
        with jt.GradientTape() as inner, inner.stop_recording():
            f(y)


def in_function(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    g = jt.function(f)
    with jt.GradientTape():
        g(x * 1.0)


def function_with_tape(f: Callable[[Any], Any]) -> None:
    @jt.function
    def g(x: Any) -> None:
        with jt.GradientTape() as tape:
            tape.watch(x)
            f(x * 1.0)

    g(POINT)


def in_grad(f: Callable[[Any], Any]) -> None:
    jt.grad(lambda x: (f(x), jt.reduce_sum(x))[1])(POINT)


def in_cond(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape():
        y = x * 1.0
        y.numpy()
        jt.cond(x[0] > 0.0, lambda: (f(y), jt.constant(1.0))[1], lambda: jt.constant(2.0))


def again(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = x * 1.0
    with tape:
        f(y)


def unwatched(f: Callable[[Any], Any]) -> None:
    with jt.GradientTape():
        f(jt.constant(POINT) * 2.0)


def not_trainable(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT, trainable=False)
    with jt.GradientTape():
        f(x * 2.0)


def paused(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = x * 2.0
        with tape.stop_recording():
            f(y)


def made_in_a_pause(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        with tape.stop_recording():
            y = x * 2.0
        f(y)


def no_tape(f: Callable[[Any], Any]) -> None:
    f(jt.Variable(POINT) * 2.0)


def after(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape():
        y = x * 2.0
    f(y)


def was_reset(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = x * 2.0
        tape.reset()
        f(y)


def not_yet_watched(f: Callable[[Any], Any]) -> None:
    x = jt.constant(POINT)
    with jt.GradientTape() as tape:
        y = x * 2.0
        tape.watch(x)
        f(y)


def other_thread(f: Callable[[Any], Any]) -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape():
        y = x * 2.0
        thread = threading.Thread(target=lambda: f(y))
        thread.start()
        thread.join()


def own_gradient(f: Callable[[Any], Any]) -> None:
    @jt.custom_gradient
    def g(x: Any) -> Any:
        f(x)
        return 2.0 * x, lambda upstream: 2.0 * upstream

    in_tape(g)


LOUD_PLACES = [
    in_tape, variables, watched_constant, forward, outer_watches, inner_paused, in_function, function_with_tape,
    in_grad, again,
]  # fmt: skip
SILENT_PLACES = [
    unwatched, not_trainable, paused, made_in_a_pause, no_tape, after, was_reset, not_yet_watched, other_thread,
    own_gradient,
]  # fmt: skip
SOME = ("sum", "array", "part of an array", "math.exp", "logpdf", "a library's product")


@pytest.mark.parametrize("place", LOUD_PLACES)
def test_it_warns_wherever_a_tape_follows(place: Callable[[Any], None]) -> None:
    for name in SOME:
        f, function, _ = IMPLICIT[name]
        texts = [str(w.message) for w in exits_of(lambda f=f: place(f))]
        assert texts, name
        assert all(function in text for text in texts)


def test_it_warns_in_a_branch_about_what_is_known_outside() -> None:
    for name in ("logpdf", "a library's product"):
        assert exits_of(lambda name=name: in_cond(IMPLICIT[name][0])), name


@pytest.mark.parametrize("place", SILENT_PLACES)
def test_it_is_silent_where_no_tape_follows(place: Callable[[Any], None]) -> None:
    for name in SOME:
        assert exits_of(lambda name=name: place(IMPLICIT[name][0])) == [], name


def test_a_custom_gradient_excuses_the_innermost_tape_only() -> None:
    x = jt.Variable(POINT)

    @jt.custom_gradient
    def g(x: Any) -> Any:
        scale = math.exp(x[0])
        return scale * x, lambda upstream: scale * upstream

    with jt.GradientTape():
        assert exits_of(lambda: g(x)) == []
        with jt.GradientTape():
            assert len(exits_of(lambda: g(x))) == 1


def test_an_installed_module_that_imports_jittape_is_as_good_as_the_users() -> None:
    aware = library(
        """
        import math
        import jittape as jt
        def train(x, f):
            with jt.GradientTape() as tape:
                loss = jt.reduce_sum(x * x)
                return f(loss)
        def explicit(x):
            return train(x, lambda loss: float(loss))
        def implicit(x):
            return train(x, lambda loss: math.exp(loss))
        """
    )
    x = jt.Variable(POINT)
    assert exits_of(lambda: aware["explicit"](x)) == []
    (warned,) = exits_of(lambda: aware["implicit"](x))
    assert (warned.filename, warned.lineno) == (aware["train"].__code__.co_filename, 10)


def test_constants_looked_at_in_a_tape_are_not_kept_alive() -> None:
    with jt.GradientTape():
        t = jt.constant(POINT)
        gone = weakref.ref(t)
        t.numpy()
        del t
        assert gone() is None


# ---- how loud --------------------------------------------------------------------------------------------------------


@pytest.fixture
def setting() -> Iterator[None]:
    yield
    jt.config.on_tape_exit = "warn"


def test_it_warns_once_for_each_line() -> None:
    x = jt.Variable(POINT)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with jt.GradientTape():
            for i in range(3):
                math.exp(x[i])
            np.sum([x[0], x[1]])
    assert len(caught) == 2


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("name", [name for name in IMPLICIT if name not in ("fromiter", "struct")])
def test_it_can_be_an_error(name: str) -> None:
    jt.config.on_tape_exit = "raise"  # the two put an error of their own in its place
    f, function, _ = IMPLICIT[name]
    with pytest.raises(jt.TapeExitWarning) as caught:
        in_tape(f)
    assert function in str(caught.value)


@pytest.mark.usefixtures("setting")
def test_it_can_be_ignored_and_is_listed_all_the_same() -> None:
    assert jt.config.on_tape_exit == "warn"
    jt.config.on_tape_exit = "ignore"
    x = jt.Variable(POINT)
    with jt.GradientTape(persistent=True) as tape:
        y = x * 2.0
        assert exits_of(lambda: math.exp(y[0])) == []
    assert "math.exp at line" in tape.explain(y, x)
    with pytest.raises(ValueError, match="on_tape_exit must be 'warn', 'raise' or 'ignore', got 'loud'"):
        jt.config.on_tape_exit = "loud"


# ---- what is said later ----------------------------------------------------------------------------------------------


def test_explanations_name_every_exit(mode: str) -> None:
    for _ in range(3):
        x, other = jt.Variable(POINT), jt.Variable(POINT)
        with jt.GradientTape(persistent=True) as tape:
            y = x * 2.0
            a = float(y[0])
            b = y.numpy()
            c = other.numpy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                d = np.sum([y[0], y[1]])
            print(y, f"{y}", repr(y), y[0] > 0)
            z = jt.constant(a + b.sum() + d + c.sum()) * 2.0
        text = tape.explain(z, x)
        first = text.index("float() at line")
        assert first < text.index("numpy() at line") < text.index("np.sum at line")
        assert text.count("at line") == 3
        assert HERE in text
        with pytest.warns(jt.UnconnectedGradientWarning, match=r"float\(\) at line \d+ .*np.sum at line"):
            assert tape.gradient(z, x) is None
        text = tape.explain(z, other)
        assert "numpy() at line" in text
        assert "float()" not in text


def test_a_tape_that_is_used_up_still_lists_its_exits() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = x * 2.0
        float(y[0])
    tape.gradient(y, x)
    assert "float() at line" in tape.explain(y, x)


def test_a_variable_that_was_only_looked_at_is_explained() -> None:
    x = jt.Variable(2.0)
    with jt.GradientTape() as tape:
        y = jt.constant(1.0) * float(x)
    with pytest.warns(jt.UnconnectedGradientWarning, match=r"not used in anything.*float\(\) at line \d+"):
        assert tape.gradient(y, x) is None


def test_exits_move_with_a_tape_that_goes_on_inside_another() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape(persistent=True) as tape:
        y = x * 2.0
        a = float(y[0])
    with jt.GradientTape(), tape:
        z = jt.constant(a)
        assert len(exits_of(lambda: math.exp(y[0]))) == 1
        assert "float() at line" in tape.explain(z, x)


def test_the_table_of_mathematics_names_what_there_is() -> None:
    for name, operation in MATH.items():
        assert callable(getattr(math, name))
        found: Any = jt
        for part in operation.split(".")[1:]:
            found = getattr(found, part)
        assert callable(found)


# ---- records, or is refused ------------------------------------------------------------------------------------------


def test_an_operator_of_a_library_that_knows_priorities_records() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(Series([1.0, 2.0, 3.0]) * x)
    assert tape.gradient(y, x).tolist() == [1.0, 2.0, 3.0]


def test_a_deep_copy_in_a_tape_records() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = copy.deepcopy(x * 2.0)
        y[0] = 0.0
        loss = jt.reduce_sum(y)
    assert tape.gradient(loss, x).tolist() == [0.0, 2.0, 2.0]


def test_shuffling_in_a_tape_records() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = jt.random.shuffle(x, seed=3)
        loss = jt.reduce_sum(y * [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.sort(tape.gradient(loss, x).numpy()), [1.0, 2.0, 3.0])
    assert y.tolist() == jt.random.shuffle(POINT, seed=3).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, lazy: x * lazy,
        lambda x, lazy: jt.constant(lazy),
        lambda x, lazy: jt.stack([x, lazy]),
        lambda x, lazy: jt.constant([lazy, lazy]),
        lambda x, lazy: jt.Variable(lazy),
        lambda x, lazy: np.add(x, lazy),
        lambda x, lazy: np.concatenate([x, lazy]),
        lambda x, lazy: jt.gather(x, lazy),
        lambda x, lazy: x[lazy],
    ],
)
def test_a_dask_array_is_not_computed_unasked(call: Callable[[Any, Any], Any]) -> None:
    before = Lazy.computed
    with pytest.raises(
        TypeError, match="Lazy to a tensor, as that would compute all of its blocks: give one block"
    ):
        call(jt.constant(POINT), Lazy())
    assert Lazy.computed == before
