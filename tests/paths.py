"""Where things lie."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("DRAFTHAND_SHARED") or ROOT.parent / "shared")


def shared(*parts: str) -> Path:
    """A file of the collection beside the repository; the test is skipped where there is none."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{Path(*parts)} is not on this machine")
    return path
