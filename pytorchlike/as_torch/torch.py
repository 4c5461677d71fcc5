"""``import torch`` in a process started by one that runs with pytorchlike as torch (multiprocessing hands ``sys.path`` on)."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("pytorchlike") is None:  # the parent was started from a source folder
    sys.path.append(str(Path(__file__).parents[2]))

from pytorchlike.alias import install_as_torch

sys.modules.pop("torch", None)  # this module; the import system looks the name up again when it has run
install_as_torch()
