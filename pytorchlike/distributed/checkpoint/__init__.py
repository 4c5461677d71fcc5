"""``torch.distributed.checkpoint``: state dictionaries in folders that orbax writes, loaded into the tensors that are there.

The folders are orbax's (https://orbax.readthedocs.io), not torch's: torch's ``.distcp`` files are neither read nor written.  Every process
must hold all of the values.
"""

from . import state_dict
from .api import CheckpointException
from .filesystem import FileSystemReader, FileSystemWriter
from .planner import DefaultLoadPlanner, DefaultSavePlanner
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict

__all__ = [
    "CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "async_save", "load", "load_state_dict",
    "save", "save_state_dict", "state_dict",
]  # fmt: skip
