"""``jt.train``: checkpoints under TensorFlow's names."""

from jittape.lazy_names import lazily as _lazily
from jittape.train.checkpoint import Checkpoint as Checkpoint
from jittape.train.checkpoint_files import CheckpointReader as CheckpointReader
from jittape.train.checkpoint_files import CheckpointState as CheckpointState
from jittape.train.checkpoint_files import get_checkpoint_state as get_checkpoint_state
from jittape.train.checkpoint_files import latest_checkpoint as latest_checkpoint
from jittape.train.checkpoint_files import list_variables as list_variables
from jittape.train.checkpoint_files import load_checkpoint as load_checkpoint
from jittape.train.checkpoint_files import load_variable as load_variable
from jittape.train.checkpoint_manager import CheckpointManager as CheckpointManager
from jittape.train.load_status import CheckpointLoadStatus as CheckpointLoadStatus
from jittape.train.load_status import InitializationOnlyStatus as InitializationOnlyStatus

__all__ = [
    "Checkpoint", "CheckpointLoadStatus", "CheckpointManager", "CheckpointReader", "CheckpointState",
    "InitializationOnlyStatus", "get_checkpoint_state", "latest_checkpoint", "list_variables", "load_checkpoint",
    "load_variable",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
