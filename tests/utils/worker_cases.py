"""What workers give with torch and with this package: `CASES`.  As a program it prints torch's results, which fork: JAX does not survive that."""

from __future__ import annotations

import warnings

from tests.utils import datasets


def _epochs(library, data, count=2, own=False, **arguments):
    """All batches of some epochs, and where the random stream stands when they begin and end."""
    library.manual_seed(7)
    generator = library.Generator().manual_seed(3) if own else None
    loader = data.DataLoader(datasets.Noted(data), num_workers=2, generator=generator, **arguments)
    found = []
    for _ in range(count):
        batches = iter(loader)
        found += [library.randint(1 << 30, ()).item(), list(batches), library.randint(1 << 30, (), generator=generator).item()]
    return found


def _seeds(library, data, stream):
    library.manual_seed(11)
    return [list(data.DataLoader(datasets.RandomNumbers(data, library.randint), batch_size=None, num_workers=2)), library.randint(1 << 30, ()).item()]


def _streams(library, data, stream):
    loader = data.DataLoader(stream(data), batch_size=2, num_workers=2, persistent_workers=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = len(loader), [list(loader) for _ in range(2)]
    return result, [str(w.message) for w in caught if "Length of" in str(w.message)]


CASES = {
    "kept workers": lambda library, data, stream: _epochs(library, data, shuffle=True, batch_size=3, persistent_workers=True),
    "samples": lambda library, data, stream: _epochs(library, data, 1, own=True, shuffle=True, batch_size=None, prefetch_factor=3),
    "seeds": _seeds,
    "streams": _streams,
}


def plain(value):
    """Tensors as (dtype, numbers), everything else as Python writes it."""
    if hasattr(value, "tolist"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    import torch
    import torch.utils.data

    class TheirCounting(datasets.Counting, torch.utils.data.IterableDataset):
        """The stream as torch's."""

    warnings.simplefilter("ignore")
    print({name: plain(case(torch, torch.utils.data, TheirCounting)) for name, case in CASES.items()})
