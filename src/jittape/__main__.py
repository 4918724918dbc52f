"""The command line: ``jittape demo``, ``doctor``, ``profile`` and ``cache``; ``python -m jittape`` is the same."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import jittape as jt
from jittape import doctor
from jittape.compile.cache import cache_folder, object_store
from jittape.core.cache_directory import DIRECTORY_VARIABLE, cache_directory
from jittape.numba_ad.gradient_folder import clear_gradients, summarize_gradients

__all__ = ["main"]

DEMOS = {
    "digits": "train a classifier of handwritten digits, compiled and with NumPy",
    "hmc": "sample from a curved density with 100 chains at once",
    "greeks": "price options with their greeks, and find volatilities from prices",
    "ode": "fit the rates of a predator-prey equation to noisy data",
    "wgan": "train two networks against each other until one draws a ring of points",
}
"""Names of the demos and what they do."""

WIDTH = 60
"""Characters of a value in ``cache info``: with its name, a line fits on a screen."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the commands and their options."""
    as_module = Path(sys.argv[0]).name == "__main__.py"
    prog = "python -m jittape" if as_module else "jittape"
    top = argparse.ArgumentParser(prog=prog, description="Gradient tapes on NumPy data, compiled.")
    top.add_argument("--version", action="version", version=f"jittape {jt.__version__}")
    top.set_defaults(run=lambda _: top.print_help())
    commands = top.add_subparsers(metavar="command")

    demo = commands.add_parser("demo", help="run a demo that draws a picture; --list shows all of them")
    demo.add_argument("name", nargs="?", choices=DEMOS, default="digits", help="which one (default: digits)")
    demo.add_argument("--list", action="store_true", help="say what the demos do")
    demo.add_argument("--epochs", type=epochs, default=40, help="passes over the digits (default: 40)")
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("jittape-demo.png"),
        help="where the picture goes (default: ./jittape-demo.png)",
    )
    demo.set_defaults(run=run_demo)

    check = commands.add_parser("doctor", help="say what jittape found here, and whether a gradient compiles")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=run_doctor)

    script = commands.add_parser("profile", help="run a script and show where its time goes, line by line")
    script.add_argument("--html", type=Path, help="file for the listing in HTML")
    script.add_argument("--trace", type=Path, help="file for the timeline, for https://ui.perfetto.dev")
    script.add_argument("script", help="the script")
    script.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    script.set_defaults(run=run_profile)

    cache = commands.add_parser("cache", help="the compiled kernels that are kept on disk")
    cache.set_defaults(run=lambda _: cache.print_help())
    actions = cache.add_subparsers(metavar="action")
    for name, run, what in (
        ("info", cache_info, "say where they are, how many, and what they take"),
        ("path", cache_path, "print the folder"),
        ("clear", cache_clear, "delete them"),
    ):
        actions.add_parser(name, help=what).set_defaults(run=run)
    actions.choices["info"].add_argument(
        "--json", action="store_true", help="print one JSON object with whole values"
    )
    return top


def epochs(text: str) -> int:
    """Return the number of epochs: at least 2, because the first one also compiles and is not timed."""
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("at least 2: the first epoch compiles, the others are timed")
    return number


def run_demo(options: argparse.Namespace) -> int:
    """Run a demo, or list them; return 1 if their extra is not installed."""
    if options.list:
        for name, purpose in DEMOS.items():
            print(f"{name:<10}{purpose}")
        return 0
    directory = options.output.resolve().parent
    if not directory.is_dir():
        print(f"there is no directory {directory} to write the picture to", file=sys.stderr)
        return 1
    try:
        # Imported here, because only the demo needs the packages of the extra.
        from jittape.demo import demo_report, greeks_demo, hmc_demo, ode_demo, wgan_demo
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jittape"):
            raise
        print(
            f"the demo needs {error.name}; install what it needs by\n"
            f"    pip install 'jittape[demo]'        (in a checkout: pip install '.[demo]')",
            file=sys.stderr,
        )
        return 1
    others = {"hmc": hmc_demo.run, "greeks": greeks_demo.run, "ode": ode_demo.run, "wgan": wgan_demo.run}
    if options.name == "digits":
        demo_report.run(options.epochs, options.output)
    else:
        others[options.name](options.output)
    return 0


def run_doctor(options: argparse.Namespace) -> int:
    """Print the doctor's report; return 1 if something is broken."""
    return 0 if doctor.examine(sys.stdout, options.json) else 1


def run_profile(options: argparse.Namespace) -> int:
    """Run a script in a profile and print the profile; return the exit status of the script."""
    from jittape.profiling.run_script import run_script  # only this command loads the profiler

    return run_script(options.script, options.arguments, options.html, options.trace)


def cache_info(options: argparse.Namespace) -> int:
    """Print the contents of the cache and what its kernels depend on; return 1 if there is no cache."""
    root = cache_root()
    if root is None:
        return 1
    found = cache_folder.summarize(root)
    gradients, gradient_bytes = summarize_gradients(root)
    report = {
        "folder": str(root),
        "kernels": f"{found.kernels} in {found.batches} files",
        "size": f"{found.nbytes / 2**20:.1f} MB of {jt.config.cache_size / 2**20:.0f} MB at most",
        "environments": str(found.environments),
        "gradients": f"{gradients} of @njit functions, {gradient_bytes / 2**20:.1f} MB of as much at most",
    }
    this = object_store.current()
    if this is not None:
        report |= {"this one": this.folder.name, **this.parts}
    if options.json:
        print(json.dumps(report, indent=2))
        return 0
    for name, value in report.items():
        print(f"{name:<14}{value if len(value) <= WIDTH else f'{value[:WIDTH]}... (--json prints all)'}")
    return 0


def cache_path(_: argparse.Namespace) -> int:
    """Print the folder of the cache; return 1 if there is no cache."""
    root = cache_root()
    if root is not None:
        print(root)
    return 0 if root is not None else 1


def cache_clear(_: argparse.Namespace) -> int:
    """Delete the contents of the cache; return 1 if there is no cache, or files remain."""
    root = cache_root()
    if root is None:
        return 1
    before = cache_folder.summarize(root)
    gradients, gradient_bytes = summarize_gradients(root)
    try:
        cache_folder.clear(root)
        clear_gradients(root)
    except OSError as error:
        print(f"not all could be deleted: {error}", file=sys.stderr)
        return 1
    size = (before.nbytes + gradient_bytes) / 2**20
    print(f"{before.kernels} kernels deleted, {gradients} gradients of @njit functions, {size:.1f} MB")
    return 0


def cache_root() -> Path | None:
    """Return the folder of the cache; print a message if there is none."""
    root = cache_directory()
    if root is None:
        print(
            f"the cache is turned off: {DIRECTORY_VARIABLE} is empty, or there is no home",
            file=sys.stderr,
        )
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, or print the help if there is none; return the exit status."""
    options = parser().parse_args(arguments)
    try:
        status = options.run(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
