"""Signal handlers and finalizers that use tensors: each use has the right result or is refused, and nothing is lost.

A profile function stands for the handler: Python runs signal handlers where it calls that, too, when a Python function
begins and when a C function returns.
"""

import itertools
import os
import sys

import numpy as np
import pytest

import jittape as jt

PACKAGE = os.path.dirname(jt.__file__) + os.sep
CACHE = os.path.join(PACKAGE, "compile", "cache") + os.sep
X = np.linspace(0.1, 1.0, 4)
_numbers = itertools.count(2)


class Interruption:
    """Runs `handler` at the calls of jittape's code with the given numbers; `refused` counts the errors."""

    def __init__(self, handler, numbers=()):
        self.handler, self.numbers = handler, frozenset(numbers)
        self.calls = self.done = self.refused = 0

    def _called(self, frame, event, _):
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls += 1
            if self.calls in self.numbers:
                self.done += 1
                try:
                    self.handler()
                except (RuntimeError, TypeError) as error:
                    if "signal handler" not in str(error):
                        raise
                    self.refused += 1

    def __enter__(self):
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def train(scale):
    """Take two steps with a program that `scale` makes a new one; return the weights and what they should be."""
    weights, optimizer, expected = jt.Variable(X), jt.optimizers.SGD(0.1), X.copy()
    for _ in range(2):
        with jt.GradientTape() as tape:
            y = jt.square(weights) * 0.5
            for _ in range(scale % 3):
                y = jt.sin(y)
            loss = jt.reduce_sum(jt.reshape(jt.concat([y, jt.ones(scale, jt.float64)], 0), [-1]))
        (gradient,) = tape.gradient(loss, [weights])
        slope, value = expected.copy(), np.square(expected) * 0.5
        for _ in range(scale % 3):
            slope, value = slope * np.cos(value), np.sin(value)
        optimizer.apply_gradients([(gradient, weights)])
        expected = expected - 0.1 * slope
    return weights.numpy(), expected


def differentiate(scale):
    """Return a Jacobian and a gradient with a seed, from a persistent tape, and what they should be."""
    with jt.GradientTape(persistent=True) as tape:
        x = jt.constant(X)
        tape.watch(x)
        y = jt.sin(x) * float(scale)
        for _ in range(scale):
            y = y + x
    slope = np.cos(X) * scale + scale
    made = [tape.jacobian(y, x).numpy(), tape.gradient(y, x, output_gradients=jt.constant(X)).numpy()]
    return np.stack([made[0].diagonal(), made[1]]), np.stack([slope, slope * X])


def call(scale):
    """Return two results of a function that is traced, and what they should be."""

    @jt.function
    def scaled(x):
        y = x
        for _ in range(scale % 5):
            y = y * scale + 1.0
        return y

    expected = X
    for _ in range(scale % 5):
        expected = expected * scale + 1.0
    return np.stack([scaled(X).numpy(), scaled(jt.constant(X)).numpy()]), np.stack([expected, expected])


class Handlers:
    """What a handler may do; each checks its own result."""

    def __init__(self):
        self.known, self.counter, self.kept = jt.Variable(X), jt.Variable(0.0), []

    def read(self):
        np.testing.assert_array_equal(self.known.numpy(), X)

    def record(self):
        assert float(jt.reduce_sum(jt.constant(np.ones(3)) * 2.0)) == 6.0

    def differentiate(self):
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(self.known * self.known)
        np.testing.assert_allclose(tape.gradient(y, self.known).numpy(), 2 * X)

    def assign(self):
        self.counter.assign_add(1.0)

    def keep(self):
        self.kept.append(jt.constant(X) * 2.0)


HANDLERS = ["read", "record", "differentiate", "assign", "keep"]


def interrupt(program, scales, run, numbers):
    """Run `program` once for each group of `numbers` of calls; return the numbers of handlers and of errors in them."""
    done = refused = 0
    for scale, group in zip(scales, numbers, strict=False):
        with Interruption(run, group) as interruption:
            found, expected = program(scale)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        done, refused = done + interruption.done, refused + interruption.refused
    return done, refused


# A new program takes 1,200 calls, or 100,000 if it is compiled.
STRETCHES = [[*range(7 * part, 2000, 53), *range(2000, 120_000, 1999)] for part in range(1, 8)]


def check(handlers, name, done, refused):
    """Check that each handler was right or refused, and that the thread still records."""
    if name == "read":
        assert refused == 0
    if name == "assign":
        assert float(handlers.counter) == 1 + done - refused
    for tensor in handlers.kept:
        np.testing.assert_array_equal(tensor.numpy(), 2 * X)
    np.testing.assert_array_equal((handlers.known * 2.0).numpy(), 2 * X)


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("program", [train, differentiate])
def test_a_handler_interrupts_a_new_program(program, handler):
    handlers = Handlers()
    run = getattr(handlers, handler)
    run()
    done, refused = interrupt(program, _numbers, run, STRETCHES)
    assert done > 10
    check(handlers, handler, done, refused)


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("program", [train, differentiate])
def test_a_handler_interrupts_a_known_program(program, handler):
    handlers = Handlers()
    run = getattr(handlers, handler)
    run()
    for _ in range(4):
        program(4)
    with Interruption(run) as counted:
        program(4)
    step = counted.calls // 150 + 1
    groups = [[number] for number in range(1, counted.calls, step)]
    done, refused = interrupt(program, itertools.repeat(4), run, groups)
    assert refused < done
    check(handlers, handler, done, refused)


@pytest.mark.filterwarnings(
    "ignore::jittape.FunctionWarning"
)  # what is read in the user's function counts as its own
def test_a_handler_reads_while_a_function_is_traced():
    done, _ = interrupt(call, _numbers, Handlers().read, STRETCHES)
    assert done > 10


class Timeout(Interruption):
    """Raises `TimeoutError` at calls in the code of the cache, as a handler of `signal.alarm` may."""

    def _called(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(CACHE):
            self.calls += 1
            if self.calls in self.numbers:
                self.done += 1
                raise TimeoutError("late")


def chain(number):
    """Return the gradient of a chain of ops that `number` makes a new one, and what it should be."""
    ops = [
        (jt.square, np.square, lambda x: 2 * x),
        (jt.sqrt, np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (jt.math.reciprocal, np.reciprocal, lambda x: -1 / x**2),
    ]
    y, slope = X, np.ones_like(X)
    with jt.GradientTape() as tape:
        x = jt.constant(X)
        tape.watch(x)
        result = x
        while number:
            number, kind = divmod(number, 3)
            op, value, derivative = ops[kind]
            result, slope, y = op(result * 0.5), slope * 0.5 * derivative(y * 0.5), value(y * 0.5)
    return tape.gradient(result, x).numpy(), slope


def test_a_timeout_ends_a_first_run_wherever_it_comes():
    """The system's own `TimeoutError` is an error of a file, which the cache does without; a handler's is not."""
    numbers, done = itertools.count(1001), 0
    for call in range(1, 241, 8):
        number = next(numbers)
        try:
            with Timeout(None, [call]) as timeout:
                for _ in range(5):  # compiled at the second or a later visit
                    chain(number)
        except TimeoutError:
            pass
        else:
            assert not timeout.done
        done += timeout.done
        np.testing.assert_allclose(*chain(number), rtol=1e-12)
    assert done > 20
