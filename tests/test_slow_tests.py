"""The table of slow tests names tests and files that exist."""

from pathlib import Path

from slow_tests import SAMPLED, SLOW

TESTS = Path(__file__).parent


def test_slow_tests_exist():
    text = "".join([path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")])
    assert [name for name in sorted(SLOW) if f"def {name}(" not in text] == []


def test_sampled_files_exist():
    assert [file for file in SAMPLED if not (TESTS / file).is_file()] == []
