"""The docs say what the product does: every page that follows from the code is up to date."""

import ast
import re
from pathlib import Path

import pytest

import docs

pytestmark = pytest.mark.unmeasured  # it reads all code, and runs none of it
ROOT = Path(__file__).resolve().parents[2]
_SINGLE = {"bom", "crlf", "disabled", "internal", "manual", "overrides", "shadowed", "system", "unreadable"}
_SAYS = {"add", "say", "_say", "warn", "Diagnostic"}
_ERROR = re.compile(r"(Error|Refused|NotFound|Unreadable|YamlParse|MissingFrontmatter|StreamCut|Violation|Noticed)$")


def test_generated_pages_are_up_to_date() -> None:
    for path, text in docs.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make docs"


def test_every_diagnostic_code_is_explained() -> None:
    page = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    missing = sorted(code for code in _codes() if f"`{code}`" not in page)
    assert missing == []


def test_every_explained_code_exists() -> None:
    page = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    first_cells = [row.split("|")[1] if row.startswith("|") else row for row in page.split("\n") if "`" in row]
    named = {code for cell in first_cells for code in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", cell)}
    code_text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert sorted(code for code in named if f'"{code}"' not in code_text and not _is_composed(code)) == []


def test_the_map_of_the_code_is_short_names_every_package_and_only_what_is_there() -> None:
    page, source = (ROOT / "docs" / "CODE.md").read_text(encoding="utf-8"), ROOT / "src" / "clawft"
    assert len(page.split()) <= 1500
    packages = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in source.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert (len(packages), len(modules)) == (12, 7)
    assert {name for name in packages if f"| `{name}/` |" not in page} == set()
    assert {name for name in modules if f"`{name}`" not in page} == set()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", page))
    inside = {name for name in named if "/" in name.rstrip("/") and not name.startswith("docs/")}
    assert {name for name in inside if not ((source / name).exists() or (ROOT / name).exists())} == set()


def _is_composed(code: str) -> bool:
    return code.startswith("spec-") or code.endswith(("-changed", "-ignored", "-not-found"))


def _codes() -> set[str]:
    """The first text given to whatever makes a diagnostic or an error."""
    codes = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                codes.add(str(getattr(node.value.elts[0], "value", "")))
            elif isinstance(node, ast.Call) and (_called(node.func) in _SAYS or _ERROR.search(_called(node.func))):
                given = [*node.args[:2], *(one.value for one in node.keywords if one.arg == "code")]
                texts = [one.value for one in given if isinstance(one, ast.Constant)]
                if texts and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", str(texts[0])):
                    codes.add(str(texts[0]))
    return {code for code in codes if "-" in code or code in _SINGLE}


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
