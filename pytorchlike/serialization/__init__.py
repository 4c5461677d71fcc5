"""``torch.serialization``: `save` and `load` in torch's file formats, and what ``weights_only=True`` allows."""

from .loading import get_unsafe_globals_in_checkpoint, load
from .locations import MAP_LOCATION, default_restore_location, location_tag, register_package, validate_cuda_device
from .names import SourceChangeWarning, StorageType, _get_layout, normalize_storage_type
from .options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import DEFAULT_PROTOCOL, save

__all__ = [
    "DEFAULT_PROTOCOL", "MAP_LOCATION", "LoadEndianness", "SourceChangeWarning", "StorageType", "add_safe_globals", "clear_safe_globals",
    "default_restore_location", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals",
    "get_unsafe_globals_in_checkpoint", "load", "location_tag", "normalize_storage_type", "register_package", "safe_globals", "save",
    "set_crc32_options", "set_default_load_endianness", "set_default_mmap_options", "skip_data", "validate_cuda_device",
]  # fmt: skip

for _name in __all__:
    if _name not in ("DEFAULT_PROTOCOL", "MAP_LOCATION"):
        globals()[_name].__module__ = "torch.serialization"
