import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bomi import __version__

ROOT = Path(__file__).parent.parent
REQUIRED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


def test_the_package_page_has_no_link_that_leads_nowhere():
    page = runpy.run_path(str(ROOT / "setup.py"))["page"]((ROOT / "README.md").read_text(encoding="utf-8"))
    assert re.findall(r"\]\((?!https?:)[^)]*\)", page) == []
    assert "How it works" not in page  # the caption goes with its picture
    assert "| docs/tutorial.md | from a spreadsheet" in page


@pytest.mark.skipif(int(version("setuptools").split(".")[0]) < 77, reason="setuptools is older than a build needs")
def test_the_source_distribution_has_tests_documents_and_metadata(tmp_path):
    away = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, tmp_path / "bomi", ignore=away)
    build = "import setuptools.build_meta as b; print(b.build_sdist('..'))"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path / "bomi", check=True, capture_output=True)
    with tarfile.open(tmp_path / f"bomi-{__version__}.tar.gz") as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
        metadata = archive.extractfile(f"bomi-{__version__}/PKG-INFO").read().decode()
    expected = {"src/bomi/py.typed", "src/bomi/web/static/bomi.css", "tests/test_package.py", "tests/web/axe/LICENSE"}
    expected |= {"docs/files.md", "docs/figures/gap.png", "perf/speed.py", "examples/heat-treatment.csv"}
    expected |= {"LICENSE", "CHANGELOG.md", "Makefile", "constraints.txt"}
    assert expected - files == set()
    for line in ("License-Expression: MIT", "License-File: LICENSE", "Classifier: Typing :: Typed", "Keywords: "):
        assert line in metadata
    assert "Description-Content-Type: text/markdown" in metadata


def test_every_package_has_a_lowest_version():
    lowest = runpy.run_path(str(ROOT / "tests" / "oldest.py"))["lowest"](ROOT / "pyproject.toml")
    assert {"botorch==0.17", "joblib==1.4", "psycopg==3.2.2"} <= set(lowest)


def test_what_botorch_does_not_document_is_imported_in_one_place_and_bounded_above():
    """BoTorch's batched L-BFGS: tests/model/test_lbfgs.py compares it with SciPy's. Nothing else is undocumented."""
    imported = re.compile(r"^\s*(?:from|import) ((?:botorch|gpytorch|linear_operator)[\w.]*)(?: import (.*))?", re.M)
    found = {
        (module, path.relative_to(ROOT / "src" / "bomi").as_posix())
        for path in (ROOT / "src").rglob("*.py")
        for module, names in imported.findall(path.read_text(encoding="utf-8"))
        if "batched_lbfgs_b" in module or re.search(r"\b_\w", f"{module} {names}".replace(".", " "))
    }
    assert found == {("botorch.optim.batched_lbfgs_b", "model/lbfgs.py")}
    (allowed,) = [one for one in map(Requirement, REQUIRED) if one.name == "botorch"]
    tried = re.search(r"^botorch==(.*)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)[1]
    major, minor = map(int, tried.split(".")[:2])
    assert f"<{major}.{minor + 1}" in {str(bound) for bound in allowed.specifier}  # none later than the one in use


PERMISSIVE = re.compile(r"BSD|MIT|Apache|PSF|Python Software Foundation|Zlib|CC0|BSL")


@pytest.mark.parametrize("name", [re.split(r"[^\w.-]", one)[0] for one in REQUIRED])
def test_what_the_library_needs_has_a_permissive_licence(name):
    told = metadata(name)
    classifiers = [one for one in told.get_all("Classifier") or [] if one.startswith("License")]
    licence = told.get("License-Expression") or " ".join([*classifiers, (told.get("License") or "")[:60]])
    assert PERMISSIVE.search(licence), licence
    assert "GPL" not in licence
