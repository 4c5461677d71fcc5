"""The parts of `DataLoader`, at the paths torch has them."""

from ..._exceptions import ExceptionWrapper
from . import collate, fetch, pin_memory, pool, worker

#: Seconds between looks at the state of workers, in torch's; here their end is noticed at once.
MP_STATUS_CHECK_INTERVAL = 5.0
