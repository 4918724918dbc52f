"""More cells of the guide's pages on functions, gradients, datasets and models."""

import numpy as np

# ---- functions -------------------------------------------------------------------------------------------------------


def a_signature_serves_all_lengths(tf):
    traced = []

    @tf.function(input_signature=(tf.TensorSpec(shape=[None], dtype=tf.int32),))
    def next_collatz(x):
        traced.append(1)
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    results = [next_collatz(tf.constant([1, 2])), next_collatz(tf.constant([1, 2, 3, 4, 5]))]
    refused = 0
    for wrong in (tf.constant([[1, 2], [3, 4]]), tf.constant([1.0, 2.0])):
        try:
            next_collatz(wrong)
        except TypeError:
            refused += 1
    return results, len(traced), refused


def a_concrete_function_binds_numbers(tf):
    @tf.function
    def power(a, b):
        return a**b

    square = power.get_concrete_function(a=tf.TensorSpec(None, dtype=tf.float32), b=2)
    refused = False
    try:
        square(tf.constant(10.0), b=3)
    except TypeError:
        refused = True
    return square(tf.constant(10.0)), refused


def a_loop_over_steps(tf):
    @tf.function
    def dynamic_rnn(data):
        n = tf.shape(data)[0]
        states, state = tf.TensorArray(tf.float32, size=n), tf.zeros_like(data[0])
        for i in tf.range(n):
            state = state * 0.5 + data[i]
            states = states.write(i, state)
        return tf.transpose(states.stack(), [1, 0])

    return dynamic_rnn(tf.ones([4, 2]))


def a_loop_until_a_value(tf):
    @tf.function
    def shrunk(x):
        while tf.reduce_sum(x) > 1:
            x = tf.tanh(x)
        return x

    return shrunk(tf.constant([0.9, 0.8, 0.7]))


# ---- gradients -------------------------------------------------------------------------------------------------------


def gradients_through_a_branch_of_python(tf):
    x, first, second = tf.constant(1.0), tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = first if x > 0.0 else second**2
    return tape.gradient(result, [first, second]), tape.gradient(result, x)


def a_clipped_gradient(tf):
    @tf.custom_gradient
    def clip_gradients(y):
        return y, lambda dy: tf.clip_by_norm(dy, 0.5)

    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = clip_gradients(v * v)
    return tape.gradient(output, v)


def jacobians_of_a_batch_norm(tf):
    layers = tf.keras.layers
    ones = {"kernel_initializer": "ones"}
    net = [
        layers.Dense(8, activation=tf.nn.elu, **ones),
        layers.BatchNormalization(),
        layers.Dense(6, **ones),
    ]
    x = tf.constant(np.random.default_rng(1).normal(size=(7, 5)), tf.float32)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = net[2](net[1](net[0](x), training=True))
    return tape.jacobian(y, x)[:, 0]  # a batch_jacobian of rows that interact is another thing in TensorFlow


# ---- datasets and models ---------------------------------------------------------------------------------------------


def datasets_of_the_guide(tf):
    data = tf.data.Dataset
    windows = data.range(10).window(5, shift=1, drop_remainder=True)
    batches = data.zip((data.range(100), data.range(0, -100, -1))).batch(4)
    padded = (
        data.range(10)
        .map(lambda x: tf.fill([tf.cast(x, tf.int32)], x))
        .padded_batch(4, padded_shapes=(None,))
    )
    return (
        data.from_tensor_slices([8, 3, 0, 8, 2, 1]).reduce(0, lambda state, value: state + value),
        list(windows.flat_map(lambda s: s.batch(5, drop_remainder=True)).take(2)),
        next(iter(batches))[1], next(iter(padded)), len(data.range(7).batch(3)), batches.cardinality(),
    )  # fmt: skip


def an_autoencoder_and_its_features(tf):
    layers = tf.keras.layers
    image = tf.keras.Input((28, 28, 1), name="img")
    x = layers.MaxPooling2D(3)(layers.Conv2D(4, 3, activation="relu")(image))
    code = layers.GlobalMaxPooling2D()(x)
    encoder = tf.keras.Model(image, code, name="encoder")
    x = layers.UpSampling2D(3)(
        layers.Conv2DTranspose(3, 3, activation="relu")(layers.Reshape((2, 2, 1))(code))
    )
    coder = tf.keras.Model(image, layers.Conv2DTranspose(1, 3)(x), name="autoencoder")
    features = tf.keras.Model(coder.input, [layer.output for layer in coder.layers])
    outputs = features(np.ones((1, 28, 28, 1), "float32"))
    return encoder.output_shape, coder.output_shape, [list(y.shape) for y in outputs], coder.count_params()


def a_layer_from_its_config(tf):
    class Linear(tf.keras.layers.Layer):
        def __init__(self, units=32):
            super().__init__()
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones", trainable=True)
            self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

        def call(self, inputs):
            return tf.matmul(inputs, self.w) + self.b

        def get_config(self):
            return {"units": self.units}

    layer = Linear(3)
    return layer(tf.ones([2, 2])), len(layer.weights), Linear.from_config(layer.get_config()).units


def shapes_of_given_batches(tf):
    layers = tf.keras.layers
    x = tf.keras.Input(batch_shape=(16, 3, 2))
    model = tf.keras.Model(x, layers.Dense(2)(layers.Reshape((6,))(x)))
    return x.shape, model.input_shape, model.output_shape, tf.keras.Input((3,), batch_size=4).shape
