"""Rows in memory, cut into logical blocks, summed by threads in a fixed tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

from stepgp._array.namespace import Array, namespace
from stepgp.model.rowpass import RowBlock

BLOCK = 2_048
"""Rows of a logical block: equal blocks give bit-equal sums, whatever the number of threads.

At M = 100 its arrays fit the cache and stay below the size that glibc returns to the system after
every use (measured: 4,096 rows take 1.5 times as long a row).
"""


class Summable(Protocol):
    """What sums over blocks are made of."""

    def __add__(self, other: Self, /) -> Self: ...


Sums = TypeVar("Sums", bound=Summable)


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """All rows as arrays of one library; a pass is a map over blocks and a sum."""

    X: Array
    y: Array
    weight: Array | None = None
    exposure: Array | None = None
    block: int = BLOCK
    n_jobs: int = 1

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def total_weight(self) -> float:
        """Σw: how many rows these count for."""
        return (
            float(len(self))
            if self.weight is None
            else float(namespace(self.weight).sum(self.weight))
        )

    def blocks(self) -> Iterator[RowBlock]:
        """Consecutive blocks in order."""
        for start in range(0, len(self), self.block):
            yield self._cut(slice(start, min(start + self.block, len(self))))

    def reduce(self, function: Callable[[RowBlock], Sums]) -> Sums:
        """Σ function(block) over all blocks, the same to the bit for any number of threads."""
        if self.n_jobs == 1 or len(self) <= self.block:
            return tree_sum(map(function, self.blocks()))
        with ThreadPoolExecutor(self.n_jobs) as pool:
            return tree_sum(pool.map(function, self.blocks()))

    def head(self, n_rows: int) -> MemoryRows:
        """The first rows only."""
        block = self._cut(slice(0, min(n_rows, len(self))))
        return replace(self, X=block.X, y=block.y, weight=block.weight, exposure=block.exposure)

    def _cut(self, rows: slice) -> RowBlock:
        return RowBlock(
            self.X[rows, :],
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.exposure is None else self.exposure[rows],
        )


def tree_sum(terms: Iterable[Sums]) -> Sums:
    """The sum in the shape of a binary counter: fixed by the number of terms, log-many kept."""
    stack: list[tuple[int, Sums]] = []
    for term in terms:
        level = 0
        while stack and stack[-1][0] == level:
            term = stack.pop()[1] + term
            level += 1
        stack.append((level, term))
    if not stack:
        raise ValueError("There are no rows to sum over.")
    total = stack.pop()[1]
    while stack:
        total = stack.pop()[1] + total
    return total
