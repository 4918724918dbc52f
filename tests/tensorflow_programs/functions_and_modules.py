"""Programs on `tf.function`, tracing and modules."""

import tempfile
from pathlib import Path

import numpy as np

X = np.random.default_rng(2).normal(size=(9, 3)).astype(np.float32)


def a_function_of_tensors(tf):
    @tf.function
    def add(a, b):
        return a + b

    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        result = add(v, 1.0)
    return add(tf.ones([2, 2]), tf.ones([2, 2])), tape.gradient(result, v)


def functions_in_functions(tf):
    @tf.function
    def affine(x, w, b):
        return tf.matmul(x, w) + b

    @tf.function
    def twice(x, w, b):
        return affine(affine(x, w, b), w, b)

    return twice(tf.constant(X), tf.eye(3) * 2.0, tf.constant([1.0, 0.0, -1.0]))


def a_function_is_traced_once_for_each_kind(tf):
    traces = []

    @tf.function
    def double(a):
        traces.append(a.dtype.name)
        return a + a

    results = [
        double(tf.constant(1)),
        double(tf.constant(1.1)),
        double(tf.constant(2)),
        double(tf.constant(2.5)),
    ]
    return results, traces, double.experimental_get_tracing_count()


def a_signature_restricts_tracing(tf):
    traces = []

    @tf.function(input_signature=(tf.TensorSpec(shape=[None], dtype=tf.int32),))
    def next_collatz(x):
        traces.append(1)
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    results = [next_collatz(tf.constant([1, 2, 3, 4])), next_collatz(tf.constant([9, 4, 7, 10, 5]))]
    refused = []
    for bad in (tf.constant([[1, 2], [3, 4]]), tf.constant([1.0, 2.0])):
        try:
            next_collatz(bad)
        except (TypeError, ValueError):
            refused.append(True)
    return results, len(traces), refused


def a_signature_with_an_unknown_extent_is_one_trace(tf):
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def loss(x):
        traces.append(1)
        return tf.reduce_mean(tf.square(x), axis=0)

    return [loss(tf.constant(X[:n])) for n in (4, 5, 7, 9)], len(traces)


def python_arguments_are_part_of_the_signature(tf):
    traces = []

    @tf.function
    def train(x, steps):
        traces.append(1)
        for _ in range(steps):
            x = x * 2.0
        return x

    return [train(tf.constant(1.0), steps) for steps in (3, 3, 2)], len(traces)


def a_concrete_function(tf):
    @tf.function
    def power(a, b):
        return a**b

    square = power.get_concrete_function(tf.TensorSpec([2], tf.float32), b=2)
    refused = False
    try:
        square(tf.constant([1, 2]))
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        refused = True
    return square(tf.constant([3.0, 4.0])), square(a=tf.constant([1.0, 5.0])), refused


def python_side_effects_happen_when_tracing(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(1)
        return x + 1.0

    return [f(tf.constant(v)) for v in (1.0, 2.0, 3.0)], len(seen)


def a_variable_in_a_function(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        return v.assign_add(x)

    return f(1.0), f(2.0), v


def a_variable_is_made_once(tf):
    class Count(tf.Module):
        def __init__(self):
            super().__init__()
            self.count = None

        @tf.function
        def __call__(self):
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    count = Count()
    return count(), count()


def a_function_that_makes_a_variable_each_time(tf):
    @tf.function
    def f(x):
        v = tf.Variable(1.0)
        return v + x

    try:
        f(1.0)
    except ValueError:
        return "ValueError"


def conditions(tf):
    @tf.function
    def f(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x)

    return f(tf.constant([1.0, 2.0])), f(tf.constant([-1.0, -2.0]))


def a_branch_in_python(tf):
    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            return x * 2.0
        return -x

    return f(tf.constant([1.0, 2.0])), f(tf.constant([-1.0, -2.0]))


def a_loop_that_depends_on_data(tf):
    @tf.function
    def f(x):
        return tf.while_loop(lambda x: tf.reduce_sum(x) > 1.0, lambda x: [tf.tanh(x)], [x])[0]

    return f(tf.constant([0.9, 0.7, 0.2]))


def a_loop_over_a_range(tf):
    @tf.function
    def fizz(n):
        total = tf.constant(0)
        for i in tf.range(n):
            total += i * i
        return total

    return fizz(tf.constant(10)), fizz(tf.constant(4))


def values_are_collected_in_an_array(tf):
    @tf.function
    def dynamic_rnn(step, inputs, state):
        inputs = tf.transpose(inputs, [1, 0, 2])
        states = tf.TensorArray(tf.float32, size=2)
        for i in range(2):
            state = step(inputs[i], state)
            states = states.write(i, state)
        return tf.transpose(states.stack(), [1, 0, 2])

    return dynamic_rnn(lambda x, s: x + s, tf.reshape(tf.range(12.0), [2, 2, 3]), tf.zeros([2, 3]))


def gradients_inside_of_a_function(tf):
    w = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x * w) ** 2)
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.01 * gradient)
        return loss

    return [step(tf.constant(X[0])) for _ in range(3)], w


def functions_run_eagerly(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(1)
        return x + 1

    tf.config.run_functions_eagerly(True)
    try:
        results = [f(tf.constant(v)) for v in (1, 2)]
    finally:
        tf.config.run_functions_eagerly(False)
    return results, len(seen), tf.config.functions_run_eagerly()


def results_keep_their_structure(tf):
    @tf.function
    def f(x):
        return {"a": x, "b": (x + 1, [x * 2, None])}

    found = f(tf.constant(2.0))
    return found["a"], found["b"][0], found["b"][1][0], found["b"][1][1]


def python_results_become_tensors(tf):
    found = tf.function(lambda: (1, 2.0, True, np.ones(2)))()
    return found, [t.dtype.name for t in found]


def a_method_is_a_function(tf):
    class Scaled(tf.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = tf.Variable(scale)

        @tf.function
        def __call__(self, x):
            return self.scale * x

    two, three = Scaled(2.0), Scaled(3.0)
    return two(tf.constant(1.0)), three(tf.constant(1.0)), two(tf.constant(5.0))


def make_dense(tf):
    class Dense(tf.Module):
        def __init__(self, in_features, out_features, name=None):
            super().__init__(name=name)
            values = np.random.default_rng(in_features).normal(size=(in_features, out_features))
            self.w = tf.Variable(values.astype(np.float32), name="w")
            self.b = tf.Variable(tf.zeros([out_features]), name="b")

        def __call__(self, x):
            return tf.nn.relu(tf.matmul(x, self.w) + self.b)

    return Dense


def make_network(tf):
    dense = make_dense(tf)

    class Network(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.hidden = dense(3, 4)
            self.blocks = [dense(4, 4), dense(4, 2)]
            self.steps = tf.Variable(0, trainable=False, name="steps")

        def __call__(self, x):
            x = self.hidden(x)
            for block in self.blocks:
                x = block(x)
            return x

    return Network


def a_module_collects_its_variables(tf):
    network = make_network(tf)(name="net")
    return (
        network(tf.constant(X)), network.name, len(network.trainable_variables), len(network.variables),
        sorted(tuple(v.shape) for v in network.variables), len(network.submodules),
        sorted(type(m).__name__ for m in network.submodules),
    )  # fmt: skip


def a_module_names_its_variables(tf):
    class SmallModule(tf.Module):
        def __init__(self):
            super().__init__()
            with self.name_scope:
                self.v = tf.Variable(1.0, name="v")

        @tf.Module.with_name_scope
        def __call__(self):
            if not hasattr(self, "late"):
                self.late = tf.Variable(2.0, name="late")
            return self.v + self.late

    module = SmallModule()
    return module(), module.name, module.v.name.split(":")[0], module.late.name.split(":")[0]


def a_checkpoint_restores_a_module(tf):
    network, other = make_network(tf)(), make_network(tf)()
    network.hidden.w.assign(tf.ones([3, 4]) * 0.25)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(model=network).write(str(Path(folder) / "mine"))
        tf.train.Checkpoint(model=other).read(path).assert_consumed()
    return other.hidden.w, other(tf.constant(X)) - network(tf.constant(X))


def checkpoints_are_numbered(tf):
    step, v = tf.Variable(0), tf.Variable(1.0)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tf.train.Checkpoint(step=step, v=v)
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        for _ in range(4):
            step.assign_add(1)
            v.assign(v * 2.0)
            manager.save()
        kept = [Path(p).name for p in manager.checkpoints]
        v.assign(0.0)
        step.assign(0)
        checkpoint.restore(manager.latest_checkpoint)
        return kept, v, step, Path(tf.train.latest_checkpoint(folder)).name


def assertions(tf):
    x = tf.constant([1.0, 2.0])
    tf.debugging.assert_equal(x, [1.0, 2.0])
    tf.debugging.assert_positive(x)
    tf.debugging.assert_rank(x, 1)
    tf.debugging.assert_shapes([(x, ("N",))])
    found = []
    for check in (
        lambda: tf.debugging.assert_equal(x, [1.0, 3.0]),
        lambda: tf.debugging.assert_less(x, [1.0, 3.0]),
        lambda: tf.debugging.assert_negative(x),
    ):
        try:
            check()
        except tf.errors.InvalidArgumentError:
            found.append(True)
    return found
