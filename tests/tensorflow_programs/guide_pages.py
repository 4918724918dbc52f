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
