"""Run all programs under TensorFlow and write `values.json`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tensorflow as tf

from tensorflow_programs import PROGRAMS, VALUES, plain


def recorded() -> dict[str, object]:
    """Return what each program gives under TensorFlow, rounded to what float32 holds."""
    values = {}
    for name, program in PROGRAMS.items():
        tf.keras.utils.clear_session()  # names of layers and metrics do not depend on other programs
        values[name] = plain(program(tf))
        print(name, file=sys.stderr)
    return values


VALUES.write_text(json.dumps({"tensorflow": tf.__version__, "programs": recorded()}) + "\n", encoding="utf-8")
