"""The Python examples of the Markdown files at the root run as they stand there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(name):
    """Run every Python block of a file in one namespace, which is returned."""
    text = (ROOT / name).read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    blocks = EXAMPLE.findall(text)
    assert blocks, f"{name} has no example any more"
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)
    return namespace


def test_readme(capsys):
    run_examples("README.md")
    assert capsys.readouterr().out == "y = 3.00 x + 2.00\n"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md"])
def test_contributing(name):
    run_examples(name)
