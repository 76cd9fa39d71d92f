"""``python -m twinset`` is the command ``twinset``."""

from __future__ import annotations

from twinset.cli import script

if __name__ == "__main__":
    script()
