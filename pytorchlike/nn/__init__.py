"""``torch.nn``: modules, parameters, losses, and what goes with them."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .utils import spectral_norm as _spectral_norm  # now, so that importing the files of these names does not put modules in their place
from .utils import weight_norm as _weight_norm
