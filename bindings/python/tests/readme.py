"""The examples of the README and of the front page as files: `python readme.py FOLDER`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
ROOT = README.parents[2]


def examples() -> dict[str, str]:
    """The first Python under each heading that has some."""
    pages = (README, ROOT / "README.md")
    found: dict[str, str] = {}
    for section in "".join(page.read_text(encoding="utf-8") for page in pages).split("\n## ")[1:]:
        code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
        if code is not None:
            found[section.partition("\n")[0]] = code[1]
    return found


def write(folder: Path) -> None:
    """Writes each example to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, code in examples().items():
        name = re.sub(r"\W+", "_", title.lower())
        (folder / f"{name}.py").write_text(code, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
