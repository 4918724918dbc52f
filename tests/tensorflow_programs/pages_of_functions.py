"""Cells of the guide's pages on functions, graphs, modules and checkpoints."""

import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np

# ---- tracing ---------------------------------------------------------------------------------------------------------


def a_relaxed_shape_serves_all_lengths(tf):
    @tf.function(reduce_retracing=True)
    def doubled(x):
        return x * 2

    return [doubled(tf.constant(list(range(n)))) for n in (3, 5, 7, 3)]


def an_argument_of_python_chooses_the_trace(tf):
    traced = []

    @tf.function
    def call(x, training):
        traced.append(1)
        return x * 2.0 if training else x

    return [call(tf.constant(1.0), flag) for flag in (True, False, True)], len(traced)


def an_attribute_of_an_object_chooses_the_branch(tf):
    class Fruit:
        def __init__(self, flavor):
            self.flavor = flavor

    @tf.function
    def price(fruit, weight):
        return weight * (2.0 if fruit.flavor == "sweet" else 0.5)

    return [price(Fruit(flavor), tf.constant(3.0)) for flavor in ("sweet", "sour")]


def a_concrete_function_of_any_rank(tf):
    double = tf.function(lambda a: a + a)
    concrete = double.get_concrete_function(tf.TensorSpec(None, tf.float32))
    return concrete(tf.constant([[1.0, 2.0]])), concrete(tf.constant(3.0))


def arguments_by_name_and_by_position(tf):
    @tf.function
    def total(x, *others, y=3.0, **rest):
        return x * y + sum(others) + sum(rest.values())

    one = tf.constant(1.0)
    return total(one), total(one, 2.0, 3.0), total(tf.constant(2.0), y=5.0, z=one, w=one * 4.0)


def results_of_named_tuples_and_none(tf):
    pair = namedtuple("Pair", "first second")

    @tf.function
    def swap(p):
        return pair(p.second, {"sum": p.first + p.second, "nothing": None})

    found = swap(pair(tf.constant(1.0), tf.constant([2.0, 3.0])))
    return type(found).__name__, found.first, found.second["sum"], found.second["nothing"]


def an_argument_that_may_be_none(tf):
    @tf.function
    def call(a, b=None, c=(1, 2)):
        return a if b is None else a + b * c[0]

    one, five = tf.constant(1), tf.constant(5)
    return call(one), call(one, five), call(one, five, c=(3, 4)), call(one)


def methods_of_two_objects(tf):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def __call__(self, x):
            return x * self.factor

        @tf.function
        def twice(self, x):
            return self(self(x))

    small, large = Scale(2.0), Scale(tf.Variable(3.0))
    found = [f(tf.constant(1.0)) for f in (small, large, small.twice, large.twice)]
    large.factor.assign(10.0)
    return found, large.twice(tf.constant(1.0)), Scale.twice(small, tf.constant(5.0))


# ---- control flow ----------------------------------------------------------------------------------------------------


def numbers_that_three_and_five_divide(tf):
    @tf.function
    def kinds(n):
        found = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(1, n + 1):
            if i % 15 == 0:
                kind = 3
            elif i % 5 == 0:
                kind = 2
            elif i % 3 == 0:
                kind = 1
            else:
                kind = 0
            found = found.write(i - 1, kind)
        return found.stack()

    return kinds(tf.constant(5)), kinds(tf.constant(16))


def a_loop_that_breaks_and_continues(tf):
    @tf.function
    def steps(x):
        for i in tf.range(5):
            if i == 3:
                break
            x = x + 1
            if x > 50:
                continue
            x = x * 2
        return x

    return steps(tf.constant(1)), steps(tf.constant(60))


def conditions_joined_by_words(tf):
    @tf.function
    def call(x):
        if (x > 0 and tf.reduce_any(x > 3)) or not x < 10:
            return x * 1.0
        return -x

    return [call(tf.constant(x)) for x in (1.0, 5.0, -2.0, 12.0)]


def numbers_of_fibonacci(tf):
    @tf.function
    def fibonacci(n):
        a, b = tf.constant(0), tf.constant(1)
        for _ in tf.range(n):
            a, b = b, a + b
        return a

    return [fibonacci(tf.constant(n)) for n in (0, 1, 10)]


def a_variable_between_two_reads(tf):
    v = tf.Variable(1.0)

    @tf.function
    def call():
        before = v.read_value()
        v.assign(v * 2.0)
        middle = v.value()
        v.assign_add(1.0)
        return before, middle, v.read_value()

    return [call() for _ in range(3)], v


def python_state_is_not_part_of_a_trace(tf):
    class Model:
        def __init__(self):
            self.v, self.counter = tf.Variable(0), 0

        @tf.function
        def __call__(self):
            if self.counter == 0:
                self.counter = 1
                self.v.assign_add(1)
            else:
                self.v.assign_sub(1)
            return self.v.value()

    model = Model()
    return [model() for _ in range(3)]


def gradients_inside_and_outside_of_functions(tf):
    inner = tf.function(tf.exp)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(inner(x))
        return tape.gradient(y, x)

    x = tf.constant(0.3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        g = slope(x)
    return g, tape.gradient(g, x)


def two_optimizers_in_turn(tf):
    def make_step():
        @tf.function
        def train_step(w, x, y, optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(w * x - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))

        return train_step

    optimizers = [tf.keras.optimizers.Adam(learning_rate=rate) for rate in (0.01, 0.02)]
    steps = [make_step(), make_step()]
    w, x, y = tf.Variable(2.0), tf.constant([-1.0]), tf.constant([2.0])
    for i in range(6):
        steps[i % 2](w, x, y, optimizers[i % 2])
    return w


def gradients_are_collected_over_batches(tf):
    v, optimizer = tf.Variable([1.0, 2.0]), tf.keras.optimizers.Adam(0.1)
    sums = [tf.Variable(tf.zeros_like(v), trainable=False)]
    data = tf.constant(np.arange(12.0).reshape(6, 2), tf.float32)

    @tf.function
    def add_gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * v - 1.0) ** 2)
        for total, g in zip(sums, tape.gradient(loss, [v]), strict=True):
            total.assign_add(g / 3.0)
        return loss

    @tf.function
    def apply():
        optimizer.apply_gradients(zip(sums, [v], strict=True))
        for total in sums:
            total.assign(tf.zeros_like(total))

    losses = []
    for i in range(6):
        losses.append(add_gradients(data[i]))
        if i % 3 == 2:
            apply()
    return losses, v, sums


# ---- modules and checkpoints -----------------------------------------------------------------------------------------


def a_tree_of_modules(tf):
    class Leaf(tf.Module):
        def __init__(self, value, name=None):
            super().__init__(name=name)
            self.v = tf.Variable(value, name="v")

    class Tree(tf.Module):
        def __init__(self):
            super().__init__(name="tree")
            self.leaves = [Leaf(1.0), {"b": Leaf(3.0), "a": Leaf(2.0)}]
            self.fixed = (tf.Variable(9.0, trainable=False, name="fixed"),)

    tree = Tree()
    return (
        tree.name, len(tree.submodules), len(tree.variables), len(tree.trainable_variables),
        len(tree.non_trainable_variables), sorted(float(v) for v in tree.variables),
    )  # fmt: skip


def training_goes_on_from_a_checkpoint(tf):
    def make_state():
        inputs = tf.range(10.0)[:, None]
        data = tf.data.Dataset.from_tensor_slices({"x": inputs, "y": inputs * 5.0 + 1.0}).repeat().batch(2)
        w = tf.Variable([[1.0]])
        return w, tf.train.Checkpoint(step=tf.Variable(0), w=w, iterator=iter(data))

    def train(state, count):
        w, checkpoint = state
        losses = []
        for _ in range(count):
            example = next(checkpoint.iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(example["x"] @ w - example["y"]))
            w.assign_sub(0.01 * tape.gradient(loss, w))
            checkpoint.step.assign_add(1)
            losses.append(float(loss))
        return losses

    with tempfile.TemporaryDirectory() as folder:
        state = make_state()
        manager = tf.train.CheckpointManager(state[1], folder, max_to_keep=2)
        first = []
        for _ in range(3):
            first += train(state, 4)
            manager.save()
        kept = [Path(path).name for path in manager.checkpoints]
        expected = train(state, 5)
        again = make_state()
        again[1].restore(tf.train.latest_checkpoint(folder))
        step = int(again[1].step)
        return first, kept, step, expected, train(again, 5)


def a_residual_block_of_layers(tf):
    layers = tf.keras.layers

    class Block(tf.keras.Model):
        def __init__(self, filters):
            super().__init__(name="")
            ones = {"kernel_initializer": "ones"}
            self.first = layers.Conv2D(filters[0], (1, 1), **ones)
            self.first_norm = layers.BatchNormalization()
            self.second = layers.Conv2D(filters[1], 3, padding="same", **ones)
            self.second_norm = layers.BatchNormalization()

        def call(self, inputs, training=False):
            x = tf.nn.relu(self.first_norm(self.first(inputs), training=training))
            x = self.second_norm(self.second(x), training=training)
            x += inputs
            return tf.nn.relu(x)

    block = Block([2, 3])
    y = block(tf.reshape(tf.range(18.0), [1, 2, 3, 3]))
    return y, len(block.layers), len(block.variables), len(block.trainable_variables)
