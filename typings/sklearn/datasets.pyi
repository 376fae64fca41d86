# What stepgp uses of scikit-learn, which ships no types.
from typing import Literal, overload

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

@overload
def load_breast_cancer(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...
@overload
def load_breast_cancer(
    *, return_X_y: Literal[True], as_frame: Literal[False] = False
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]: ...
