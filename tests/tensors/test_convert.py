"""What ``torch.tensor`` and the old constructors make of Python data, numbers and arrays out of tensors, dlpack."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.tensors.convert import from_dlpack

from .twin import same

INFERENCE = """
2**63|-2**63-1|[2**64]|[2**63,2**64-1]|None|'a'|['a']|[None]|[1,None]|{}|[[1,2],[3]]|[[1],2]|[1,[2]]|object()|[]|[[]]|()|[[],[]]|True|[True,1]|[True,1.]
[1,1j]|np.float64(1)|[np.float64(1)]|[np.float32(1)]|[np.float32(1),2.0]|[np.int32(1)]|[np.int32(1),np.int64(1)]|[np.bool_(1)]|[np.float16(1), 1]
np.array([1],dtype=np.int16)|[np.array([1,2],dtype=np.int32)]|[np.array([1,2],dtype=np.int32),[3,4]]|[torch.tensor(1),torch.tensor(2)]|range(3)|iter([1])
[torch.tensor(1.,dtype=torch.float64),2]|[torch.tensor([1.,2.]),torch.tensor([2.,3.])]|[torch.tensor([1])]|[torch.tensor([1,2])]|10**400|[1, 10**400]
[torch.tensor(1,dtype=torch.int8),torch.tensor(2,dtype=torch.float16)]|b'ab'|bytearray(b'ab')|{1,2}|np.array(['a'])|np.array([1,2],dtype='>i4')
np.complex64(1j)|[np.complex64(1j)]|np.datetime64('2020')|[2**62,1.0]|[[1,2],[3,4.5]]|((1,2),[3,4])|[1e400, float('nan')]|[[[1]],[[2]]]
"""
CASTS = """
2**63, dtype=torch.uint64|300, dtype=torch.uint8|-1, dtype=torch.uint8|[300], dtype=torch.int8|1e10, dtype=torch.int32|float('nan'), dtype=torch.int32
1.7, dtype=torch.int64|1j, dtype=torch.float32|70000., dtype=torch.float16|1e40, dtype=torch.float32|[1,2], dtype=float|[1], dtype=int|[1], dtype='float32'
[1.5], dtype=torch.bool|[0.0, 2], dtype=torch.bool|[1,2], dtype=torch.complex64|[1], requires_grad=True|[1.], requires_grad=True|data=[1]
np.array([1.9,-1.9]), dtype=torch.int64|np.array([0,1j]), dtype=torch.bool|torch.tensor([1.5]), dtype=torch.int32
"""
LEGACY = """
torch.Tensor(2,3).shape|torch.Tensor([1.,2.])|torch.Tensor()|torch.Tensor(3).shape|torch.Tensor(torch.Size([2])).shape|torch.Tensor((2,3))|torch.Tensor(torch.ones(2))
torch.Tensor(torch.ones(2).long())|torch.Tensor(1.5)|torch.Tensor('a')|torch.Tensor(None)|torch.Tensor(np.ones(2))|torch.Tensor([[1,2],[3]])|torch.Tensor(2,3.)
torch.Tensor(-1)|torch.Tensor([1],device='cpu')|torch.Tensor(2,device='cpu').shape|torch.Tensor(True)|torch.Tensor(torch.tensor(3))|torch.Tensor(torch.tensor(2),3).shape
torch.Tensor(size=(2,)).shape|torch.Tensor(data=[1])|torch.Tensor(range(2))|torch.Tensor(np.int64(2)).shape|torch.LongTensor(2).shape|torch.LongTensor([1.5])
torch.LongTensor(torch.ones(2))|torch.LongTensor(torch.tensor([1]))|isinstance(m,torch.FloatTensor)|isinstance(m,torch.DoubleTensor)|torch.FloatTensor.dtype
torch.ByteTensor([300])|torch.ByteTensor([-1])|torch.BoolTensor([True])|torch.HalfTensor([1])|torch.BFloat16Tensor([1])|torch.FloatTensor.__name__|torch.FloatTensor
m.new(2).shape|m.new([1,2])|m.new()|m.new(m)|i.new(m)|i.new([1.5])|m.new(torch.Size([2])).shape|m.new('a')|m.new_tensor([1,2])|i.new_tensor([1.5])
i.new_tensor([1],dtype=torch.float32)|m.new_tensor(m)|m.new_tensor(np.array([1,2]))|m.new_tensor(3)|m.new_tensor([1],requires_grad=True)
"""
NUMBERS = """
float(m)|int(m)|complex(m)|m.item()|bool(m)|float(e)|e.item()|bool(e)|m.__index__()|s.__index__()|[1,2,3][torch.tensor(1)]|[1,2][torch.tensor(True)]|len(s)|list(s)
int(s)|float(s)|complex(s)|s.item()|m.tolist()|s.tolist()|e.tolist()|m.bfloat16().tolist()|reversed(f)|list(reversed(f))|s.__reversed__()|f in f|1 in f|'a' in f|None in f
[1] in f|np.float64(1) in f|f'{s:.2f}'|f'{f}'|sum(f)|max(f)|sorted(f)|round(f)|divmod(f, 2)
"""
NUMPY = """
g.numpy()|np.asarray(g)|g.numpy(force=True)|(g*2).numpy()|f.bfloat16().numpy()|torch.ones(2,device='meta').numpy()|torch.ones(2,device='meta').tolist()|f.numpy()
m.T.numpy()|m[:,1].numpy()|s.numpy()|e.numpy()|np.asarray(f,dtype=np.int32)|np.array(f)|np.array(f, copy=True)|np.stack([f,f])|np.array([f,f])|np.array([s,s])
np.add(f,f)|np.sin(f)|np.add(n,f)|np.isnan(f)|f+n|n/f|f-n|f*n|f//n|f**n|f@n|n+1*f|n==f|f==n|f!=n|n<f|f<n|n*f|n-f|np.float32(2)*f|f*np.float32(2)|np.float64(2)*f
np.int64(2)*f|i*np.float64(2)|np.float64(2)/i|np.float64(2)**f|np.float64(2)-f|torch.from_numpy(n)|torch.from_numpy(n[::-1])|torch.from_numpy([1])
torch.from_numpy(np.array(['a']))|torch.from_numpy(np.asfortranarray(np.arange(6.).reshape(2,3)))|torch.from_numpy(np.broadcast_to(n,(3,2)))|torch.from_numpy(np.array(3.))
torch.from_numpy(np.zeros((0,3)))|torch.from_numpy(np.zeros(3,dtype=[('a','i1'),('b','<f4')])['b'])|torch.from_numpy(np.arange(12.).reshape(3,4)[:,1::2])
torch.as_tensor(n)|torch.as_tensor(np.float32(3))|torch.as_tensor([1,2],dtype=torch.float32)|torch.asarray(n)|torch.frombuffer(bytearray(b'abcd'),dtype=torch.int16)
torch.from_dlpack(n)|torch.from_dlpack('a')|g.__dlpack__()|tuple(map(int, f.__dlpack_device__()))|torch.from_dlpack(f).data_ptr()==f.data_ptr()|f.__cuda_array_interface__
torch.from_dlpack(f,device='cpu',copy=True).data_ptr()==f.data_ptr()|torch.from_dlpack(f.__dlpack__())
"""
VALUES = {
    "m": lambda t: t.ones(2, 3), "i": lambda t: t.tensor([7, -7]), "e": lambda t: t.ones(0), "s": lambda t: t.tensor(1.5), "f": lambda t: t.tensor([1.0, 2.0]),
    "g": lambda t: t.ones(2, requires_grad=True), "n": np.ones(2),
}  # fmt: skip


def expressions(text: str) -> list[str]:
    return [e for line in text.strip().splitlines() for e in line.split("|")]


@pytest.mark.parametrize("data", expressions(INFERENCE))
def test_inference(data: str) -> None:
    same(f"torch.tensor({data})")


@pytest.mark.parametrize("arguments", expressions(CASTS))
def test_casts(arguments: str) -> None:
    same(f"torch.tensor({arguments})")


@pytest.mark.parametrize("expression", expressions(LEGACY))
def test_legacy(expression: str) -> None:
    same(expression, **VALUES)


@pytest.mark.parametrize("expression", expressions(NUMBERS))
def test_numbers(executor: str, expression: str) -> None:
    same(expression, **VALUES)


@pytest.mark.parametrize("expression", expressions(NUMPY))
def test_numpy(executor: str, expression: str) -> None:
    same(expression, **VALUES)


def test_large_list_is_fast() -> None:
    numbers = [float(k) for k in range(200_000)]
    assert ours.tensor(numbers).tolist() == numbers


def test_jax_arrays(executor: str) -> None:
    array = jnp.arange(3.0)
    shared = from_dlpack(array)
    shared.add_(1)
    assert shared.tolist() == [1, 2, 3] and array.tolist() == [0, 1, 2]
    assert ours.tensor(array).tolist() == [0, 1, 2]
    assert jax.dlpack.from_dlpack(ours.arange(3.0)).tolist() == [0, 1, 2]


def test_exchange_with_torch(executor: str) -> None:
    theirs = real_torch.arange(4.0)
    mine = from_dlpack(theirs)
    theirs[0] = 9
    mine[1] = 7
    assert mine.tolist() == theirs.tolist() == [9, 7, 2, 3]
    back = real_torch.from_dlpack(mine)
    back[2] = 5
    assert mine.tolist() == [9, 7, 5, 3]
