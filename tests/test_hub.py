"""``torch.hub``: downloads from a server of our own, the cache folder, models of a local folder."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import io
import threading
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytorchlike as torch

_HUBCONF = """
import helper
dependencies = {dependencies}
def double(x, *, plus=0):
    return helper.two * x + plus
value = 1
"""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The URL of a server for the files of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_load_state_dict_from_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    file = io.BytesIO()
    torch.save({"w": torch.ones(2)}, file)
    digest = hashlib.sha256(file.getvalue()).hexdigest()
    for name in (f"net-{digest[:8]}.pth", "net-00000000.pth"):
        (tmp_path / name).write_bytes(file.getvalue())
    with serving(tmp_path) as url:
        for _ in range(2):
            found = torch.hub.load_state_dict_from_url(
                f"{url}/net-{digest[:8]}.pth?x=1", check_hash=True, weights_only=True, progress=False
            )
            assert found["w"].tolist() == [1.0, 1.0]
        assert capsys.readouterr().out.count("Downloading") == 1
        with pytest.raises(RuntimeError, match=f'invalid hash value \\(expected "00000000", got "{digest}"\\)'):
            torch.utils.model_zoo.load_url(f"{url}/net-00000000.pth", check_hash=True, progress=False)
        assert sorted(p.name for p in (tmp_path / "home/hub/checkpoints").iterdir()) == [f"net-{digest[:8]}.pth"]
        torch.hub.download_url_to_file(f"{url}/net-00000000.pth", str(tmp_path / "copy.pth"), progress=True)
        assert (tmp_path / "copy.pth").read_bytes() == file.getvalue() and "100%" in capsys.readouterr().err
        with pytest.raises(urllib.error.HTTPError):
            torch.hub.download_url_to_file(f"{url}/missing", str(tmp_path / "x"))
    with pytest.raises(urllib.error.URLError, match=f"cannot download {url}/a.pth. Without a connection, put the file at"):
        torch.hub.load_state_dict_from_url(f"{url}/a.pth")
    assert not (tmp_path / "x").exists()


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "torch" / "hub")
    torch.hub.set_dir(tmp_path / "mine")
    try:
        assert torch.hub.get_dir() == str(tmp_path / "mine")
    finally:
        torch.hub._dir = None


def test_local_models(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("two = 2\n")
    (tmp_path / "hubconf.py").write_text(_HUBCONF.format(dependencies="['json']"))
    assert torch.hub.load(tmp_path, "double", 3, source="local", plus=1) == 7
    for name in ("value", "missing"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {name} in hubconf"):
            torch.hub.load(str(tmp_path), name, source="local")
    (tmp_path / "hubconf.py").write_text(_HUBCONF.format(dependencies="['no_such_package']"))
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        torch.hub.load(str(tmp_path), "double", 3, source="local")
    with pytest.raises(ValueError, match='Unknown source: "elsewhere". Allowed values: "github" | "local".'):
        torch.hub.load(str(tmp_path), "double", source="elsewhere")
    with pytest.raises(NotImplementedError, match="owner/name is not downloaded from GitHub"):
        torch.hub.load("owner/name", "double")


@pytest.mark.parametrize("call", [lambda hub: hub.list("a/b"), lambda hub: hub.help("a/b", "model"), lambda hub: hub.load("a/b", "model")])
def test_repositories_are_refused_by_name(call):
    with pytest.raises(NotImplementedError, match="the repository a/b is not downloaded from GitHub"):
        call(torch.hub)
