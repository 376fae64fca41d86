# What stepgp uses of scikit-learn, which ships no types.
from typing import Any

import numpy as np
import numpy.typing as npt

def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_local_trials: int | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]: ...
