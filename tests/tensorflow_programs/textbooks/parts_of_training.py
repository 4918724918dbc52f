"""Parts of training loops: data sets, optimizers and metrics."""

import numpy as np


def methods_of_data_sets(tf):
    D = tf.data.Dataset
    r = {}
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    ds = D.from_tensor_slices({"a": x, "b": np.arange(6)})
    r["batch"] = [dict(e.items()) for e in ds.batch(4)]
    r["map"] = list(
        ds.map(lambda d: (d["a"] * 2.0, d["b"] + 1), num_parallel_calls=tf.data.AUTOTUNE).batch(
            4, drop_remainder=True
        )
    )
    r["filter"] = [e["b"] for e in ds.filter(lambda d: d["b"] % 2 == 0)]
    r["flat"] = list(D.range(3).flat_map(lambda i: D.range(i)))
    r["inter"] = [
        int(e)
        for e in D.range(1, 4).interleave(
            lambda i: D.from_tensors(i).repeat(3), cycle_length=2, block_length=2
        )
    ]
    r["window"] = [[int(q) for q in w] for w in D.range(7).window(3, shift=2, drop_remainder=False)]
    r["scan"] = [int(e) for e in D.range(5).scan(tf.constant(0, tf.int64), lambda s, v: (s + v, s + v))]
    r["reduce"] = D.range(5).reduce(np.int64(0), lambda s, v: s + v)
    r["enum"] = [(int(i), int(v)) for i, v in D.range(5, 8).enumerate(start=2)]
    r["concat"] = [int(e) for e in D.range(2).concatenate(D.range(5, 7))]
    r["tw"] = [int(e) for e in D.range(10).take_while(lambda v: v < 3)]
    r["unb"] = list(D.from_tensor_slices(x).batch(4).unbatch().skip(4))
    r["shard"] = [int(e) for e in D.range(10).shard(3, 1)]
    r["pad"] = list(D.range(1, 4).map(lambda i: tf.fill([i], i)).padded_batch(3, padding_values=np.int64(-1)))
    r["bucket"] = list(
        D.range(1, 6)
        .map(lambda i: tf.fill([i], i))
        .bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 5], [2, 2, 2])
    )
    r["uniq"] = [int(e) for e in D.from_tensor_slices([1, 2, 1, 3]).unique()]
    r["card"] = [
        int(D.range(5).batch(2).cardinality()),
        int(D.range(5).repeat().cardinality()),
        int(D.range(5).filter(lambda v: v > 1).cardinality()),
    ]
    r["gen"] = list(
        D.from_generator(
            lambda: iter([(1, [1.0, 2.0]), (2, [3.0, 4.0])]),
            output_signature=(tf.TensorSpec((), tf.int32), tf.TensorSpec((2,), tf.float32)),
        )
    )
    r["rebatch"] = list(D.range(7).batch(3).rebatch(2))
    r["np"] = list(D.zip(D.range(3), D.range(3, 6)).as_numpy_iterator())
    it = iter(D.range(2))
    r["next"] = [int(next(it)), int(next(it)), next(it, "end")]
    r["spec"] = (
        str(ds.batch(2).element_spec["a"].shape),
        str(D.zip((D.range(2), ds)).element_spec[0].dtype.name),
    )
    r["shuf"] = sorted(int(e) for e in D.range(9).shuffle(4, seed=3, reshuffle_each_iteration=False))
    r["choose"] = [
        int(e)
        for e in D.choose_from_datasets(
            [D.range(3), D.range(10, 13)], D.from_tensor_slices(np.array([0, 1, 1, 0], np.int64))
        )
    ]
    r["len"] = len(D.range(7).batch(2))
    r["get"] = D.range(4).batch(4).get_single_element()
    r["group"] = list(
        D.range(8).group_by_window(
            key_func=lambda v: v % 2, reduce_func=lambda k, d: d.batch(3), window_size=3
        )
    )
    r["cache"] = [[int(e) for e in c] for c in [D.range(3).cache()] * 2]
    r["prefetch"] = [
        int(e) for e in D.range(3).map(lambda v: v * v).prefetch(tf.data.AUTOTUNE).repeat(2).skip(1).take(4)
    ]
    r["apply"] = [int(e) for e in D.range(6).apply(lambda d: d.filter(lambda v: v > 3))]
    return r


def optimizers_used_directly(tf):
    optimizers = tf.keras.optimizers
    v = tf.Variable([1.0, 2.0], name="v")
    o = optimizers.Adam(learning_rate=optimizers.schedules.PolynomialDecay(0.1, 4, 0.01, power=2.0))
    r = []
    for _ in range(3):
        o.apply_gradients([(2 * v, v)])
    r.append([v, float(o.learning_rate), int(o.iterations), len(o.variables), [q.name for q in o.variables]])
    o2 = optimizers.SGD(0.1, momentum=0.5)
    o2.build([v])
    o2.apply([tf.constant([1.0, 1.0])])
    o2.learning_rate = 0.01
    o2.apply([tf.constant([1.0, 1.0])], [v])
    o2.learning_rate.assign(0.5)
    o2.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    r.append([v, o2.get_config()["learning_rate"], sorted(o2.get_config()), o2.name])
    for n in [
        "sgd",
        "adam",
        "rmsprop",
        "adagrad",
        "adadelta",
        "adamax",
        "nadam",
        "ftrl",
        "lion",
        "adamw",
        "adafactor",
    ]:
        r.append([n, type(optimizers.get(n)).__name__, float(optimizers.get(n).learning_rate)])
    o3 = optimizers.deserialize(optimizers.serialize(optimizers.RMSprop(0.05, rho=0.8)))
    r.append([o3.get_config()["rho"], float(o3.learning_rate)])
    s = optimizers.schedules
    for q in [
        s.ExponentialDecay(0.1, 10, 0.5, staircase=True),
        s.InverseTimeDecay(0.1, 10, 0.5),
        s.CosineDecay(0.1, 10, alpha=0.1, warmup_target=0.2, warmup_steps=3),
        s.CosineDecayRestarts(0.1, 4, t_mul=2.0, m_mul=0.9),
        s.PiecewiseConstantDecay([3, 6], [0.1, 0.05, 0.01]),
        s.PolynomialDecay(0.1, 5, cycle=True),
    ]:
        r.append([q(k) for k in (0, 2, 5, 9, 13)])

    class Warm(s.LearningRateSchedule):
        def __init__(self, d, w=4):
            super().__init__()
            self.d = tf.cast(d, tf.float32)
            self.w = w

        def __call__(self, step):
            step = tf.cast(step, dtype=tf.float32)
            return tf.math.rsqrt(self.d) * tf.math.minimum(tf.math.rsqrt(step + 1), step * self.w ** (-1.5))

    o4 = optimizers.Adam(Warm(16), beta_1=0.9, beta_2=0.98, epsilon=1e-09)
    w = tf.Variable([1.0])
    for _ in range(4):
        o4.apply_gradients([(w * 2, w)])
    r.append([w, o4.learning_rate])

    class MyMomentumOptimizer(optimizers.Optimizer):
        def __init__(self, learning_rate=0.001, momentum=0.9, name="MyMomentumOptimizer", **kw):
            super().__init__(learning_rate=learning_rate, name=name, **kw)
            self.momentum = momentum

        def build(self, var_list):
            super().build(var_list)
            self.momentums = [
                self.add_variable_from_reference(reference_variable=q, name="m") for q in var_list
            ]

        def update_step(self, gradient, variable, learning_rate):
            lr = tf.cast(learning_rate, variable.dtype)
            m = self.momentums[self._get_variable_index(variable)]
            self.assign(m, self.momentum * m - lr * gradient)
            variable.assign_add(m)

    o5 = MyMomentumOptimizer(0.1)
    w = tf.Variable([1.0, -1.0])
    for _ in range(3):
        o5.apply_gradients([(w * 2, w)])
    r.append([w, o5.momentums[0]])
    return r


def metrics_used_directly(tf):
    M = tf.keras.metrics
    y = np.array([0, 1, 1, 0, 1, 0], np.float32)
    p = np.array([0.2, 0.7, 0.4, 0.6, 0.9, 0.1], np.float32)
    w = np.array([1, 2, 1, 0, 1, 3], np.float32)
    r = {}
    for m in [
        M.AUC(),
        M.AUC(curve="PR", num_thresholds=50),
        M.Precision(),
        M.Recall(thresholds=[0.3, 0.5]),
        M.BinaryAccuracy(threshold=0.6),
        M.TruePositives(),
        M.FalseNegatives(),
        M.SensitivityAtSpecificity(0.5),
        M.PrecisionAtRecall(0.6),
        M.Mean(),
        M.Sum(),
        M.LogCoshError(),
        M.RootMeanSquaredError(),
        M.CosineSimilarity(axis=-1),
        M.MeanAbsolutePercentageError(),
        M.BinaryIoU(target_class_ids=[1]),
        M.KLDivergence(),
        M.Poisson(),
        M.R2Score(),
        M.F1Score(threshold=0.5),
        M.Hinge(),
        M.SquaredHinge(),
        M.CategoricalHinge(),
        M.SpecificityAtSensitivity(0.5),
        M.RecallAtPrecision(0.6),
    ]:
        a = (p,) if type(m) in (M.Mean, M.Sum) else (y[:, None], p[:, None])
        m.update_state(*a, sample_weight=w)
        x = m(*a)
        r[m.name] = [x, m.result(), m.name, 0 if isinstance(m, M.Sum) else len(m.variables)]
        m.reset_state()
        r[m.name].append(0 if isinstance(m, M.R2Score) else m.result())
    c = np.array([[0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.8, 0.1, 0.1]], np.float32)
    for m in [
        M.SparseCategoricalAccuracy(),
        M.SparseTopKCategoricalAccuracy(2),
        M.SparseCategoricalCrossentropy(),
        M.MeanIoU(3, sparse_y_pred=False),
        M.OneHotMeanIoU(3),
        M.CategoricalAccuracy(),
        M.TopKCategoricalAccuracy(2),
        M.CategoricalCrossentropy(label_smoothing=0.1),
        M.IoU(3, [0, 2], sparse_y_pred=False),
    ]:
        yy = np.array([1, 2, 1])
        if "OneHot" in type(m).__name__ or (
            "Categorical" in type(m).__name__ and "Sparse" not in type(m).__name__
        ):
            yy = np.eye(3)[yy]
        r[m.name] = [m(yy, c)]

    class Fn(M.MeanMetricWrapper):
        def __init__(self, name="fn", dtype=None):
            super().__init__(fn=lambda a, b: tf.abs(a - b), name=name, dtype=dtype)

    f = Fn()
    f.update_state(y, p, w)
    r["fn"] = f.result()
    return r
