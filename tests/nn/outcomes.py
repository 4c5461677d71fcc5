"""Running the same code with both libraries and comparing what comes out."""

import warnings

import numpy as np
import torch as theirs

import pytorchlike as ours


def plain(value):
    """Tensors as arrays, everything else as it is."""
    if isinstance(value, (ours.Tensor, theirs.Tensor)):
        return np.asarray(value.detach().cpu().tolist())
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def close(mine, wanted, tolerance):
    if isinstance(wanted, np.ndarray):
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)
    elif isinstance(wanted, dict):
        assert list(mine) == list(wanted), (list(mine), list(wanted))
        close(list(mine.values()), list(wanted.values()), tolerance)
    elif isinstance(wanted, list):
        assert isinstance(mine, list) and len(mine) == len(wanted), (mine, wanted)
        for a, b in zip(mine, wanted):
            close(a, b, tolerance)
    else:
        assert mine == wanted, (mine, wanted)


def same(run, tolerance=1e-5):
    """Run with both libraries from the same seed; results, or errors with their texts, are equal.  Returns ours."""
    found = []
    for library in (ours, theirs):
        library.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(plain(run(library)))
            except Exception as error:
                found.append([type(error).__name__, str(error).replace("pytorchlike.", "torch.")])
    close(*found, tolerance)
    return found[0]
