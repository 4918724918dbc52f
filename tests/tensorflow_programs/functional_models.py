"""Programs of the guide page on the functional API, and attributes of layers."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_wide_and_deep_functional_model(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((4,), name="x")
    hidden = layers.Dense(5, activation="relu")(inputs)
    joined = layers.concatenate([inputs, layers.Dense(5, activation="relu")(hidden)])
    model = tf.keras.Model(inputs=[inputs], outputs=[layers.Dense(1)(joined)])
    make_weights(model)
    x, y = make_values(8, 4), make_values(8, 1, seed=9)
    model.compile("sgd", "mse")
    history = model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    shapes = model.input_shape, model.output_shape, hidden.shape
    return model(x), history.history["loss"], shapes, model.count_params(), len(model.layers)


def a_functional_model_of_two_inputs(tf):
    layers = tf.keras.layers
    a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((2,), name="b")
    model = tf.keras.Model([a, b], layers.Dense(3)(layers.Concatenate()([a, b])))
    make_weights(model)
    x, z, y = make_values(6, 3), make_values(6, 2, seed=2), make_values(6, 3, seed=3)
    model.compile("sgd", "mse")
    fits = [
        model.fit(inputs, y, shuffle=False, verbose=0).history["loss"]
        for inputs in ((x, z), [x, z], {"a": x, "b": z})
    ]
    return fits, model({"a": x, "b": z}), model.predict([x, z], verbose=0)


def a_functional_residual_net_and_its_features(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((8, 8, 2))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = layers.add([x, layers.Conv2D(4, 1)(inputs)])
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    model = tf.keras.Model(inputs, layers.Dense(3, activation="softmax")(x), name="residual")
    make_weights(model)
    model.set_weights([np.abs(w) for w in model.get_weights()])  # one of them is a variance
    images = make_values(2, 8, 8, 2)
    features = tf.keras.Model(model.input, model.layers[-3].output)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(images, training=False) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    return model(images), features(images), [tf.reduce_sum(g) for g in gradients], model.name


def operators_and_a_shared_layer_in_a_functional_model(tf):
    first, second = tf.keras.Input((3,)), tf.keras.Input((3,))
    shared = tf.keras.layers.Dense(4)
    difference = 1.0 - (shared(first) - shared(second)) ** 2 / 2.0
    model = tf.keras.Model([first, second], -difference[:, 1:])
    make_weights(model)
    return model([make_values(2, 3), make_values(2, 3, seed=5)]), len(model.weights)


def functional_models_of_open_lengths(tf):
    layers = tf.keras.layers
    codes = tf.keras.Input((None,), dtype="int32")
    outputs, state = layers.GRU(4, return_sequences=True, return_state=True)(layers.Embedding(7, 3)(codes))
    logits = layers.Dense(2)(outputs)
    model = tf.keras.Model(codes, [logits, state])
    line = tf.keras.Sequential([tf.keras.Input((None,)), layers.Embedding(7, 3), layers.LSTM(4)])
    make_weights(model)
    make_weights(line)
    numbers = (np.arange(10) % 7).reshape(2, 5)
    return model(numbers), line(numbers), logits.shape, model.output_shape, line.output_shape


def models_within_a_functional_model(tf):
    layers = tf.keras.layers
    encoder = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(2)])
    code = tf.keras.Input((2,))
    decoder = tf.keras.Model(code, layers.Dense(4)(code))

    class Own(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return {"own": loss}

    inputs = tf.keras.Input((4,))
    model = Own(inputs, decoder(encoder(inputs)))
    make_weights(model)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1))
    x = make_values(8, 4)
    return model.fit(x, x, epochs=2, shuffle=False, verbose=0).history, model(x), encoder(x)


def attributes_of_layers(tf):
    layers = tf.keras.layers
    dense = layers.Dense(4, kernel_initializer="he_normal", kernel_regularizer="l2")
    conv = layers.Conv2D(4, 3, strides=2, padding="same", activation="relu")
    lstm = layers.LSTM(4, return_sequences=True, dropout=0.1)
    pooling, flat = layers.MaxPooling2D(3, 2, "same"), layers.Flatten()
    return [
        dense.units, dense.use_bias, dense.activation.__name__, type(dense.kernel_initializer).__name__,
        type(dense.kernel_regularizer).__name__, dense.bias_regularizer, dense.kernel_constraint,
        conv.filters, conv.kernel_size, conv.strides, conv.padding, conv.data_format, conv.dilation_rate,
        conv.groups, conv.activation.__name__, type(conv.kernel_initializer).__name__,
        lstm.units, lstm.return_sequences, lstm.stateful, lstm.dropout, lstm.activation.__name__,
        lstm.recurrent_activation.__name__, type(lstm.recurrent_initializer).__name__, lstm.unit_forget_bias,
        pooling.pool_size, pooling.strides, pooling.padding, flat.data_format, layers.GRU(3).reset_after,
        type(layers.Embedding(5, 3).embeddings_initializer).__name__,
    ]  # fmt: skip


def views_of_views_in_a_function(tf):
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], tf.float32)])
    def turned(x):
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        rows = tf.reshape(x, [batch * length, 3])
        return rows, tf.reshape(rows, tf.stack([length, batch, -1])), tf.reshape(rows, [-1])

    return [turned(make_values(*shape, 3)) for shape in ((2, 3), (1, 4), (3, 2), (2, 3))]
