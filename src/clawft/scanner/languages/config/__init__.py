"""Configuration that can run things: JSON, YAML, TOML, INI and the line formats of tools.

Every string is looked at. What a tool would run becomes a shell document, with a hook when nobody has to ask for it;
addresses, packages and settings of agents become facts.
"""

from typing import Any

from clawft.scanner.facts import Analysis, Document, Kind
from clawft.scanner.languages.config.agents import (
    read_agent_settings,
    read_editor_settings,
    read_environment,
    read_frontmatter,
)
from clawft.scanner.languages.config.formats import find_yaml_calls, read_config
from clawft.scanner.languages.config.packages import read_packages
from clawft.scanner.languages.config.pipelines import BUILDS, read_build, read_pipeline
from clawft.scanner.languages.config.sheet import ConfigSheet, read_comments, read_strings
from clawft.scanner.languages.config.system import read_lines, read_sections
from clawft.scanner.languages.places import find_format, name_of, plain_path

__all__ = ["analyse"]

_TREES = frozenset({"json", "yaml", "toml", "ini", "plist", "env"})


def analyse(document: Document) -> Analysis:
    """The facts of a configuration, and the command lines in it."""
    sheet = ConfigSheet(document)
    form = _form_of(document)
    if form in BUILDS:
        read_build(sheet, form)
        return Analysis(sheet.facts, sheet.children, sheet.gaps)
    if form not in _TREES:
        read_lines(sheet, form)
        return Analysis(sheet.facts, sheet.children, sheet.gaps)
    trees, complaint = read_config(document.text, form)
    if complaint and not document.origin:  # a piece shown in a text is often cut, and was read all the same
        sheet.gaps.append(complaint)
    read_comments(sheet, form)
    path = plain_path(name_of(document))
    for function, argument in find_yaml_calls(document.text) if form == "yaml" else ():
        sheet.add(Kind.LOAD, function, via=function)
        language = "python" if function.endswith(("eval", "exec", "compile")) else "shell"
        sheet.run(argument, function, hook="yaml:load", language=language)
    for tree in trees:
        _read_tree(sheet, tree, path)
        if form == "env" and isinstance(tree, dict) and not path.endswith((".example", ".sample", ".template")):
            read_environment(sheet, tree)
    return Analysis(sheet.facts, sheet.children, sheet.gaps)


def _form_of(document: Document) -> str:
    named = find_format(name_of(document))
    if document.language in _TREES and not (document.language == "ini" and named):
        return document.language
    return named or document.language


def _read_tree(sheet: ConfigSheet, tree: Any, path: str) -> None:
    known = False
    if isinstance(tree, dict):
        known = read_agent_settings(sheet, tree)
        before = sheet.size
        for read in (read_packages, read_editor_settings, read_pipeline, read_sections):
            read(sheet, tree, path)
        known |= sheet.size > before
        known |= read_frontmatter(sheet, tree)
    read_strings(sheet, tree, commands=not known)
