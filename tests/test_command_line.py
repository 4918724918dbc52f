"""``python -m jittape``: the doctor, the demo in small, and what they say when something is missing."""

import importlib
import io
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib.image
import pytest

import jittape as jt
from jittape import doctor
from jittape.__main__ import main
from processes import run_python


def test_doctor_finds_this_machine_healthy(capsys):
    assert main(["doctor"]) == 0
    report = capsys.readouterr().out
    assert re.search(rf"^jittape +{re.escape(jt.__version__)}$", report, re.MULTILINE)
    assert re.search(r"^small gradient +compiled, and agrees with NumPy", report, re.MULTILINE)
    assert len(report.splitlines()) == len(doctor.FINDINGS)


def test_the_report_of_the_doctor_as_json(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.pop("healthy") is True
    assert list(report) == [name for name, _ in doctor.FINDINGS]


def test_a_command_alone_prints_its_help(capsys):
    for arguments in ([], ["cache"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out.startswith("usage: ")
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"jittape {jt.__version__}\n"


def test_the_contents_of_the_cache_fit_on_a_screen(capsys):
    assert main(["cache", "info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 20
    assert max(map(len, lines)) <= 100
    assert main(["cache", "info", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [line.split("  ")[0] for line in lines] == list(report)
    assert len(report["features"]) > 100


def test_a_reader_that_has_seen_enough():
    command = f"{sys.executable} -m jittape cache info | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("folder")
    assert done.stderr == ""


def test_doctor_reports_a_broken_part_and_goes_on(monkeypatch):
    def broken():
        raise OSError("libgone.so: cannot open shared object file")

    monkeypatch.setattr(doctor, "FINDINGS", (("BLAS", broken), ("Python", doctor.python)))
    out = io.StringIO()
    assert not doctor.examine(out)
    first, second = out.getvalue().splitlines()
    assert re.fullmatch(r"BLAS +FAILED: OSError: libgone.so: .*", first)
    assert second.startswith("Python")


def test_doctor_sees_a_gradient_that_disagrees(monkeypatch):
    results = iter([1.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr(doctor, "small_gradient", lambda x, y: next(results))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        doctor.compiled_gradient()


def test_demo_trains_and_draws(tmp_path, capsys):
    picture = tmp_path / "digits.png"
    assert main(["demo", "--epochs", "12", "--output", str(picture)]) == 0
    said = capsys.readouterr()
    accuracy = float(re.search(r"accuracy on held-out digits +([\d.]+)", said.out)[1])
    assert accuracy >= 0.95
    assert int(re.search(r"programs compiled +(\d+)", said.out)[1]) >= 1
    assert re.search(r"kernels compiled +\d+   \([\d.]+ s for all\)", said.out)
    assert str(picture) in said.out
    assert "loss" in said.err
    assert matplotlib.image.imread(picture).shape[2] == 4
    assert jt.config.interpret is False


def test_demo_lists_what_it_has(capsys):
    assert main(["demo", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == ["digits", "hmc", "greeks", "ode", "wgan"]


@pytest.mark.parametrize(
    ("name", "setting", "pattern"),
    [
        ("hmc", {"STEPS": 60}, r"accepted +9\d%"),
        ("greeks", {"ROUNDS": 3}, r"error of the volatility +\d\.\de-1\d"),
        ("ode", {"EPOCHS": 200}, r"rates of the fit +\[1\.\d"),
        ("wgan", {"STEPS": 30}, r"centers that were found +\d of 8"),
    ],
)
def test_other_demos_draw_and_say_what_to_try_next(name, setting, pattern, monkeypatch, tmp_path, capsys):
    module = importlib.import_module(f"jittape.demo.{name}_demo")
    for constant, value in setting.items():
        monkeypatch.setattr(module, constant, value)
    picture = tmp_path / "demo.png"
    assert main(["demo", name, "--output", str(picture)]) == 0
    said = capsys.readouterr().out
    assert re.search(pattern, said)
    assert said.splitlines()[-1].startswith("next: ")
    assert matplotlib.image.imread(picture).std() > 0.05


def test_demo_without_its_extra_says_what_to_install(monkeypatch, capsys, tmp_path):
    for name in [name for name in sys.modules if name.startswith("jittape.demo")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main(["demo", "--output", str(tmp_path / "digits.png")]) == 1
    assert "pip install 'jittape[demo]'" in capsys.readouterr().err


def test_demo_refuses_a_directory_that_is_not_there_before_it_trains(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "gone" / "digits.png")]) == 1
    assert "there is no directory" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["dance"], ["cache", "dance"], ["demo", "--epochs", "1"]])
def test_wrong_usage(arguments):
    done = run_python("-m", "jittape", *arguments)
    assert done.returncode == 2
    assert "usage: python -m jittape" in done.stderr


def test_the_command_of_the_package(capsys, monkeypatch):
    page = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(page)["project"]
    module, _, function = project["scripts"]["jittape"].partition(":")
    command = getattr(importlib.import_module(module), function)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/jittape"])
    with pytest.raises(SystemExit):
        command(["dance"])
    assert "usage: jittape" in capsys.readouterr().err
    assert command(["cache", "path"]) == 0
