"""``torch.hub``: downloaded checkpoints in a cache folder, and models of a local folder with a ``hubconf.py``."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from .serialization import MAP_LOCATION
from .serialization import load as _load_file
from .serialization.files import open_to_write

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

#: Finds the beginning of a checksum in names like ``resnet18-bfd8deac.pth``.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_PIECE = 128 * 1024
_dir: str | None = None


class _Progress:
    """What is shown of a download when tqdm is not installed.

    Args:
        total: bytes to come, if that is known.
        disable: show nothing.
    """

    def __init__(self, total: int | None = None, disable: bool = False, **others: Any) -> None:
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """Count ``n`` more bytes."""
        self.n += n
        if not self.disable:
            sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n:.1f} bytes")
            sys.stderr.flush()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if not self.disable:
            sys.stderr.write("\n")


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute '{name}'")
    try:
        from tqdm import tqdm
    except ImportError:
        return _Progress
    return tqdm


# -- the cache ---------------------------------------------------------------------------------------------------------------------------


def _get_torch_home() -> str:
    return os.path.expanduser(os.getenv("TORCH_HOME") or os.path.join(os.getenv("XDG_CACHE_HOME") or "~/.cache", "torch"))


def get_dir() -> str:
    """The cache folder: what `set_dir` said, else ``$TORCH_HOME/hub``, else ``torch/hub`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if _dir is not None:
        return _dir
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Set the cache folder of this process."""
    global _dir
    _dir = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file; what is at ``dst`` is replaced only once all has arrived and the checksum is right.

    Args:
        hash_prefix: what the SHA256 of the content must begin with.
        progress: show it on stderr.

    Raises:
        RuntimeError: the checksum is another one, or less arrived than was announced.
        urllib.error.URLError: the server cannot be reached; the text names the URL and the file.
    """
    dst = os.path.expanduser(dst)
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError as error:
        reason = f"{error.reason}: cannot download {url}. Without a connection, put the file at {dst} yourself"
        raise urllib.error.URLError(reason) from error
    with response, open_to_write(dst) as file:
        length = response.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        digest, count = hashlib.sha256(), 0
        with __getattr__("tqdm")(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar:
            while piece := response.read(_PIECE):
                file.write(piece)
                digest.update(piece)
                count += len(piece)
                bar.update(len(piece))
        if total is not None and count < total:
            raise RuntimeError(f"{url}: the connection was lost after {count} of {total} bytes")
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: MAP_LOCATION = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Load a checkpoint that is in the cache folder, or downloaded there first.

    Args:
        model_dir: another folder than ``checkpoints`` in the cache folder.
        check_hash: the file's name ends with the beginning of its SHA256 (``name-bfd8deac.pth``), which is compared.
        file_name: another name than that in the URL.
        weights_only: as for ``torch.load``; False, as in torch, runs what the file says, so ask only for what you trust.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return _load_file(path, map_location, weights_only=weights_only)


# -- models ------------------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The ``hubconf.py`` of a folder as a module; meanwhile imports find what else is in the folder."""
    path = os.path.join(folder, "hubconf.py")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf.py", path)
        assert spec is not None and spec.loader is not None, path
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module: ModuleType, model: Any) -> Callable:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(module, "dependencies", None) or () if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _folder_of(repo_or_dir: Any, source: str = "github") -> str:
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source.lower()}". Allowed values: "github" | "local".')
    if source.lower() == "github":
        raise NotImplementedError(
            f"torch.hub: the repository {repo_or_dir} is not downloaded from GitHub; fetch it yourself and call "
            "torch.hub.load(folder, ..., source='local')"
        )
    return os.fspath(repo_or_dir)


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function ``model`` in a folder's ``hubconf.py`` returns; its code is run.

    Args:
        repo_or_dir: a folder.
        args, kwargs: for the function.
        source: must be ``"local"``: nothing is downloaded from GitHub.
    """
    with _hubconf(_folder_of(repo_or_dir, source)) as module:
        return _entry(module, model)(*args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check", verbose: bool = True) -> Any:
    """The names of the functions of a repository's ``hubconf.py``.

    Raises:
        NotImplementedError: always: nothing is downloaded from GitHub.
    """
    return _folder_of(github)


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check") -> Any:
    """The docstring of a function of a repository's ``hubconf.py``.

    Raises:
        NotImplementedError: always: nothing is downloaded from GitHub.
    """
    return _folder_of(github)
