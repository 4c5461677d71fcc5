"""Write roster.md, the list of all operators, beside this file: ``python docs/write_roster.py``."""

from pathlib import Path

from pytorchlike.aten import roster
from pytorchlike.dispatch.roster import page

if __name__ == "__main__":
    Path(__file__).with_name("roster.md").write_text(page(roster()))
