"""A hook of mkdocs: links to files outside of `docs/` lead to the repository, those to JSON Schemas to the site."""

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

DOCS = Path(__file__).parent
SCHEMAS = "schemas"


def on_files(files: Any, *, config: Any, **_: object) -> Any:  # noqa: ANN401 (mkdocs has no types)
    """Publish the JSON Schemas of the package."""
    for path in sorted((DOCS.parent / "pytest_crmeval").rglob("*.schema.json")):
        files.append(File.generated(config, f"{SCHEMAS}/{_published(path)}", abs_src_path=str(path)))
    return files


def _published(path: Path) -> str:
    """Return the name of a JSON Schema in its address, which has a version."""
    address: str = json.loads(path.read_text(encoding="utf-8"))["$id"]
    return address.rpartition("/")[2]


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:  # noqa: ANN401 (mkdocs has no types)
    """Rewrite relative links that leave the folder of the documentation."""
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        target = (DOCS.parent / folder / link[1]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        if target.name.endswith(".schema.json"):
            return f"]({'../' * (len(folder.parts) - 1)}{SCHEMAS}/{_published(target)})"
        return f"]({config['repo_url']}/blob/main/{target.relative_to(DOCS.parent).as_posix()})"

    return re.sub(r"\]\((\.\./[^)#]+)\)", rewritten, markdown)
