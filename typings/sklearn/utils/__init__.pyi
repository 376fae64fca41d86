# What stepgp uses of scikit-learn, which ships no types.
from typing import Any

import numpy as np

class InputTags:
    one_d_array: bool
    two_d_array: bool
    sparse: bool
    categorical: bool
    string: bool
    positive_only: bool
    allow_nan: bool

class TargetTags:
    required: bool
    one_d_labels: bool
    two_d_labels: bool
    positive_only: bool
    multi_output: bool
    single_output: bool

class ClassifierTags:
    poor_score: bool
    multi_class: bool
    multi_label: bool

class RegressorTags:
    poor_score: bool

class Tags:
    estimator_type: str | None
    target_tags: TargetTags
    classifier_tags: ClassifierTags | None
    regressor_tags: RegressorTags | None
    array_api_support: bool
    no_validation: bool
    non_deterministic: bool
    requires_fit: bool
    input_tags: InputTags

class Bunch(dict[str, Any]):
    def __getattr__(self, key: str) -> Any: ...

def check_random_state(
    seed: int | np.random.RandomState | None,
) -> np.random.RandomState: ...
