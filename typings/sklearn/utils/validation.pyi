# What stepgp uses of scikit-learn, which ships no types.
from typing import Any

import numpy.typing as npt

def check_array(array: Any, **options: Any) -> npt.NDArray[Any]: ...
def check_consistent_length(*arrays: Any) -> None: ...
def check_is_fitted(
    estimator: object, attributes: str | list[str] | tuple[str, ...] | None = None
) -> None: ...
def column_or_1d(
    y: Any, *, dtype: Any = None, input_name: str = "y", warn: bool = False
) -> npt.NDArray[Any]: ...
def has_fit_parameter(estimator: object, parameter: str) -> bool: ...

# Returns X, or (X, y) where y is given.
def validate_data(
    _estimator: object,
    /,
    X: Any = "no_validation",
    y: Any = "no_validation",
    reset: bool = True,
    validate_separately: Any = False,
    skip_check_array: bool = False,
    **options: Any,
) -> Any: ...
