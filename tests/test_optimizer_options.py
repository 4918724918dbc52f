"""What all optimizers share: the learning rate, clipping, decay, averages, stored settings; and what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import jittape as jt

RNG = np.random.default_rng(5)
optimizers = jt.optimizers
ALL = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "Nadam", "RMSprop", "SGD")


def counted(run):
    """What `run` adds to the counts of programs and runs."""
    before = jt.stats()
    run()
    after = jt.stats()
    return {name: getattr(after, name) - getattr(before, name) for name in before._fields}


# ---- the learning rate -----------------------------------------------------------------------------------------------


def test_the_learning_rate_is_a_variable():
    w, optimizer = jt.Variable(1.0), optimizers.SGD(0.5)
    assert isinstance(optimizer.learning_rate, jt.Variable)
    assert float(optimizer.learning_rate) == 0.5
    assert float(optimizer.learning_rate * 0.5) == 0.25
    assert optimizer.learning_rate.numpy() == 0.5
    assert optimizers.SGD(0.01).learning_rate.numpy() == 0.01  # to the last digit: it is a float64
    optimizer.learning_rate.assign(0.25)
    optimizer.apply_gradients([(1.0, w)])
    assert float(w) == 0.75
    optimizer.learning_rate = 0.125
    optimizer.apply_gradients([(1.0, w)])
    assert float(w) == 0.625
    optimizer.learning_rate.assign(optimizer.learning_rate * 2.0)
    optimizer.apply_gradients([(1.0, w)])
    assert float(w) == 0.375
    optimizer.learning_rate = np.float32(0.0625)
    assert float(optimizer.learning_rate) == 0.0625


SETTINGS = {
    "a number": lambda optimizer, i: setattr(optimizer, "learning_rate", 0.1 / (i + 1)),
    "assign": lambda optimizer, i: optimizer.learning_rate.assign(0.1 / (i + 1)),
    "a NumPy number": lambda optimizer, i: optimizer.learning_rate.assign(np.float64(0.1 / (i + 1))),
    "a float of it": lambda optimizer, i: setattr(
        optimizer, "learning_rate", float(optimizer.learning_rate) * 0.5
    ),
}


@pytest.mark.parametrize("change", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("inside", [False, True], ids=["recorded", "function"])
def test_changing_the_learning_rate_makes_no_new_program(change, name, inside):
    w, optimizer = jt.Variable([1.0, 2.0]), getattr(optimizers, name)(0.1)

    def step():
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(w))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))

    step = jt.function(step) if inside else step

    def loop():
        for i in range(4):
            change(optimizer, i)
            step()
        w.numpy()

    loop()
    loop()
    done = counted(loop)
    assert (done["programs"], done["paths_recorded"], done["interpreted_runs"]) == (0, 0, 0)
    assert done["compiled_runs"] == 4


@pytest.mark.parametrize("write", ["set", "assign"])
def test_a_learning_rate_made_from_itself_leaves_the_step_its_program(write):
    """However seldom it is done: what halves the learning rate is a small program of its own."""
    w, optimizer = jt.Variable([1.0, 2.0]), optimizers.SGD(0.1)

    def step():
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(w))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))

    def halve():
        if write == "set":
            optimizer.learning_rate = optimizer.learning_rate * 0.5
        else:
            optimizer.learning_rate.assign(optimizer.learning_rate * 0.5)

    def loop():
        for _ in range(3):
            step()
        halve()
        step()  # entering its tape runs what is pending
        size = re.search(r"program: (\d+) ops?,", str(jt.explain()))
        w.numpy()
        return int(size[1])

    step()
    step()
    assert loop() <= 2
    assert counted(loop)["paths_recorded"] == 0
    assert float(optimizer.learning_rate) == 0.1 / 4


def test_the_learning_rate_may_be_assigned_in_a_function():
    w, optimizer = jt.Variable(0.0), optimizers.SGD(1.0)

    @jt.function
    def step(rate):
        optimizer.learning_rate = rate
        optimizer.apply_gradients([(-1.0, w)])
        optimizer.learning_rate = optimizer.learning_rate * 2.0

    for rate in (1.0, 10.0, 100.0):
        step(rate)
        assert float(optimizer.learning_rate) == 2 * rate
    assert float(w) == 111.0
    assert len(step.signatures()) == 1


def test_reading_the_learning_rate_within_a_step_does_not_cut_it():
    w = [jt.Variable([1.0, 2.0]) for _ in range(3)]
    optimizer = optimizers.SGD(0.5)

    def step():
        with jt.GradientTape() as tape:
            loss = jt.add_n([jt.reduce_sum(jt.square(v)) for v in w])
        for v, g in zip(w, tape.gradient(loss, w), strict=True):
            v.assign_sub(optimizer.learning_rate * g)
        return float(loss)

    step()
    step()
    assert counted(step)["flushes"] == 1


def test_schedules_and_functions_as_learning_rates(mode):
    state = {"rate": 1.0}
    rates = {
        "schedule": optimizers.schedules.PiecewiseConstantDecay([0, 1], [1.0, 10.0, 100.0]),
        "of the step": lambda step: jt.where(step < 1, 1.0, jt.where(step < 2, 10.0, 100.0)),
        "of nothing": lambda: state["rate"],
    }
    for name, rate in rates.items():
        for wrap in (lambda f: f, jt.function):
            w, optimizer = jt.Variable(0.0), optimizers.SGD(rate)
            step = wrap(lambda o=optimizer, w=w: (o.apply_gradients([(-1.0, w)]), None)[1])
            for state["rate"] in (1.0, 10.0, 100.0):
                step()
            assert float(w) == 111.0, name
            assert getattr(step, "trace_count", 1) == 1
            assert optimizer.variables[0] is optimizer.iterations
            assert len(optimizer.variables) == 1
    assert float(optimizers.SGD(rates["schedule"]).learning_rate) == 1.0


def test_a_schedule_is_part_of_the_step():
    w = jt.Variable([1.0, 2.0])
    optimizer = optimizers.Adam(
        optimizers.schedules.CosineDecay(0.1, 100, warmup_target=0.2, warmup_steps=10)
    )

    def step():
        optimizer.apply_gradients([([1.0, 1.0], w)])
        return w.numpy()

    for _ in range(3):
        step()
    done = counted(step)
    assert (done["flushes"], done["paths_recorded"], done["programs"]) == (1, 0, 0)


def test_a_schedule_cannot_be_set_to_a_number():
    schedule = optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    optimizer = optimizers.SGD(schedule)
    with pytest.raises(
        TypeError, match="schedule or a function as its `learning_rate`.*not settable to a number"
    ):
        optimizer.learning_rate = 0.1
    optimizer.learning_rate = optimizers.schedules.ExponentialDecay(0.4, 10, 0.5)
    assert float(optimizer.learning_rate) == 0.4
    plain = optimizers.SGD(0.1)
    plain.learning_rate = schedule
    assert float(plain.learning_rate) == 0.1


@pytest.mark.parametrize(
    ("rate", "error", "message"),
    [
        (-1.0, ValueError, "SGD: `learning_rate` must be at least 0 and finite, got -1.0"),
        (float("nan"), ValueError, "finite, got nan"),
        (float("inf"), ValueError, "finite, got inf"),
        ("x", TypeError, "SGD: `learning_rate` must be a number, got 'x' of type str"),
        (None, TypeError, "got None of type NoneType"),
        (True, TypeError, "got True"),
        ([0.1], TypeError, "of type list"),
        (1j, TypeError, "of type complex"),
        (np.ones(2), TypeError, "of type ndarray"),
        (jt.constant([0.1, 0.2]), TypeError, r"must be a single number, got float32 of shape \(2,\)"),
        (jt.constant(True), TypeError, "got bool"),
    ],
)
def test_what_is_no_learning_rate(rate, error, message):
    with pytest.raises(error, match=message):
        optimizers.SGD(rate)
    optimizer = optimizers.SGD(0.5)
    if not isinstance(rate, jt.Tensor):
        with pytest.raises(error, match=message):
            optimizer.learning_rate = rate
    elif rate.shape:
        with pytest.raises(ValueError, match="Shape mismatch"):
            optimizer.learning_rate = rate
    assert float(optimizer.learning_rate) == 0.5


def test_a_function_that_gives_no_learning_rate():
    with pytest.raises(TypeError, match="must be a single number, but <function .* gave 'x'"):
        optimizers.SGD(lambda: "x").apply_gradients([(1.0, jt.Variable(1.0))])


# ---- other arguments -------------------------------------------------------------------------------------------------

BOUNDS = [
    ("SGD", "momentum", [-0.1, 1.1]),
    ("Adam", "beta_1", [-0.1, 1.0]),
    ("AdamW", "beta_2", [-0.1, 1.0]),
    ("Adam", "epsilon", [-1e-7, float("inf")]),
    ("Adamax", "beta_1", [1.0]),
    ("Adamax", "beta_2", [1.0]),
    ("Adamax", "epsilon", [-1.0]),
    ("Nadam", "beta_1", [1.0]),
    ("Nadam", "beta_2", [-1.0]),
    ("Nadam", "epsilon", [-1.0]),
    ("RMSprop", "rho", [-0.1, 1.1]),
    ("RMSprop", "momentum", [-0.1, 1.1]),
    ("RMSprop", "epsilon", [-1.0]),
    ("Adagrad", "initial_accumulator_value", [-0.1]),
    ("Adagrad", "epsilon", [-0.1]),
    ("Adadelta", "rho", [-0.1, 1.1]),
    ("Adadelta", "epsilon", [-0.1]),
    ("Ftrl", "learning_rate_power", [0.5, -float("inf")]),
    ("Ftrl", "initial_accumulator_value", [-0.1]),
    ("Ftrl", "l1_regularization_strength", [-0.1]),
    ("Ftrl", "l2_regularization_strength", [-0.1]),
    ("Ftrl", "l2_shrinkage_regularization_strength", [-0.1]),
    ("Ftrl", "beta", [-0.1]),
    ("Lion", "beta_1", [0.0, 1.1]),
    ("Lion", "beta_2", [-0.1, 1.1]),
    ("AdamW", "weight_decay", [-0.1]),
    *[("SGD", name, [0.0, -1.0, float("inf")]) for name in ("clipnorm", "clipvalue", "global_clipnorm")],
    ("SGD", "weight_decay", [-0.1, float("inf")]),
    ("SGD", "ema_momentum", [-0.1, 1.1]),
    ("SGD", "ema_overwrite_frequency", [0, -3]),
]


@pytest.mark.parametrize(("name", "argument", "values"), BOUNDS, ids=[f"{n}-{a}" for n, a, _ in BOUNDS])
def test_arguments_out_of_range(name, argument, values):
    made = getattr(optimizers, name)
    for value in [*values, *([] if "frequency" in argument else [float("nan")])]:
        with pytest.raises(ValueError, match=f"^{name}: `{argument}` must be .*, got {value}"):
            made(**{argument: value})
    for value in ("x", True, [0.5], 0.5j):
        with pytest.raises(TypeError, match=f"^{name}: `{argument}` must be an? (number|int), got"):
            made(**{argument: value})


@pytest.mark.parametrize(
    ("name", "argument"),
    [("SGD", "nesterov"), ("Adam", "amsgrad"), ("RMSprop", "centered"), ("SGD", "use_ema")],
)
def test_flags_are_bools(name, argument):
    with pytest.raises(TypeError, match=f"{name}: `{argument}` must be True or False, got 'yes' of type str"):
        getattr(optimizers, name)(**{argument: "yes"})


def test_arguments_that_do_not_go_together_or_do_not_exist():
    with pytest.raises(ValueError, match="only one of `clipnorm`, `clipvalue` and `global_clipnorm`"):
        optimizers.Adam(clipnorm=1.0, clipvalue=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'momentun'"):
        optimizers.SGD(momentun=0.9)
    with pytest.raises(TypeError, match="AdamW: `weight_decay` must be a number, got 'much'"):
        optimizers.AdamW(weight_decay="much")
    assert optimizers.AdamW(weight_decay=None).weight_decay is None


# ---- what is given to a step -----------------------------------------------------------------------------------------

PAIRS = [
    (
        lambda v: 3,
        TypeError,
        r"takes pairs \(gradient, jt.Variable\), as zip\(gradients, variables\) makes them, got int",
    ),
    (lambda v: v, TypeError, "makes them, got Variable"),
    (lambda v: [3], TypeError, "got int among them"),
    (lambda v: [(1.0, v, v)], TypeError, "got a sequence of 3 among them"),
    (lambda v: [(1.0, 2.0)], TypeError, "got float as the latter"),
    (
        lambda v: [(1.0, v), (1.0, v)],
        ValueError,
        "'w:0' occurs more than once among the variables; add up its gradients with jt.add_n",
    ),
    (
        lambda v: [(1.0, jt.Variable(1j))],
        TypeError,
        "complex128; .*keep real and imaginary part in two Variables",
    ),
    (lambda v: [(1.0, jt.Variable(1))], TypeError, "is int32; an optimizer updates Variables of float16"),
    (lambda v: [(jt.IndexedSlices(1.0, 0), v)], TypeError, "IndexedSlices; give it as a tensor of all rows"),
    (lambda v: [(1j, v)], TypeError, "complex"),
    (lambda v: [([1.0], v)], ValueError, r"shape \(1,\), the variable \(\)"),
    (lambda v: [], ValueError, "No gradients provided for any variable"),
    (lambda v: [(None, v)], ValueError, r"No gradients provided for any variable: \['w:0'\]"),
]


@pytest.mark.parametrize(("pairs", "error", "message"), PAIRS, ids=[m[:40] for _, _, m in PAIRS])
@pytest.mark.parametrize("name", ["SGD", "Adam", "Nadam"])
def test_what_cannot_be_applied_changes_nothing(pairs, error, message, name):
    w, other = jt.Variable(1.0, name="w"), jt.Variable(2.0)
    optimizer = getattr(optimizers, name)(0.1)
    optimizer.apply_gradients([(1.0, w)])
    given = pairs(w)
    if isinstance(given, list):
        given = [(1.0, other), *given] if given and given != [(None, w)] else given
    before = [v.numpy().copy() for v in (w, other, *optimizer.variables)]
    with pytest.raises(error, match=message):
        optimizer.apply_gradients(given)
    for v, value in zip((w, other, *optimizer.variables), before, strict=True):
        np.testing.assert_array_equal(v.numpy(), value)
    optimizer.apply_gradients([(1.0, w), (1.0, other)])
    assert int(optimizer.iterations) == 2


@pytest.mark.parametrize(
    ("variables", "error", "message"),
    [
        (3, TypeError, "build takes Variables, got int"),
        ([3.0], TypeError, "got float"),
        ([jt.Variable(1j)], TypeError, "complex128"),
        ([jt.Variable(1)], TypeError, "int32"),
    ],
)
def test_what_cannot_be_built(variables, error, message):
    optimizer = optimizers.Adam()
    with pytest.raises(error, match=message):
        optimizer.build(variables)
    assert len(optimizer.variables) == 2


def test_apply_takes_two_lists():
    a, b = jt.Variable(1.0), jt.Variable([1.0, 2.0])
    optimizer = optimizers.SGD(0.5)
    with pytest.raises(ValueError, match="needs build"):
        optimizer.apply([1.0])
    optimizer.apply([1.0, [1.0, 1.0]], [a, b])
    optimizer.apply([1.0, [1.0, 1.0]])
    assert (float(a), b.tolist()) == (0.0, [0.0, 1.0])
    with pytest.raises(ValueError, match="1 gradients for 2 variables"):
        optimizer.apply([1.0])
    assert int(optimizer.iterations) == 2


def test_minimize(mode):
    w, b = jt.Variable([3.0, -1.0]), jt.Variable(0.5)
    optimizer = optimizers.SGD(0.25)

    def loss():
        return jt.reduce_sum(jt.square(w)) + jt.square(b)

    assert optimizer.minimize(loss, [w, b]) is optimizer.iterations
    assert (w.tolist(), float(b)) == ([1.5, -0.5], 0.25)
    with jt.GradientTape() as tape:
        value = loss()
    optimizer.minimize(value, lambda: [w], tape=tape)
    assert (w.tolist(), float(b)) == ([0.75, -0.25], 0.25)
    optimizer.minimize(loss, w, tape=jt.GradientTape())
    assert w.tolist() == [0.375, -0.125]
    with pytest.raises(ValueError, match="`tape` is required when a tensor `loss` is passed"):
        optimizer.minimize(loss(), [w])
    with pytest.raises(TypeError, match="minimize takes Variables, got int"):
        optimizer.minimize(loss, 3)


# ---- clipping --------------------------------------------------------------------------------------------------------

GRADIENTS = [np.array([3.0, -4.0]), np.array([[0.3, 0.1]]), np.float64(-12.0)]


def clipped_by_all():
    norm = np.sqrt(sum(np.sum(g**2) for g in GRADIENTS))
    return [g * (6.5 / norm) for g in GRADIENTS]


CLIPPED = {
    "clipnorm": (2.5, lambda: [g * min(1.0, 2.5 / np.sqrt(np.sum(g**2))) for g in GRADIENTS]),
    "clipvalue": (2.5, lambda: [np.clip(g, -2.5, 2.5) for g in GRADIENTS]),
    "global_clipnorm": (6.5, clipped_by_all),
}


@pytest.mark.parametrize("how", CLIPPED)
@pytest.mark.parametrize(
    "dtypes", [("float64",) * 3, ("float64", "float32", "float16")], ids=["one", "mixed"]
)
def test_clipping(how, dtypes, mode):
    limit, wanted = CLIPPED[how]
    variables = [jt.Variable(np.zeros(np.shape(g)), dtype=d) for g, d in zip(GRADIENTS, dtypes, strict=True)]
    optimizer = optimizers.SGD(1.0, **{how: limit})
    for _ in range(2):
        optimizer.apply_gradients(zip(GRADIENTS, variables, strict=True))
    for v, g, dtype in zip(variables, wanted(), dtypes, strict=True):
        assert v.dtype == dtype
        tolerance = 1e-14 if len(set(dtypes)) == 1 else 1e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(v.numpy(), -2 * g, rtol=tolerance)


def test_a_float16_gradient_whose_squares_overflow_is_clipped():
    w = jt.Variable([0.0, 0.0], dtype="float16")
    optimizers.SGD(1.0, clipnorm=5.0).apply_gradients([(jt.constant([3e4, -4e4], jt.float16), w)])
    assert w.tolist() == [-3.0, 4.0]


# ---- weight decay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_weight_decay_is_apart_from_the_gradient(dtype, mode):
    w = jt.Variable([1.0, -2.0], dtype=dtype)
    for optimizer in (optimizers.SGD(0.5, weight_decay=0.5), optimizers.Adam(0.5, weight_decay=0.5)):
        w.assign([1.0, -2.0])
        for _ in range(2):
            optimizer.apply_gradients([([0.0, 0.0], w)])
        assert w.tolist() == [0.5625, -1.125]


def test_exclusion_from_weight_decay():
    a, b, c = (jt.Variable(1.0, name=name) for name in ("dense/kernel", "dense/bias", "scale"))
    optimizer = optimizers.AdamW(0.5, weight_decay=0.5)
    pairs = [(0.0, v) for v in (a, b, c)]
    optimizer.exclude_from_weight_decay(var_list=[c], var_names=["bias$|gamma", "bias"])
    optimizer.apply_gradients(pairs)
    assert [float(v) for v in (a, b, c)] == [0.75, 1.0, 1.0]
    optimizer.exclude_from_weight_decay(var_names=["kernel"])
    optimizer.apply_gradients(pairs)
    assert [float(v) for v in (a, b, c)] == [0.75, 0.75, 0.75]
    with pytest.raises(TypeError, match="exclude_from_weight_decay takes Variables, got str"):
        optimizer.exclude_from_weight_decay("bias")


# ---- moving averages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frequency", [None, 1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_moving_averages(frequency, dtype, mode):
    """As the docstring says: the average begins with the value after the first step."""
    w = jt.Variable([1.0, -2.0], dtype=dtype)
    optimizer = optimizers.SGD(0.25, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=frequency)
    value, average = np.array([1.0, -2.0]), None
    for t in range(1, 8):
        gradient = np.array([t, -1.0]) / 8
        optimizer.apply_gradients([(gradient, w)])
        value = value - 0.25 * gradient
        average = value if average is None else 0.75 * average + 0.25 * value
        if frequency is not None and t % frequency == 0:
            value = average
        np.testing.assert_allclose(w.numpy(), value, rtol=2e-3 if dtype == "float16" else 1e-6)
    optimizer.finalize_variable_values([w])
    np.testing.assert_allclose(w.numpy(), average, rtol=2e-3 if dtype == "float16" else 1e-6)
    assert w.dtype == dtype


def test_the_average_of_a_variable_that_comes_later_begins_with_its_value():
    a, b = jt.Variable(1.0), jt.Variable(8.0)
    optimizer = optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
    optimizer.apply_gradients([(0.0, a)])
    optimizer.apply_gradients([(0.0, a), (4.0, b)])
    optimizer.finalize_variable_values([a, b])
    assert (float(a), float(b)) == (1.0, 6.0)


def test_finalizing_without_an_average():
    w, strange = jt.Variable(1.0), jt.Variable(1.0, name="strange")
    plain = optimizers.SGD(0.5)
    plain.apply_gradients([(1.0, w)])
    plain.finalize_variable_values([w])
    assert float(w) == 0.5
    optimizer = optimizers.SGD(0.5, use_ema=True)
    optimizer.apply_gradients([(1.0, w)])
    w.assign(7.0)
    with pytest.raises(ValueError, match=r"SGD has no averages of \['strange:0'\]"):
        optimizer.finalize_variable_values([w, strange])
    assert float(w) == 7.0


def test_averages_and_decay_in_a_function():
    """State made on the first call from values that the function itself has worked out by then."""
    w = jt.Variable([1.0, -2.0])
    optimizer = optimizers.Adam(
        0.1, use_ema=True, ema_overwrite_frequency=2, weight_decay=0.1, global_clipnorm=1.0
    )
    other = jt.Variable([1.0, -2.0])
    recorded = optimizers.Adam(
        0.1, use_ema=True, ema_overwrite_frequency=2, weight_decay=0.1, global_clipnorm=1.0
    )

    @jt.function
    def step(gradient):
        optimizer.apply_gradients([(gradient, w)])

    for t in range(5):
        gradient = jt.constant([1.0 + t, -3.0])
        step(gradient)
        recorded.apply_gradients([(gradient, other)])
        np.testing.assert_allclose(w.numpy(), other.numpy(), rtol=1e-6)
    assert len(step.signatures()) == 1


# ---- as data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_settings_are_plain_data(name):
    made = getattr(optimizers, name)(0.25, clipnorm=2.0, use_ema=True, name="mine")
    config = json.loads(json.dumps(made.get_config()))
    assert (config["name"], config["learning_rate"], config["clipnorm"]) == ("mine", 0.25, 2.0)
    again = type(made).from_config(config)
    assert again.get_config() == made.get_config()
    stored = json.loads(json.dumps(optimizers.serialize(made)))
    for copy in (optimizers.deserialize(stored), optimizers.get(stored)):
        assert type(copy) is type(made)
        assert copy.get_config() == made.get_config()
    for spelling in (name, name.lower(), name.upper()):
        assert type(optimizers.get(spelling)) is type(made)
    assert optimizers.get(made) is made


def test_a_schedule_is_stored_with_the_optimizer():
    class Mine(optimizers.schedules.LearningRateSchedule):
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, step):
            return self.rate

    decay = optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    stored = json.loads(json.dumps(optimizers.serialize(optimizers.Adam(decay))))
    assert float(optimizers.deserialize(stored).learning_rate) == 0.1
    stored = json.loads(json.dumps(optimizers.serialize(optimizers.Adam(Mine(0.5)))))
    assert optimizers.deserialize(stored, {"Mine": Mine}).learning_rate == 0.5
    with pytest.raises(ValueError, match="there is no schedule 'Mine'; there are CosineDecay"):
        optimizers.deserialize(stored)
    with pytest.raises(TypeError, match="a function cannot be stored as a learning rate"):
        optimizers.Adam(lambda: 0.1).get_config()


def test_what_names_no_optimizer():
    assert optimizers.get(None) is None
    with pytest.raises(
        ValueError, match="there is no optimizer 'adaam'; there are Adadelta, Adafactor, Adagrad, Adam"
    ):
        optimizers.get("adaam")
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier: 3"):
        optimizers.get(3)
    with pytest.raises(ValueError, match="class_name"):
        optimizers.get({"name": "adam"})


# ---- what a step compiles to -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_step_is_one_executable_and_each_update_one_pass(name):
    """200 arrays of 10 to 100 elements: one flush, and a nest for each size, which reads and writes an array once."""
    sizes = np.resize(np.arange(10, 101), 200)
    variables = [jt.Variable(RNG.normal(size=n)) for n in sizes]
    gradients = [jt.constant(RNG.normal(size=n)) for n in sizes]
    optimizer = getattr(optimizers, name)(0.001)

    def step():
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        int(optimizer.iterations)

    step()
    step()
    done = counted(step)
    assert (done["flushes"], done["compiled_runs"], done["programs"]) == (1, 1, 0)
    page = jt.explain()
    updates = [s for s in page.steps if s.loops]
    assert len(updates) == 91
    assert len({s.listing for s in updates}) == 2  # of two arrays and of three
    assert len(page.steps) <= len(updates) + 2  # and what is the same for all
    slots, elements = (len(optimizer.variables) - 2) // 200, sum(sizes.tolist())
    scalars = 8 * 200 * 12
    assert sum(s.bytes_written for s in updates) <= 8 * elements * (1 + slots) + scalars
    assert sum(s.bytes_read for s in updates) <= 8 * elements * (2 + slots) + scalars


# ---- accumulated and scaled gradients, weights -----------------------------------------------------------------------


def accumulated(function, **options):
    """Return three values: those of six steps in groups of three, and of two steps with the averages."""
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(6, 4))
    results = []
    for steps, given in ((3, gradients), (None, gradients.reshape(2, 3, 4).mean(1))):
        w = jt.Variable(np.arange(4.0))
        optimizer = optimizers.Adam(0.1, gradient_accumulation_steps=steps, **options)
        step = jt.function(lambda g, o=optimizer, w=w: o.apply_gradients([(g, w)])) if function else None
        values = []
        for g in given:
            optimizer.apply_gradients([(jt.constant(g), w)]) if step is None else step(g)
            values.append(w.numpy())
        results.append((values, int(optimizer.iterations)))
    return results


@pytest.mark.parametrize("function", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"clipnorm": 0.5},
        {"weight_decay": 0.3},
        {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
    ],
    ids=str,
)
def test_accumulated_gradients_are_one_step_with_their_average(function, options):
    (small, iterations), (large, expected) = accumulated(function, **options)
    assert iterations == expected == 2
    for unchanged in (small[0], small[1]):
        np.testing.assert_array_equal(unchanged, np.arange(4.0))
    np.testing.assert_array_equal(small[3], small[2])
    np.testing.assert_allclose(small[2], large[0], rtol=1e-14)
    np.testing.assert_allclose(small[5], large[1], rtol=1e-14)


@pytest.mark.parametrize("function", [False, True])
def test_a_schedule_counts_steps_between_updates(function):
    w = jt.Variable(np.ones(1))
    schedule = optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    optimizer = optimizers.SGD(schedule, gradient_accumulation_steps=3)
    apply = optimizer.apply_gradients
    step = jt.function(lambda g: apply([(g, w)])) if function else (lambda g: apply([(jt.constant(g), w)]))
    values, rates = [1.0], []
    for i in range(9):
        rates.append(float(optimizer.learning_rate))
        step(np.ones(1))
        values.append(float(w[0]))
        assert int(optimizer.iterations) == (i + 1) // 3
    np.testing.assert_allclose(rates, 0.1 * 0.5 ** np.arange(9.0), rtol=1e-14)
    changes = -np.diff(values)
    np.testing.assert_allclose(changes[2::3], rates[2::3], rtol=1e-12)
    assert not changes[np.arange(9) % 3 != 2].any()


def test_accumulation_is_traced_once():
    w = jt.Variable(np.ones(3))
    optimizer = optimizers.SGD(0.1, gradient_accumulation_steps=2)

    @jt.function
    def step(g):
        optimizer.apply_gradients([(g, w)])

    for _ in range(5):
        step(np.ones(3))
    assert len(step.signatures()) == 1
    np.testing.assert_allclose(w.numpy(), 0.8)


def test_a_scaled_loss_gives_the_same_step():
    values = []
    for factor in (None, 1024.0):
        w, optimizer = jt.Variable([1.0, 2.0]), optimizers.SGD(0.1, loss_scale_factor=factor)
        with jt.GradientTape() as tape:
            loss = optimizer.scale_loss(jt.reduce_sum(jt.square(w)))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        values.append(w.numpy())
    np.testing.assert_array_equal(*values)
    np.testing.assert_allclose(values[0], [0.8, 1.6], rtol=1e-6)


def test_small_gradients_of_float16_survive_with_a_scale():
    lengths = []
    for factor in (None, 2.0**14):
        w, optimizer = jt.Variable(np.float16(1.0)), optimizers.SGD(1e5, loss_scale_factor=factor)
        with jt.GradientTape() as tape:
            loss = optimizer.scale_loss(w * np.float16(1e-4)) * np.float16(1e-4)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        lengths.append(float(w))
    assert lengths[0] == 1.0
    assert 0.9985 < lengths[1] < 0.9995


def test_weights_are_read_and_set():
    w = jt.Variable([1.0, 2.0])
    first, second = optimizers.Adam(0.1), optimizers.Adam(0.5)
    first.apply_gradients([([1.0, -1.0], w)])
    second.build([w])
    second.set_weights(first.get_weights())
    assert float(second.learning_rate) == pytest.approx(0.1)
    for a, b in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    kept = second.get_weights()
    for wrong in (kept[:-1], [*kept[:-1], np.ones(3)]):
        with pytest.raises(ValueError, match=r"set_weights needs values of the shapes .* got"):
            second.set_weights(wrong)
    for a, b in zip(kept, second.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss_scale_factor": 0.0}, ValueError, "`loss_scale_factor` must be greater than 0"),
        ({"gradient_accumulation_steps": 0}, ValueError, "`gradient_accumulation_steps` must be at least 1"),
        ({"gradient_accumulation_steps": 1.5}, TypeError, "must be an int"),
    ],
)
def test_wrong_scales_and_steps(options, error, message):
    with pytest.raises(error, match=message):
        optimizers.SGD(0.1, **options)


@pytest.mark.parametrize("name", ["Muon", "Adafactor", "Lamb"])
def test_state_of_new_optimizers_goes_through_files_and_dicts(name, tmp_path):
    def step(optimizer, w):
        optimizer.apply_gradients(
            [(jt.sin(jt.range(6.0, dtype="float64") + w[0, 0]) + jt.zeros([4, 6], "float64"), w)]
        )

    made = optimizers.get(name)
    w = jt.Variable(np.ones((4, 6)))
    step(made, w)
    made.save_weights(tmp_path / "state.npz")
    copy = optimizers.deserialize(optimizers.serialize(made))
    assert copy.get_config() == made.get_config()
    v = jt.Variable(w)
    copy.load_weights(tmp_path / "state.npz", [v])
    step(made, w)
    step(copy, v)
    np.testing.assert_array_equal(v.numpy(), w.numpy())
    assert not np.array_equal(w.numpy(), np.ones((4, 6)))


def test_muon_leaves_embeddings_and_excluded_layers_to_adam():
    names = {"weight": False, "embedding": True, "head/weight": True, "bias": True}
    variables = [jt.Variable(np.ones(3 if name == "bias" else (3, 3)), name=name) for name in names]
    optimizer = optimizers.Muon(0.1, exclude_layers=["^head"], weight_decay=0.5, adam_weight_decay=None)
    optimizer.build(variables)
    state = {v.name for v in optimizer.variables}
    for name, adam in names.items():
        assert (f"{name.replace('/', '_')}_0_velocity" in state) == adam
    optimizer.apply_gradients([(np.zeros(v.shape), v) for v in variables])
    assert [float(np.ravel(v.numpy())[0]) for v in variables] == pytest.approx([0.95, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("options", "constraint", "values", "last"),
    [  # of TensorFlow 2.21
        (
            {"gradient_accumulation_steps": 2},
            "non_neg",
            [[1.0, 0.0, 3.0, 4.0], [0.5, 0.0, 4.5, 2.0], [0.5, 0.0, 4.5, 2.0]],
            [0.5, 0.0, 4.5, 2.0],
        ),
        (
            {"use_ema": True, "ema_momentum": 0.5},
            "non_neg",
            [[0.5, 0.0, 4.5, 2.0], [0.0, 0.0, 7.35, 0.0], [0.0, 0.0, 11.415, 0.0]],
            [-0.665, -2.58, 8.67, -2.66],
        ),
        (
            {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
            "unit_norm",
            [
                [0.11043, -0.83205, 0.99388, 0.5547],
                [-0.04066, -0.9772, 0.99917, -0.2123],
                [-0.26569, -0.54772, 0.96406, -0.83666],
            ],
            [-0.78272, -3.27662, 4.61806, -3.12747],
        ),
    ],
)
def test_constraints_apply_after_averages_and_in_steps_without_an_update(options, constraint, values, last):
    w = jt.Variable([[1.0, -2.0], [3.0, 4.0]], constraint=jt.keras.constraints.get(constraint))
    optimizer = optimizers.SGD(0.5, momentum=0.9, **options)
    for expected in values:
        optimizer.apply_gradients([(jt.constant([[1.0, 2.0], [-3.0, 4.0]]), w)])
        np.testing.assert_allclose(w.numpy().ravel(), expected, atol=1e-5)
    if optimizer.use_ema:
        optimizer.finalize_variable_values([w])
    np.testing.assert_allclose(w.numpy().ravel(), last, atol=1e-5)
