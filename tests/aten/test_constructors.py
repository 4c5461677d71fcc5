"""Tensors over files, and the oldest way to set the default dtype, beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours


def test_a_shared_file_is_written(tmp_path) -> None:
    for torch in (ours, real_torch):
        path = str(tmp_path / f"{torch.__name__}.bin")
        shared = torch.from_file(path, True, 4)
        shared.copy_(torch.arange(4.0))
        private = torch.from_file(path, size=4)
        private += 1
        assert torch.from_file(path, True, 4).tolist() == [0, 1, 2, 3] and private.tolist() == [1, 2, 3, 4]
        del shared
        assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [3, 9])
def test_files_that_do_not_do(tmp_path, size: int) -> None:
    path = tmp_path / "a.bin"
    if size == 9:
        path.write_bytes(b"0" * 8)
    texts = []
    for torch in (ours, real_torch):
        with pytest.raises(RuntimeError) as error:
            torch.from_file(str(path), size=size)
        texts.append(str(error.value))
    assert texts[0] == texts[1]


@pytest.mark.filterwarnings("ignore:.*set_default_tensor_type")
def test_set_default_tensor_type() -> None:
    try:
        for torch in (ours, real_torch):
            torch.set_default_tensor_type("torch.DoubleTensor")
            assert torch.ones(1).dtype is torch.float64
            torch.set_default_tensor_type(torch.HalfTensor)
            assert torch.get_default_dtype() is torch.float16
            for wrong in ("torch.LongTensor", torch.float32, "torch.cuda.FloatTensor"):
                with pytest.raises(TypeError):
                    torch.set_default_tensor_type(wrong)
    finally:
        for torch in (ours, real_torch):
            torch.set_default_dtype(torch.float32)
