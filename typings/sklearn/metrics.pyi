# What stepgp uses of scikit-learn, which ships no types.
from typing import Any

def f1_score(y_true: Any, y_pred: Any, *, pos_label: Any = 1, average: str = "binary") -> float: ...
