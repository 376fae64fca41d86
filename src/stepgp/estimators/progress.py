"""The progress bar of `verbose`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from tqdm import tqdm

from stepgp.fit.journal import Progress


@contextmanager
def progress_bar(*, verbose: int) -> Generator[Callable[[Progress], None]]:
    """A function to call after every accepted iteration; silent unless `verbose` is positive."""
    with tqdm(desc="stepgp", unit="it", disable=verbose <= 0) as bar:

        def report(progress: Progress) -> None:
            bar.update()
            bar.set_postfix(
                rows=progress.rows, objective=f"{progress.objective:.5f}", passes=progress.passes
            )

        yield report
