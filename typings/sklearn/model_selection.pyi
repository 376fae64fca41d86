# What stepgp uses of scikit-learn, which ships no types.
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

class KFold:
    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None: ...
    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]: ...

class StratifiedKFold(KFold): ...

def cross_val_predict(
    estimator: Any, X: Any, y: Any = None, *, cv: Any = None, method: str = "predict"
) -> npt.NDArray[Any]: ...
def cross_validate(
    estimator: Any, X: Any, y: Any = None, *, scoring: Any = None, cv: Any = None
) -> dict[str, npt.NDArray[np.float64]]: ...
