"""``python -m jittape profile script.py``: run a script and show where its time goes."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from jittape.profiling.profile import profile

__all__ = ["run_script"]


def run_script(script: str, arguments: Sequence[str], html: Path | None, trace: Path | None) -> int:
    """Run a script as ``__main__`` in a profile and print the profile; return the exit status of the script.

    Parameters
    ----------
    script : str
        Path of the script.
    arguments : sequence of str
        Its command-line arguments.
    html, trace : Path or None
        Files for the page in HTML and for the timeline.
    """
    if not Path(script).is_file():
        print(f"there is no script {script}", file=sys.stderr)
        return 1
    before, path = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    status = 0
    measured = profile()
    try:
        with measured:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.path[0] = before, path
    print(measured)
    if html is not None:
        html.write_text(measured.html(), encoding="utf-8")
    if trace is not None:
        measured.save(trace)
    return status
