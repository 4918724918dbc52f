"""Programs of the guide's pages that build models from Modules alone, and of those on slices."""

import numpy as np

RNG = np.random.default_rng(6)
ROWS = RNG.normal(size=(48, 4)).astype(np.float32)
CLASSES = (ROWS @ RNG.normal(size=(4, 3))).argmax(1)
POSITIVE = (ROWS[:, 0] + 0.5 * ROWS[:, 1] > 0).astype(np.float32)[:, None]


def make_values(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32) * 0.3


def make_dense(tf):
    class Dense(tf.Module):
        """A layer that gets its weights at its first call."""

        def __init__(self, units, activation=tf.identity, name=None):
            super().__init__(name=name)
            self.units, self.activation, self.built = units, activation, False

        def __call__(self, x):
            if not self.built:
                self.w = tf.Variable(make_values(x.shape[-1], self.units))
                self.b = tf.Variable(tf.zeros(shape=(self.units,)))
                self.built = True
            return self.activation(tf.add(tf.matmul(x, self.w), self.b))

    return Dense


def make_perceptron(tf):
    dense = make_dense(tf)

    class Perceptron(tf.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return Perceptron([dense(6, tf.nn.relu), dense(5, tf.nn.tanh), dense(3)])


def a_layer_is_built_at_its_first_call(tf):
    layer = make_dense(tf)(2)
    before = len(layer.trainable_variables)
    return before, layer(tf.constant(ROWS)), sorted(tuple(v.shape) for v in layer.trainable_variables)


def logistic_regression(tf):
    class LogisticRegression(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(make_values(4, 1))
            self.b = tf.Variable(tf.zeros([1]))

        @tf.function
        def __call__(self, x, train=True):
            z = tf.add(tf.matmul(x, self.w), self.b)
            return z if train else tf.sigmoid(z)

    def accuracy(predicted, true):
        classes = tf.cast(tf.math.greater(predicted, 0.5), tf.float32)
        return tf.reduce_mean(tf.cast(tf.equal(classes, true), tf.float32))

    model, losses = LogisticRegression(), []
    data = tf.data.Dataset.from_tensor_slices((ROWS, POSITIVE)).batch(16)
    for _ in range(5):
        of_epoch = []
        for x, y in data:
            with tf.GradientTape() as tape:
                each = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=model(x))
                loss = tf.reduce_mean(each)
            gradients = tape.gradient(loss, model.trainable_variables)
            for g, v in zip(gradients, model.trainable_variables, strict=True):
                v.assign_sub(0.5 * g)
            of_epoch.append(loss)
        losses.append(tf.reduce_mean(of_epoch))
    return losses, accuracy(model(tf.constant(ROWS), train=False), tf.constant(POSITIVE))


def adam_by_hand(tf):
    class Adam:
        def __init__(self, learning_rate=0.05, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
            self.options = learning_rate, beta_1, beta_2, epsilon
            self.t, self.v, self.s, self.built = 1.0, [], [], False

        def apply_gradients(self, grads, variables):
            rate, beta_1, beta_2, epsilon = self.options
            if not self.built:
                for variable in variables:
                    self.v.append(tf.Variable(tf.zeros(shape=variable.shape)))
                    self.s.append(tf.Variable(tf.zeros(shape=variable.shape)))
                self.built = True
            for i, (g, variable) in enumerate(zip(grads, variables, strict=True)):
                self.v[i].assign(beta_1 * self.v[i] + (1 - beta_1) * g)
                self.s[i].assign(beta_2 * self.s[i] + (1 - beta_2) * tf.square(g))
                v = self.v[i] / (1 - (beta_1**self.t))
                s = self.s[i] / (1 - (beta_2**self.t))
                variable.assign_sub(rate * (v / (tf.sqrt(s) + epsilon)))
            self.t += 1.0

    x1, x2, optimizer, path = tf.Variable(-2.0), tf.Variable(1.5), Adam(), []
    for _ in range(12):
        with tf.GradientTape() as tape:
            loss = 2 * (x1**4) + 3 * (x1**3) + 2 + x2**2
        optimizer.apply_gradients(tape.gradient(loss, [x1, x2]), [x1, x2])
        path.append((float(x1), float(x2)))
    return path


def a_perceptron_of_layers(tf):
    model = make_perceptron(tf)
    model(tf.constant(ROWS))

    def cross_entropy(logits, y):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x)
            loss = cross_entropy(logits, y)
        for g, v in zip(
            tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True
        ):
            v.assign_sub(0.2 * g)
        right = tf.equal(tf.argmax(tf.nn.softmax(logits), axis=1), y)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))

    data = tf.data.Dataset.from_tensor_slices((ROWS, CLASSES.astype(np.int64))).batch(24)
    return [train_step(x, y) for _ in range(4) for x, y in data]


def a_polynomial_is_fitted_in_batches(tf):
    x = tf.cast(tf.linspace(-2, 2, 41), tf.float32)
    y = x**2 + 2 * x - 5

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            values = make_values(3)
            self.w_q, self.w_l = tf.Variable(values[:1]), tf.Variable(values[1:2])
            self.b = tf.Variable(values[2:])

        @tf.function
        def __call__(self, x):
            return self.w_q * (x**2) + self.w_l * x + self.b

    model, losses = Model(), []
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    for _ in range(6):
        for xs, ys in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(xs) - ys))
            grads = tape.gradient(loss, model.trainable_variables)
            for g, v in zip(grads, model.trainable_variables, strict=True):
                v.assign_sub(0.03 * g)
        losses.append(tf.reduce_mean(tf.square(model(x) - y)))
    return losses, model.w_q, model.w_l, model.b


def a_keras_layer_and_a_model_of_it(tf):
    class Flexible(tf.keras.layers.Layer):
        def __init__(self, out_features, **kwargs):
            super().__init__(**kwargs)
            self.out_features = out_features

        def build(self, input_shape):
            shape = (int(input_shape[-1]), self.out_features)
            self.w = self.add_weight(shape=shape, initializer="ones", name="w")
            self.b = self.add_weight(shape=(self.out_features,), initializer="zeros", name="b")

        def call(self, inputs):
            return tf.matmul(inputs, self.w) + self.b

    class Sequential(tf.keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense_1, self.dense_2 = Flexible(3), Flexible(2)

        def call(self, x):
            return self.dense_2(tf.nn.sigmoid(self.dense_1(x)))

    model = Sequential(name="the_model")
    y = model(tf.constant(ROWS))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.constant(ROWS)) ** 2)
    return y, model.name, len(model.layers), tape.gradient(loss, model.trainable_variables)


def outer_values_are_read_when_a_function_is_traced(tf):
    class Counter:
        step = 1

    factor, counter, weight = 2, Counter(), tf.Variable(3.0)

    @tf.function
    def scaled(x):
        return x * factor * counter.step * weight

    first = scaled(tf.constant(1.0))
    counter.step = 5  # not read again
    weight.assign(4.0)
    again = scaled(tf.constant(1.0))
    return first, again, scaled(tf.constant([1.0])).shape[0]


def slices_of_images(tf):
    images = tf.reshape(tf.range(2 * 4 * 4 * 3, dtype=tf.float32), [2, 4, 4, 3])
    rows = tf.gather(images, [0, 2], axis=1)
    corner = tf.slice(images, begin=[0, 1, 1, 0], size=[1, 2, -1, 2])
    channels = images[..., ::-1][:, ::2]
    of_batch = tf.gather_nd(images, indices=[[[0, 1]], [[3, 2]]], batch_dims=1)
    put = tf.tensor_scatter_nd_update(images[0, :, :, 0], [[0, 1], [3, 3]], [-1.0, -2.0])
    strided = tf.strided_slice(images[1, :, :, 1], [0, 3], [4, 0], [2, -1])
    return rows, corner, channels, of_batch, put, strided


def gradients_of_each_example(tf):
    w = tf.Variable(make_values(4, 2))

    def loss_of(row):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.matmul(row[None], w)) ** 2)
        return tape.gradient(loss, w)

    each = tf.vectorized_map(loss_of, tf.constant(ROWS[:6]))
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum(tf.tanh(tf.matmul(tf.constant(ROWS[:6]), w)) ** 2, axis=1)
    return each, tape.jacobian(losses, w) - each, tf.norm(tf.reshape(each, [6, -1]), axis=1)


def weights_are_decayed_in_a_function(tf):
    regularizer = tf.keras.regularizers.l2(0.02)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((4,)),
            tf.keras.layers.Dense(5, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.Dropout(0.1),
            tf.keras.layers.Dense(3),
        ]
    )
    model.set_weights([make_values(*w.shape) for w in model.get_weights()])
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(inputs, labels):
        with tf.GradientTape() as tape:
            predictions = model(inputs, training=False)
            regularization = tf.math.add_n(model.losses)
            prediction = loss_of(labels, predictions)
            total = prediction + regularization
        gradients = tape.gradient(total, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return total, regularization

    return [train_step(tf.constant(ROWS), tf.constant(CLASSES)) for _ in range(5)]
