from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from stepgp._array.blockwise import blockwise


def blas_threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_keeps_to_one_thread_inside_only() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(blas_threads()) == {2}
        with blockwise():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
