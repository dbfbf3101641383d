"""A hook of mkdocs: links to files outside of `docs/` lead to the repository."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parent


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:  # noqa: ANN401 (mkdocs has no types)
    """Rewrite relative links that leave the folder of the documentation."""
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        target = (DOCS.parent / folder / link[1]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        return f"]({config['repo_url']}/blob/main/{target.relative_to(DOCS.parent).as_posix()})"

    return re.sub(r"\]\((\.\./[^)#]+)\)", rewritten, markdown)
