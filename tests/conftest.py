"""What every test may use."""

from __future__ import annotations

import os

from hypothesis import settings

# Kernels compile on first use, and machines differ in speed: no example has a deadline.
settings.register_profile("twinset", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "twinset"))
