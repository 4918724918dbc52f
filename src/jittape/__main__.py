"""The command line: ``python -m jittape demo`` and ``python -m jittape doctor``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jittape import doctor

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="python -m jittape", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    demo = commands.add_parser("demo", help="train a classifier of handwritten digits and show how it went")
    demo.add_argument("--epochs", type=epochs, default=40, help="passes over the digits (default: 40)")
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("jittape-demo.png"),
        help="where the picture goes (default: ./jittape-demo.png)",
    )
    demo.set_defaults(run=run_demo)

    check = commands.add_parser("doctor", help="say what jittape found here, and whether a gradient compiles")
    check.set_defaults(run=run_doctor)
    return top


def epochs(text: str) -> int:
    """A number of epochs: at least 2, because the first one also compiles and is not timed."""
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("at least 2: the first epoch compiles, the others are timed")
    return number


def run_demo(options: argparse.Namespace) -> int:
    """Train the demo's classifier; status 1 if its extra is not installed."""
    directory = options.output.resolve().parent
    if not directory.is_dir():
        print(f"there is no directory {directory} to write the picture to", file=sys.stderr)
        return 1
    try:
        # Here, because the packages of the extra are needed by nothing else.
        from jittape.demo import report
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jittape"):
            raise
        print(
            f"the demo needs {error.name}; install what it needs by\n"
            f"    pip install 'jittape[demo]'        (in a checkout: pip install '.[demo]')",
            file=sys.stderr,
        )
        return 1
    report.run(options.epochs, options.output)
    return 0


def run_doctor(_: argparse.Namespace) -> int:
    """Print the doctor's report; status 1 if something is wrong."""
    return 0 if doctor.examine(sys.stdout) else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options = parser().parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
