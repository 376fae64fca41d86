"""The README's Python runs, top to bottom, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_every_block_runs() -> None:
    pytest.importorskip("pandas")
    assert len(BLOCKS) >= 3
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"README block {number}", "exec"), names)


def test_files_it_points_to_exist() -> None:
    root = Path(__file__).parents[1]
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    assert [name for name in targets if "://" not in name and not (root / name).exists()] == []
