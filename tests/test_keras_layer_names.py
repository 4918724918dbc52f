"""Names of layers that were given none."""

import threading

import pytest

import jittape as jt

layers = jt.keras.layers


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: layers.Dense(1), "dense"),
        (lambda: layers.Conv2DTranspose(1, 3), "conv2d_transpose"),
        (lambda: layers.LSTM(2), "lstm"),
        (lambda: layers.GlobalAveragePooling1D(), "global_average_pooling1d"),
        (lambda: jt.keras.Sequential([layers.Dense(2)]), "sequential"),
        (lambda: type("MyBlock", (layers.Layer,), {})(), "my_block"),
        (lambda: type("_LNCell", (layers.Layer,), {})(), "ln_cell"),
    ],
)
def test_a_name_is_the_class_and_a_number(make, name):
    jt.keras.utils.clear_session()
    assert [make().name for _ in range(3)] == [name, f"{name}_1", f"{name}_2"]
    jt.keras.backend.clear_session()
    assert make().name == name


def test_two_outputs_without_names_have_losses_of_their_own():
    jt.keras.utils.clear_session()
    x = layers.Input((3,))
    model = jt.keras.Model(x, [layers.Dense(1, kernel_initializer="ones")(x), layers.Dense(2)(x)])
    model.compile("sgd", {"dense": "mse", "dense_1": "mae"})
    history = model.fit(
        jt.ones([4, 3]), {"dense": jt.ones([4, 1]), "dense_1": jt.ones([4, 2])}, verbose=0
    ).history
    assert history["dense_loss"] == [4.0]
    assert history["loss"] == pytest.approx([4.0 + history["dense_1_loss"][0]])
    assert model.get_layer("dense_1") is model.layers[-1]


def test_threads_give_different_names():
    jt.keras.utils.clear_session()
    names = []
    threads = [
        threading.Thread(target=lambda: names.extend([layers.Flatten().name for _ in range(200)]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 800
