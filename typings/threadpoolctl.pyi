# What stepgp uses of threadpoolctl, which ships no types.
from types import TracebackType
from typing import Any, Literal, Self

class threadpool_limits:
    def __init__(
        self,
        limits: int | dict[str, int] | Literal["sequential_blas_under_openmp"] | None = None,
        user_api: Literal["blas", "openmp"] | None = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def restore_original_limits(self) -> None: ...

class ThreadpoolController:
    def __init__(self) -> None: ...
    def info(self) -> list[dict[str, Any]]: ...
    def limit(
        self,
        *,
        limits: int | dict[str, int] | Literal["sequential_blas_under_openmp"] | None = None,
        user_api: Literal["blas", "openmp"] | None = None,
    ) -> threadpool_limits: ...
