"""Python processes of their own, for tests of what happens at import and on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import jittape

SOURCE = str(Path(jittape.__file__).parent.parent)


def run_python(
    *arguments: str, timeout: float = 600, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Run the interpreter of the tests on the same copy of jittape; a failure is the caller's to look at.

    An environment variable that is given as None is taken away. A process that does not end within
    `timeout` seconds is an error.
    """
    path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    wanted = {**os.environ, "PYTHONPATH": path, **variables}
    environment = {name: value for name, value in wanted.items() if value is not None}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=timeout,
    )
