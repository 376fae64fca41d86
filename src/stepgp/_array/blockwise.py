"""The surroundings in which many small arrays are worked on, block after block."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

_MOST_KEPT = 31 * 2**20
"""Bytes: glibc's threshold rises to the largest block freed so far, if that is below 32 MiB."""


@contextmanager
def blockwise() -> Generator[None]:
    """BLAS keeps to one thread, so that ours do not fight with its; glibc keeps what is freed.

    Else a freed array of some 100 KB goes back to the system, and the next one comes page by page:
    a pass over rows takes up to twice as long. One large block, never touched, tells it not to.
    """
    np.empty(_MOST_KEPT, dtype=np.uint8)
    with threadpool_limits(limits=1, user_api="blas"):
        yield
