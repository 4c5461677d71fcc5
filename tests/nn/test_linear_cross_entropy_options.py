"""LinearCrossEntropyOptions takes and refuses what torch's does, and changes no result."""

import pytest

from tests.nn.outcomes import same

WRONG = [{"acc_policy": "x"}, {"chunking_method": "aspect_ratio:0"}, {"chunking_method": "x"}, {"batch_chunk_size": 0}, {"acc_dtype": "int8"}]


@pytest.mark.parametrize("arguments", WRONG)
def test_refused(arguments):
    same(lambda library: library.nn.LinearCrossEntropyOptions(**{k: getattr(library, v) if k == "acc_dtype" else v for k, v in arguments.items()}))


def test_taken():
    def run(library):
        options = library.nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:2", acc_policy="compact")
        loss = library.nn.LinearCrossEntropyLoss(4, 5, options=options)
        return loss(library.ones(3, 4), library.tensor([0, 1, 2])), repr(options)

    same(run)
