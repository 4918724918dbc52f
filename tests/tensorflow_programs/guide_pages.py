"""Programs that use what the examples of TensorFlow's guides use, on other data."""

import numpy as np

X = np.random.default_rng(5).normal(size=(6, 4)).astype(np.float32)


def shapes_are_tensors(tf):
    x = tf.constant(X)
    found = [tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x)[0] * 2, tf.shape(x)[::-1] - 1, tf.shape(x) // 4]
    found.append(tf.shape(x, out_type=tf.int64))
    kinds = [
        (isinstance(t, tf.Tensor), t.dtype.is_integer, t.dtype.name, t.get_shape().as_list()) for t in found
    ]
    counted = {t.ref(): int(tf.size(t)) for t in found}
    return found, kinds, len(counted), list(range(tf.shape(x)[1])), tf.shape(x) == [6, 4]


def shapes_in_a_function(tf):
    @tf.function
    def halves(x):
        n = tf.shape(x)[0]
        sums = tf.zeros([n // 2, tf.shape(x)[1]])
        for i in (0, 3):
            sums += x[i : i + n // 2]
        return sums / tf.cast(n, tf.float32), tf.shape(sums), n

    return halves(tf.constant(X)), halves(tf.constant(X[:, :2]))


def elements_of_a_dataset_in_a_function(tf):
    @tf.function
    def total(data):
        loss = tf.constant(0)
        for x, y in data:
            loss += tf.abs(y - x)
        return loss

    @tf.function
    def following(iterator):
        return 10 * next(iterator)

    iterator = iter(tf.data.Dataset.from_tensor_slices([1, 2, 3]))
    pairs = tf.data.Dataset.from_tensor_slices(([1, 5, 2], [4, 1, 2]))
    return total(pairs), [following(iterator) for _ in range(3)]


def values_of_leaked_tensors(tf):
    kept = []

    @tf.function
    def leaky(a):
        kept.append(a + 1)
        return a + 2

    @tf.function
    def takes_another_functions_tensor(b):
        return b + kept[0]

    found = [leaky(tf.constant(1))]
    for attempt in (lambda: kept[0].numpy(), lambda: takes_another_functions_tensor(tf.constant(2))):
        try:
            attempt()
        except (AttributeError, TypeError) as error:
            found.append((isinstance(error, AttributeError), isinstance(error, TypeError)))
    return found[0], found[1][0], found[2][1]


def make_two_outputs(tf, as_dict):
    layers = tf.keras.layers
    x = tf.keras.Input((4,))
    level = layers.Dense(1, name="level", kernel_initializer="ones")(x)
    parts = layers.Dense(3, name="parts", kernel_initializer="ones")(x)
    return tf.keras.Model(x, {"level": level, "parts": parts} if as_dict else [level, parts])


def losses_for_each_output(tf):
    level, parts = X[:, :1], np.abs(X[:, 1:])
    weights = np.linspace(0.5, 1.5, 6).astype("float32")
    found = []
    for as_dict, y, options in [
        (False, [level, parts], {"loss": "mse"}),
        (
            False,
            [level, parts],
            {"loss": ["mse", "mae"], "loss_weights": [1.0, 0.5], "metrics": [["mae"], "mse"]},
        ),
        (False, {"level": level, "parts": parts}, {"loss": {"parts": "mae", "level": "mse"}}),
        (True, {"level": level, "parts": parts}, {"loss": ["mse", "mae"], "metrics": {"parts": ["mae"]}}),
    ]:
        model = make_two_outputs(tf, as_dict)
        model.compile(tf.keras.optimizers.SGD(0.1), **options)
        given = None if isinstance(y, dict) else weights
        history = model.fit(X, y, sample_weight=given, epochs=2, batch_size=4, shuffle=False, verbose=0)
        logs = model.evaluate(X, y, verbose=0, return_dict=True)
        predicted = model.predict(X, verbose=0)
        shapes = [list(predicted[key].shape) for key in (["level", "parts"] if as_dict else [0, 1])]
        found.append(
            ({name: history.history[name] for name in sorted(history.history)}, sorted(logs), shapes)
        )
    return found


def several_inputs_are_split_for_validation(tf):
    layers = tf.keras.layers
    inputs = [tf.keras.Input((4,)), tf.keras.Input((4,))]
    model = tf.keras.Model(inputs, layers.Dense(1, kernel_initializer="ones")(layers.concatenate(inputs)))
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    history = model.fit([X, 2 * X], X[:, :1], validation_split=0.5, shuffle=False, verbose=0).history
    return history["loss"], history["val_loss"], model.train_on_batch([X, X], X[:, :1])


def outputs_of_inner_layers(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((4,)), layers.Dense(3, kernel_initializer="ones", name="first"), layers.ReLU()]
    )
    features = tf.keras.Model(model.inputs, [layer.output for layer in model.layers])
    first = tf.keras.Model(model.inputs, model.get_layer("first").output)
    return features(X), first(X)


def a_clone_of_a_functional_model(tf):
    layers = tf.keras.layers
    x = tf.keras.Input((4,))
    shared = layers.Dense(4, name="shared")
    model = tf.keras.Model(x, layers.add([shared(x), shared(2.0 * x)]), name="net")
    clone = tf.keras.models.clone_model(model)
    shapes = [list(w.shape) for w in clone.weights]
    own = not any(a is b for a in clone.weights for b in model.weights)
    clone.set_weights(model.get_weights())
    return shapes, own, clone.name, bool(np.allclose(clone(X), model(X)))


def masks_of_tensors(tf):
    layers = tf.keras.layers
    rows = tf.keras.preprocessing.sequence.pad_sequences([[7, 2], [3, 1, 4], [5]], padding="post")
    masked = layers.Embedding(9, 2, mask_zero=True)(rows)
    symbolic = layers.Embedding(9, 2, mask_zero=True)(tf.keras.Input((None,), dtype="int32"))
    return rows, masked._keras_mask, symbolic._keras_mask is not None


def states_of_a_layer(tf):
    layers = tf.keras.layers
    sequences = np.stack([X, X + 1.0])
    first = layers.LSTM(3, stateful=True, kernel_initializer="ones", recurrent_initializer="zeros")
    second = layers.LSTM(3, kernel_initializer="ones", recurrent_initializer="zeros")
    first(sequences)
    built = tf.keras.Sequential(
        [layers.GRU(3, input_shape=(None, 4), activity_regularizer="l2"), layers.Dense(1)]
    )
    return (
        first.states,
        second(sequences, initial_state=first.states),
        second.states is None,
        len(built.weights),
    )


def numbers_of_seeds(tf):
    draw = tf.keras.random
    seeds = [draw.SeedGenerator(1), draw.SeedGenerator(1)]
    x, y, z = [draw.normal((2, 3), seed=s) for s in (seeds[0], seeds[1], seeds[0])]
    fixed = [draw.uniform((4,), minval=2.0, maxval=3.0, seed=5) for _ in range(2)]
    whole = draw.randint((50,), 2, 4, seed=seeds[0])
    return (
        bool(np.all(x == y)),
        bool(np.all(x == z)),
        bool(np.all(fixed[0] == fixed[1])),
        sorted(set(np.array(whole).tolist())),
        list(draw.truncated_normal((2, 2), seed=1).shape),
    )
