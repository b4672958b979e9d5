import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2] / "../shared/data/initial"


@pytest.fixture
def authors_folder() -> Path:
    """The initial data that the paper's authors publish; the project does not contain it."""
    folder = Path(os.environ.get("BOMI_INITIAL", BESIDE))
    if not folder.is_dir():
        pytest.skip("the authors' initial data is neither in ../shared/data/initial nor where BOMI_INITIAL says")
    return folder
