"""The parts of `DataLoader`, at the paths torch has them."""

from . import collate, fetch, worker
