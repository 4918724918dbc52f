"""Write ``autograd_values.json``: run the programs of ``test_autograd_programs`` with HIPS autograd.

Run it as ``python tests/autograd_values.py`` where both jittape and autograd are installed. The values were computed
with autograd 1.9.1 and NumPy 2.4.6.
"""

import json
from pathlib import Path

from test_autograd_programs import PROGRAMS, run_program

if __name__ == "__main__":
    values = {name: run_program(name, "autograd") for name in PROGRAMS}
    Path(__file__).with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
