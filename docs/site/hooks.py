"""Called by mkdocs (`make site`): adds pages, schemas and notebooks to those in docs/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2]))
from docs.site.content import ELSEWHERE, ROOT, contents, described, for_programs, public_names, with_links, with_themes
from docs.site.notebooks import notebook


def on_config(config: Any) -> Any:
    """The reference has a page for each room."""
    (reference,) = (part["Reference"] for part in config.nav if "Reference" in part)
    reference[0] = {"Library": ["api/index.md", *(f"api/{room}.md" for room in public_names())]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/, the schemas, and a notebook for each page with Python to run."""
    for path, name in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    rooms = public_names()
    files.append(File.generated(config, "api/index.md", content=contents(rooms)))
    for room, paths in rooms.items():
        files.append(File.generated(config, f"api/{room}.md", content=described(room, paths)))
    for place, text in for_programs().items():
        files.append(File.generated(config, place, content=text))
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "```python" in text:
            files.append(File.generated(config, f"notebooks/{page.stem}.ipynb", content=notebook(text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links lead to places on the site; pictures follow its theme; pages with Python offer a notebook."""
    name = page.file.src_uri
    markdown = with_themes(with_links(markdown, name))
    download = f"notebooks/{Path(name).stem}.ipynb"
    if download in files.src_uris:
        title, _, rest = markdown.partition("\n")
        markdown = f"{title}\n\n[Download as a notebook]({download})\n{rest}"
    return markdown
