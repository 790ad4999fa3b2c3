"""Codex's `agents/openai.yaml` beside a skill, laid over it. Never cached: it changes while SKILL.md does not."""

import os

from msgspec import structs

from clawft.discovery.catalog import Catalog, Found
from clawft.discovery.read import Load, load_bytes
from clawft.errors import ClawftError, Unreadable
from clawft.files import is_within, real_path
from clawft.format.model import Skill

__all__ = ["apply_sidecar_of", "apply_sidecars", "with_sidecar"]

SIDECAR = "agents/openai.yaml"


def apply_sidecars(catalog: Catalog) -> Catalog:
    """The catalog with what the sidecars say; a sidecar that cannot be used is said, not fatal."""
    return Catalog(tuple([apply_sidecar_of(found) for found in catalog.found]), catalog.diagnostics, catalog.linked)


def apply_sidecar_of(found: Found) -> Found:
    """The same of one skill."""
    if found.problem is not None or not os.access(f"{found.folder}/{SIDECAR}", os.F_OK):
        return found
    skill = found.skill
    assert skill is not None, "there is a skill or a problem"
    skill = with_sidecar(skill, found.folder, found.location.path)
    return Found(found.location, found.folder, found.file, skill, None, found.seen)


def with_sidecar(skill: Skill, folder: str, root: str, load: Load = load_bytes) -> Skill:
    """The skill with what its sidecar says, if it has one."""
    path = f"{folder}/{SIDECAR}"
    if not os.access(path, os.F_OK):
        return skill
    from clawft.format import apply_sidecar, decode_text  # few skills have one, and a warm catalog needs no parser

    try:
        if not is_within(real_path(path), real_path(root)):
            raise Unreadable(
                "link-leaves-root", "The sidecar stands behind a link out of the searched folder", path=path
            )
        return apply_sidecar(skill, decode_text(load(path, root)[0], path).text, path)
    except ClawftError as error:
        problem = structs.replace(error.diagnostic, severity="warning")
        return structs.replace(skill, diagnostics=(*skill.diagnostics, problem))
