"""``torch.nn``: modules, parameters, losses, and what goes with them."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
