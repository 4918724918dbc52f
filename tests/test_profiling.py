"""`jt.profile`: times beside the user's lines. No test compares times except with the total of the same profile."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
import slow_line_programs
from jittape.__main__ import main
from jittape.core.program import SourceLine
from jittape.profiling import line_samples
from jittape.profiling.line_samples import LineSamples
from jittape.profiling.remarks import LineFacts, remarks_of
from jittape.runtime.clocked_executable import ClockedExecutable, Unclocked
from jittape.runtime.cold_code import compiled_paths
from processes import run_python
from slow_line_programs import PROGRAMS

HERE = __file__
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


@pytest.fixture(autouse=True)
def compiling() -> Iterator[None]:
    before = jt.config.interpret
    jt.config.interpret = False
    yield
    jt.config.interpret = before


def line_with(text: str) -> int:
    """The number of the first line of this file that contains `text`."""
    return next(i for i, line in enumerate(LINES, 1) if text in line)


def found(profile: jt.Profile, text: str) -> jt.LineProfile:
    """The line of a profile that contains `text`."""
    return next(line for line in profile.lines if line.file == HERE and line.line == line_with(text))


def check_totals(profile: jt.Profile) -> dict[str, float]:
    totals = profile.totals
    parts = {name: value for name, value in totals.items() if name not in ("wall", "threads")}
    assert min(parts.values()) >= 0
    assert sum(parts.values()) == pytest.approx(totals["wall"], rel=0.05)
    return totals


# ---- a loop that trains ----------------------------------------------------------------------------------------------


def train(steps: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    x, y = jt.constant(rng.normal(size=(500, 8))), jt.constant(rng.normal(size=(500, 1)))
    w = jt.Variable(np.zeros((8, 1)))
    for _ in range(steps):
        with jt.GradientTape() as tape:
            hidden = jt.tanh(x @ w)
            loss = jt.reduce_mean(jt.square(hidden - y))
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
    return np.array(w.numpy())


@pytest.fixture(scope="module")
def trained() -> tuple[jt.Profile, np.ndarray[Any, Any]]:
    train(2)
    with jt.profile() as profile:
        result = train(40)
    return profile, result


def test_times_stand_beside_the_lines_and_add_up(trained: tuple[jt.Profile, np.ndarray[Any, Any]]) -> None:
    profile, result = trained
    totals = check_totals(profile)
    assert totals["kernels"] > 0
    assert totals["products"] > 0
    forward = found(profile, "hidden = jt." + "tanh(x @ w)")
    assert forward.runs == 40
    assert min(forward.forward, forward.backward, forward.bandwidth) > 0
    assert forward.update == 0
    assert forward.operations >= 40 * 2 * 500 * 8
    assert forward.function == "train"
    assert found(profile, "w.assign_" + "sub(0.1 * gradient)").update > 0
    inner = sum(line.forward + line.backward + line.update for line in profile.lines)
    kinds = ("kernels", "products", "NumPy steps", "interpreter")
    assert inner == pytest.approx(sum(totals[kind] for kind in kinds), rel=1e-3)
    np.testing.assert_array_equal(result, train(40))


def test_nothing_of_a_profile_remains(trained: tuple[jt.Profile, np.ndarray[Any, Any]]) -> None:
    for path in compiled_paths():
        assert not isinstance(path.compiled, ClockedExecutable | Unclocked)
    if sys.platform != "win32":
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_path_that_was_compiled_twice_is_restored() -> None:
    x = jt.constant([1.0, 2.0, 3.0])

    def step() -> float:
        return float(jt.reduce_sum(jt.sin(x) * 3.0))

    for _ in range(3):
        step()
        if compiled_paths():
            compiled_paths()[-1]._release()
    step()
    assert len(set(compiled_paths())) == len(compiled_paths())
    with jt.profile():
        step()
    assert not [path for path in compiled_paths() if isinstance(path.compiled, ClockedExecutable | Unclocked)]


def test_the_page_shows_the_source_and_remarks(trained: tuple[jt.Profile, np.ndarray[Any, Any]]) -> None:
    profile, _ = trained
    page = str(profile)
    head = page.partition("\n\n")[0]
    for name in ("Python", "recording", "flushes", "kernels", "products", "NumPy steps", "compilation"):
        assert name in head
    assert len(head.splitlines()) == 6
    assert "cost model" in page
    number = line_with("hidden = jt." + "tanh(x @ w)")
    assert f"{number} " + LINES[number - 1] in page
    assert f"fused with line {number}" in page or "fused with lines" in page
    assert repr(profile) == page


def test_other_forms(trained: tuple[jt.Profile, np.ndarray[Any, Any]], tmp_path: Path) -> None:
    profile, _ = trained
    page = profile.html()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "hidden = jt.tanh(x @ w)" in page
    assert str(profile._repr_html_()) in page
    plain = json.loads(json.dumps(profile.to_dict()))
    assert plain["lines"][0]["line"] == profile.lines[0].line
    assert plain["totals"] == profile.totals
    profile.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert len(kernels) >= 40
    assert min(event["dur"] for event in kernels) >= 0
    assert all(0 <= event["ts"] <= 1e6 * profile.totals["wall"] for event in kernels)
    assert any("tanh" in event["name"] for event in kernels)
    if find_spec("pandas") is None:
        with pytest.raises(ModuleNotFoundError, match="needs pandas"):
            profile.dataframe()
    else:
        assert list(profile.dataframe()["line"]) == [line.line for line in profile.lines]


# ---- functions, control flow, NumPy, threads -------------------------------------------------------------------------


def test_functions_loops_and_numpy_steps() -> None:
    @jt.function
    def cube(x: Any) -> Any:
        return jt.reduce_sum(jt.exp(x) * x * x)  # in a function

    def body(carry: Any, _: Any) -> Any:
        return jt.sin(carry) * 2.0  # in a loop

    x = jt.constant(np.linspace(0.0, 1.0, 10_000))
    expected = float(cube(x))
    for _ in range(3):
        cube(x)
    with jt.profile() as profile:
        for _ in range(20):
            assert float(cube(x)) == pytest.approx(expected, rel=1e-12)
            jt.reduce_sum(jt.scan(body, jt.range(7), x)).numpy()
            jt.sort(jt.sin(9.0 * x)).numpy()  # by NumPy
    check_totals(profile)
    assert found(profile, "# in a " + "function").runs == 20
    assert found(profile, "# in a " + "function").forward > 0
    assert found(profile, "# in a " + "loop").forward > 0
    assert found(profile, "# in a " + "loop").runs == 20 * 7
    numpy = found(profile, "# by " + "NumPy")
    assert numpy.forward > 0
    assert any("runs with NumPy" in remark for remark in numpy.remarks)
    assert profile.totals["NumPy steps"] > 0
    assert cube.trace_count == 1
    assert float(cube(x)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "way", ["interpreted", "interpreted gradient", "compiled", "NumPy in the loop", "function"]
)
def test_lines_in_loops_of_unknown_length_and_in_branches_count_each_run(way: str) -> None:
    in_numpy: Any = jt.sort if way == "NumPy in the loop" else jt.abs

    def halved(i: Any, y: Any) -> Any:
        def three_times() -> Any:
            return jt.while_loop(  # the inner loop
                lambda j, z: j < 3,  # the inner condition
                lambda j, z: (j + 1, in_numpy(z)),  # the inner body
                (jt.constant(0), y),
            )[1]

        y = jt.cond(
            i % 2 == 0,
            lambda: jt.sin(y),  # even
            three_times,
        )
        return i + 1, y  # the body

    def step(n: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.while_loop(
                lambda i, y: i < n,  # the condition
                halved,
                (jt.constant(0), x),
            )[1]
        return y if way in ("interpreted", "NumPy in the loop") else tape.gradient(y, x)

    x, n = jt.constant(np.linspace(0.1, 1.0, 50)), jt.constant(7)
    run = jt.function(step) if way == "function" else step
    jt.config.interpret = way.startswith("interpreted")
    for _ in range(3):
        run(n).numpy()
    with jt.profile() as profile:
        for _ in range(10):
            run(n).numpy()
    names = ("the condition", "the body", "even", "the inner loop", "the inner condition", "the inner body")
    assert {name: found(profile, f"  # {name}").runs for name in names} == {
        "the condition": 80, "the body": 70, "even": 40, "the inner loop": 30, "the inner condition": 120,
        "the inner body": 90,
    }  # fmt: skip


def test_threads_are_measured_too() -> None:
    def work() -> None:
        x = jt.constant(np.linspace(0.0, 1.0, 5_000))
        for _ in range(10):
            jt.reduce_sum(jt.cos(x) * jt.exp(x)).numpy()  # in a thread

    work()
    with jt.profile() as profile:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert check_totals(profile)["threads"] == 2
    assert found(profile, "  # in a " + "thread").runs == 20
    assert "2 threads together" in str(profile)
    assert profile.totals["wall"] > 0


def test_a_profile_in_another_thread_has_no_samples_and_the_same_totals() -> None:
    profiles: list[jt.Profile] = []

    def measured() -> None:
        with jt.profile() as profile:
            train(5)
        profiles.append(profile)

    thread = threading.Thread(target=measured)
    thread.start()
    thread.join()
    check_totals(profiles[0])
    assert found(profiles[0], "hidden = jt." + "tanh(x @ w)").runs == 5


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_first_screen_names_the_slow_line(program: Any) -> None:
    slow_line_programs.x(), slow_line_programs.table()
    with jt.profile() as profile:
        slow_line_programs.run(program, 9)
    source = Path(slow_line_programs.__file__).read_text(encoding="utf-8").splitlines()
    first = program.__code__.co_firstlineno
    slow = next(i for i, line in enumerate(source, 1) if i > first and "# slow" in line)
    screen = str(profile).partition(slow_line_programs.__file__)[0]
    assert len(screen.splitlines()) < 50
    place = f"line {slow} of slow_line_programs.py"
    assert place in screen
    assert PROGRAMS[program] in screen.partition(place)[2].partition("  line ")[0]


def test_recomputed_values_are_no_copies_and_traces_have_their_own_reason() -> None:
    z = jt.Variable(np.linspace(0.0, 1.0, 300_000).reshape(1000, 300))
    add = jt.function(lambda a, n: a + n)
    with jt.profile() as profile:
        for step in range(3):
            with jt.GradientTape() as tape:
                a = jt.exp(z)
                b = a / jt.reduce_sum(a, axis=1, keepdims=True)  # recomputed
                loss = jt.reduce_sum(b * b)
            z.assign_sub(0.1 * tape.gradient(loss, z))
            add(np.ones((2,) * (step + 1)), 1.0)  # traced
        z.numpy()
    remarks = found(profile, "# recom" + "puted").remarks
    assert any(remark.startswith("recomputed in the gradient of line") for remark in remarks)
    assert not any("copy" in remark for remark in remarks)
    assert any(
        "3 traces of functions; the last: " in remark for remark in found(profile, "# tra" + "ced").remarks
    )


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_misuse_is_reported() -> None:
    profile = jt.profile()
    with pytest.raises(RuntimeError, match="no results before the end"):
        _ = profile.totals
    assert repr(profile) == "<jt.profile that is not entered>"
    with profile:
        assert repr(profile) == "<jt.profile that is active>"
        with pytest.raises(RuntimeError, match="cannot be nested"), jt.profile():
            pass
    with pytest.raises(RuntimeError, match="entered once"), profile:
        pass
    assert "Profile:" in str(profile)


def test_an_error_in_the_block_ends_the_profile() -> None:
    with pytest.raises(ZeroDivisionError), jt.profile() as profile:
        _ = 1 / 0
    check_totals(profile)
    with jt.profile():
        pass


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_profiles_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport jittape as jt\nx = jt.Variable([1.0, 2.0])\nfor _ in range(int(sys.argv[1])):\n"
        "    total = float(jt.reduce_sum(jt.exp(x)))\nprint('end', total)\nsys.exit(3)\n",
        encoding="utf-8",
    )
    html, trace = tmp_path / "page.html", tmp_path / "trace.json"
    options = ["--html", str(html), "--trace", str(trace)]
    ran = run_python("-m", "jittape", "profile", *options, str(script), "4")
    assert ran.returncode == 3, ran.stderr
    assert "end 10.1" in ran.stdout
    assert "5     total = float(jt.reduce_sum(jt.exp(x)))" in ran.stdout
    assert "total = float" in html.read_text(encoding="utf-8")
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]


def test_the_command_needs_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(tmp_path / "none.py")]) == 1
    assert "there is no script" in capsys.readouterr().err


def test_threads_that_only_call_functions_are_accounted_for() -> None:
    f, x = jt.function(lambda x: jt.reduce_sum(jt.tanh(x) * x)), jt.ones([100_000])

    def call() -> None:
        for _ in range(100):
            f(x)

    call()
    with jt.profile() as profile:
        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert check_totals(profile)["kernels"] > 0


def test_short_steps_are_timed_in_part_and_counted_in_full() -> None:
    f, x = jt.function(lambda x: x + 1.0), jt.ones([3])  # in part
    for _ in range(5):
        f(x)
    with jt.profile() as profile:
        for _ in range(5000):
            f(x)
    check_totals(profile)
    assert found(profile, "jt.ones([3])  # in " + "part").runs == 5000


def test_a_line_of_many_operations_names_them() -> None:
    forward = {"forward `matmul`": 50, "forward `tanh`": 20, "forward `add`": 2}
    facts = LineFacts(
        parts=Counter(forward | {"backward `matmul`": 21, "backward `mul`": 4, "update `add`": 3})
    )
    (by_operation,) = remarks_of(SourceLine("a.py", 1, "step"), facts)
    assert by_operation == (
        "kernel time by operation: forward `matmul` 50%, backward `matmul` 21%, forward `tanh` 20%, "
        "backward `mul` 4%, update `add` 3%"
    )
    facts.parts["forward `matmul`"] = 5000  # of the others, some now take less than a hundredth
    assert remarks_of(SourceLine("a.py", 1, "step"), facts) == []


def test_a_line_of_several_layers_names_them() -> None:
    x, y = np.ones((512, 128), np.float32), np.ones((512, 1), np.float32)
    model = jt.keras.Sequential(
        [jt.keras.layers.Dense(128, activation="tanh"), jt.keras.layers.Dense(1, activation="sigmoid")]
    )
    model.compile(optimizer="adam", loss=jt.keras.losses.BinaryCrossentropy())
    with jt.profile() as profile:
        model.fit(x, y, epochs=4, verbose=0)  # by layer
    remarks = found(profile, "verbose=0)  # by " + "layer").remarks
    (by_layer,) = [text for text in remarks if text.startswith("kernel time by layer: ")]
    for name in ("layers[0] (dense)", "layers[1] (dense_1)", "binary_crossentropy", "updates"):
        assert name in by_layer


def test_gradients_in_numba_code_are_the_users_own_time() -> None:
    import numba

    @numba.njit
    def total(x: Any) -> Any:
        found = 0.0
        for i in range(x.size):
            found += np.sin(x[i]) * x[i]
        return found

    gradient, x = jt.njit_grad(total), np.linspace(0.0, 1.0, 100_000)
    gradient(x)
    with jt.profile() as profile:
        for _ in range(20):
            gradient(x)
    totals = check_totals(profile)
    assert totals["Python"] > totals["recording"]


PENDING_SAMPLE = """
import signal, time
from jittape.profiling.line_samples import LineSamples

samples = LineSamples(lambda: None)
samples.start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
while signal.SIGALRM not in signal.sigpending():
    time.sleep(0.001)
samples.stop()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
print("alive", signal.getsignal(signal.SIGALRM) is signal.SIG_DFL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGALRM")
def test_a_sample_that_comes_after_the_end_does_not_end_the_process() -> None:
    ran = run_python("-c", PENDING_SAMPLE)
    assert (ran.returncode, ran.stdout) == (0, "alive True\n"), ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGALRM")
def test_a_sample_during_the_end_starts_no_timer_again(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, setitimer = LineSamples(lambda: None), signal.setitimer

    def interrupted(timer: int, *times: float) -> None:
        setitimer(timer, *times)
        if times == (0,):
            samples._sample(signal.SIGALRM, None)

    samples.start()
    samples._count = line_samples._MANY - 1
    monkeypatch.setattr(signal, "setitimer", interrupted)
    samples.stop()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
