"""The import freezes what it makes, and what runs on the collector's lists still works for objects that are older."""

import subprocess
import sys

FROZEN = """
import gc
import pytorchlike
assert gc.isenabled()
assert gc.get_freeze_count() > 50_000 and len(gc.get_objects()) < 5_000, (gc.get_freeze_count(), len(gc.get_objects()))
"""

DISABLED = """
import gc
gc.disable()
import pytorchlike
assert not gc.isenabled()
"""

#: The functions exist before the import, so that nobody finds them by their code.
OLDER = """
def make(factor):
    def scaled(x):
        return x * factor

    def change(value):
        nonlocal factor
        factor = value

    return lambda x: scaled(x), change

function, change = make(2)
import pytorchlike as torch
compiled = torch.compile(function)
for value in (2, 3, 3, 4):
    change(value)
    assert compiled(torch.ones(2)).tolist() == [value] * 2
"""


def test_objects_of_the_import_are_frozen() -> None:
    for script in (FROZEN, DISABLED, OLDER):
        subprocess.run([sys.executable, "-c", script], check=True)
