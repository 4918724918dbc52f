"""`jt.dask` on clusters of worker processes; skipped without Dask."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytest.importorskip("distributed")
import dask
import dask.array
import dask.bag
from distributed import Client, KilledWorker, LocalCluster

from jittape.dask.distributed_map import BatchSizes

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 7)), RNG.normal(size=400)
WEIGHTS = {"w": RNG.normal(size=(7, 5)), "b": np.float64(0.3)}
CHUNKS = (64, 1, 50, 64, 3, 100, 64, 54)


def loss(weights: Any, block: Any) -> Any:
    x, y = block
    hidden = jt.tanh(jt.linalg.matmul(x, weights["w"]))
    return jt.reduce_sum((jt.reduce_mean(hidden, 1) + weights["b"] - y) ** 2)


def data() -> tuple[Any, Any]:
    return dask.array.from_array(X, chunks=(CHUNKS, 4)), dask.array.from_array(Y, chunks=(CHUNKS,))


def cluster(workers: int) -> LocalCluster:
    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(2) as local, Client(local) as connected:
        yield connected


def bits(found: tuple[Any, Any]) -> list[bytes]:
    value, gradients = found
    return [np.asarray(value).tobytes(), gradients["w"].tobytes(), np.asarray(gradients["b"]).tobytes()]


def test_the_gradient_is_that_of_all_rows(client: Client) -> None:
    value, gradients = jt.dask.value_and_grad(loss)(WEIGHTS, data())
    expected, of_all = jt.value_and_grad(loss)(WEIGHTS, (X, Y))
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(gradients["w"], of_all["w"])
    np.testing.assert_allclose(gradients["b"], of_all["b"])


@pytest.fixture(scope="module")
def expected() -> list[bytes]:
    """The result of three workers, which are threads of this process: processes take seconds to start."""
    return bits_of_threads(3)


def bits_of_threads(workers: int) -> list[bytes]:
    threads = LocalCluster(n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None)
    with threads as local, Client(local, set_as_default=False) as other:
        return bits(jt.dask.value_and_grad(loss, client=other)(WEIGHTS, data()))


def test_any_number_of_workers_gives_the_same_bits(client: Client, expected: list[bytes]) -> None:
    gradient, blocks = jt.dask.value_and_grad(loss), data()
    assert [bits(gradient(WEIGHTS, blocks)) for _ in range(2)] == [expected, expected]
    assert bits_of_threads(1) == expected


def test_a_worker_that_is_killed_in_a_step(client: Client, expected: list[bytes]) -> None:
    def slow(weights: Any, block: Any) -> Any:
        time.sleep(0.05)
        return loss(weights, block)

    gradient, blocks = jt.dask.value_and_grad(slow), data()
    assert bits(gradient(WEIGHTS, blocks)) == expected
    victim = next(iter(client.run(os.getpid).values()))
    threading.Timer(0.1, lambda: os.kill(victim, signal.SIGKILL)).start()
    assert bits(gradient(WEIGHTS, blocks)) == expected
    client.wait_for_workers(2, timeout=300)
    assert bits(gradient(WEIGHTS, blocks)) == expected


def kernel_counts() -> tuple[int, int]:
    """Return how many kernels the process has compiled, and loaded from disk."""
    from jittape.runtime.counters import counters

    return counters.kernels_compiled, counters.kernels_loaded


def test_a_worker_with_a_disk_of_its_own_gets_the_kernels_of_others(tmp_path: Path) -> None:
    def other_loss(weights: Any, block: Any) -> Any:  # no other test has left its kernels
        return loss(weights, block) + jt.reduce_sum(jt.atan(weights["w"]) ** 3)

    counts = []
    for disk in ("first", "second"):
        alone = LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=None,
            env={"JITTAPE_CACHE_DIR": str(tmp_path / disk)},
        )
        with alone as local, Client(local) as connected:
            jt.dask.value_and_grad(other_loss)(WEIGHTS, data())
            counts += connected.run(kernel_counts).values()
    (compiled, loaded), (compiled_later, loaded_later) = counts
    assert compiled > 0
    assert (compiled_later, loaded_later) == (0, compiled + loaded)


def test_training_with_variables(client: Client) -> None:
    w = jt.Variable(np.zeros(7))
    target = X @ np.arange(7.0)
    rows = dask.array.from_array(np.column_stack([X, target]), chunks=(100, -1))
    gradient = jt.dask.value_and_grad(
        lambda w, block: jt.reduce_mean((jt.linalg.matvec(block[:, :7], w) - block[:, 7]) ** 2), reduce="mean"
    )
    optimizer = jt.optimizers.SGD(0.2)
    for _ in range(60):
        _, found = gradient(w, rows)
        optimizer.apply_gradients([(found, w)])
    np.testing.assert_allclose(w.numpy(), np.arange(7.0), atol=1e-3)


def test_bags_dataframes_and_empty_blocks(client: Client) -> None:
    bag = dask.bag.from_sequence([np.arange(3.0), np.arange(5.0), np.zeros(0), np.arange(2.0)], npartitions=2)
    value, found = jt.dask.value_and_grad(lambda w, x: jt.reduce_sum(w * x))(np.ones(()), bag)
    assert (value, found) == (14.0, 14.0)
    few = dask.array.from_array(Y, chunks=100)
    few = few[few > 2.0]
    value, _ = jt.dask.value_and_grad(lambda w, x: jt.reduce_mean(w * x), reduce="mean")(1.0, few)
    np.testing.assert_allclose(value, Y[Y > 2.0].mean())
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from dask.dataframe import from_pandas

    frame = from_pandas(pandas.DataFrame({"a": Y, "b": X[:, 0]}), npartitions=4)
    value, _ = jt.dask.value_and_grad(lambda w, rows: jt.reduce_sum((w * rows["a"] - rows["b"]) ** 2))(
        2.0, frame
    )
    np.testing.assert_allclose(value, np.sum((2.0 * Y - X[:, 0]) ** 2))


def test_further_arguments_are_sent_at_each_call(client: Client) -> None:
    gradient, rows = jt.dask.value_and_grad(lambda w, x, s: s * w * jt.reduce_sum(x)), data()[1]
    scale = jt.Variable(2.0, dtype="float64")
    assert gradient(1.0, rows, scale)[1] == pytest.approx(2.0 * Y.sum())
    scale.assign(3.0)
    assert gradient(1.0, rows, scale)[1] == pytest.approx(3.0 * Y.sum())


def test_errors_name_the_block_or_the_task(client: Client) -> None:
    def fails(w: Any, x: Any) -> Any:
        if len(x) == 3:
            raise KeyError("boom")
        return w * jt.reduce_sum(x)

    with pytest.raises(KeyError, match="boom") as caught:
        jt.dask.value_and_grad(fails)(1.0, data()[1])
    assert caught.value.__notes__ == ["in block 4 of the data, at a worker"]
    with pytest.raises(ZeroDivisionError) as divided:
        jt.dask.map(lambda x: 1 / (x - 5), range(20), progress=False)
    assert divided.value.__notes__ == ["in task 5, at a worker"]


LOST: dict[str, tuple[Any, Any, str]] = {
    "a list times an array": (
        lambda w, x: jt.reduce_sum(x * w),
        [1.0, 2.0],
        "this line takes the value of a tensor",
    ),
    "float of the loss": (
        lambda w, x: float(jt.reduce_sum(w * x)),
        np.ones(2),
        "with respect to weights is zero",
    ),
    "a weight without use": (
        lambda w, x: w["a"] * jt.reduce_sum(x),
        {"a": 1.0, "b": np.ones(2)},
        r"with respect to weights\['b'\] is zero, because it is None in every block",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_lost_gradients_are_reported_at_the_client(client: Client, name: str) -> None:
    f, weights, message = LOST[name]
    rows = dask.array.from_array(X[:, :2], chunks=(100, 2))
    gradient = jt.dask.value_and_grad(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gradient(weights, rows)
    assert any(re.search(message, str(w.message)) for w in caught)
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient(weights, rows)  # blocks are checked at their first visit


def test_a_weight_that_some_blocks_use(client: Client) -> None:
    rows = dask.array.from_array(X[:, :2], chunks=((100, 300), 2))
    gradient = jt.dask.value_and_grad(lambda w, x: jt.reduce_sum(x) * w["a" if len(x) == 100 else "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, found = gradient({"a": 1.0, "b": 2.0}, rows)
    np.testing.assert_allclose([found["a"], found["b"]], [X[:100, :2].sum(), X[100:, :2].sum()])


def test_a_restart_of_all_workers(expected: list[bytes]) -> None:
    with cluster(1) as local, Client(local) as connected:
        gradient, blocks = jt.dask.value_and_grad(loss), data()
        assert bits(gradient(WEIGHTS, blocks)) == expected
        sent = dask.delayed(connected.scatter(Y))  # kept by a worker, and nowhere else
        held = dask.array.from_delayed(sent, Y.shape, Y.dtype)
        of_held = jt.dask.value_and_grad(lambda w, y: jt.reduce_sum(w * y))
        of_held(1.0, held)
        connected.restart(timeout=600)
        assert bits(gradient(WEIGHTS, blocks)) == expected
        with pytest.raises(RuntimeError, match="was restarted and has lost the data"):
            of_held(1.0, held)


def test_bad_data(client: Client) -> None:
    gradient = jt.dask.value_and_grad(loss)
    x, y = data()
    for given, error, message in (
        (
            (X, Y),
            TypeError,
            "data must be dask arrays, dataframes or bags, got ndarray: use dask.array.from_array",
        ),
        ((x, y.rechunk(100)), ValueError, "are divided differently along their first axis"),
        (y.sum(), ValueError, "has no axis to divide"),
        ([], ValueError, "the data have no blocks"),
    ):
        with pytest.raises(error, match=message):
            gradient(WEIGHTS, given)
    with pytest.raises(TypeError, match=r"more\[0\] is divided into blocks: make it a part of the data"):
        gradient(WEIGHTS, x, y)
    with pytest.raises(TypeError, match=r"more\[1\] is divided into blocks"):
        gradient(WEIGHTS, (x, y), 1.0, {"y": [y]})


def test_what_cannot_be_sent_is_named(client: Client) -> None:
    """Dask tried for ever to send back a result that cannot be pickled."""
    lock = threading.Lock()

    class Odd(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def odd(*unused: Any) -> Any:
        raise Odd(1, 2)

    gradient = jt.dask.value_and_grad(lambda w, b, more: loss(w, b))
    for call, message in (
        (
            lambda: jt.dask.map(lambda i: threading.Lock(), [1]),
            "a result cannot be sent back: result is of type lock",
        ),
        (lambda: jt.dask.map(lambda i: i, [1, {"a": lock}]), r"tasks\[1\]\['a'\] is of type lock"),
        (lambda: gradient(WEIGHTS, data(), [lock]), r"more\[0\]\[0\] is of type lock"),
        (lambda: gradient(None, data(), 1.0), "weights must contain an array"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    for call in (lambda: jt.dask.map(odd, [1]), lambda: jt.dask.value_and_grad(odd)(WEIGHTS, data())):
        with pytest.raises(RuntimeError, match="Odd: 1 and 2"):
            call()


def test_many_tasks_in_order_and_a_progress_bar(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    def solved(seed: int) -> float:
        y = np.random.default_rng(seed).normal(size=20)
        return jt.fit(lambda p, x: p["m"] + 0.0 * x, (y, y), {"m": 0.0}).params["m"]

    found = jt.dask.map(solved, range(50))
    expected = [np.random.default_rng(seed).normal(size=20).mean() for seed in range(50)]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert "50/50" in "".join(capsys.readouterr())
    assert jt.dask.map(solved, []) == []
    assert jt.dask.map(lambda i: -i, range(1001), progress=False) == [-i for i in range(1001)]


def batch_sizes(tasks: int, seconds: float, threads: int) -> list[int]:
    """Return the sizes of all batches if each task takes so many seconds."""
    sizes, found = BatchSizes(tasks), list[int]()
    while sum(found) < tasks:
        found.append(sizes.next_size(tasks - sum(found), threads))
        sizes.measured(found[-1], found[-1] * seconds)
    return found


def test_batches_take_a_second_and_are_smaller_at_the_end() -> None:
    assert batch_sizes(7, 60.0, 2) == [1] * 7
    assert batch_sizes(0, 1.0, 2) == []
    sizes = batch_sizes(1000, 0.005, 2)
    assert max(sizes) == 200
    assert len(sizes) < 25
    assert sizes[-3] <= 200 // 16
    assert len(batch_sizes(1_000_000, 0.0, 8)) < 100
    assert max(batch_sizes(1_000_000, 1e-6, 1)) <= 1_000_000 // 2


def test_tasks_that_kill_workers_are_numbered() -> None:
    def killing(task: int) -> int:
        if task == 3:
            os._exit(1)
        return task

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(1) as local,
        Client(local) as connected,
        pytest.raises(KilledWorker) as caught,
    ):
        jt.dask.map(killing, range(9), connected, progress=False)
    (note,) = caught.value.__notes__
    first, last = map(int, re.findall(r"\d+", note))
    assert first <= 3 <= last


def test_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    def none() -> None:
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(ValueError, match="there is no Dask cluster: make a client first"):
        jt.dask.map(abs, [1])
    with pytest.raises(ValueError, match="there is no Dask cluster: make a client first"):
        jt.dask.value_and_grad(loss)(WEIGHTS, data())


def test_weights_that_are_no_arrays_are_named() -> None:
    with pytest.raises(TypeError, match="weights must be numbers, arrays or Variables, got str"):
        jt.dask.value_and_grad(lambda w, x: w)({"a": 1.0, "b": "abc"}, None)
