"""What pyproject.toml cannot say: the README as a package page shows it."""

import re
from pathlib import Path

from setuptools import setup

PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n\n\*.*?\*\n\n", re.MULTILINE | re.DOTALL)  # with its caption
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")


def page(readme: str) -> str:
    """The README without its picture, and with the text of its links to files, which lead nowhere from there."""
    return LINK.sub(r"\1", PICTURE.sub("", readme))


if __name__ == "__main__":
    readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    setup(long_description=page(readme), long_description_content_type="text/markdown")
