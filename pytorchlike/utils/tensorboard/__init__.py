"""``torch.utils.tensorboard``: writes what TensorBoard shows; needs the package ``tensorboard``."""

import tensorboard  # raises the ImportError that libraries expect where it is missing

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
