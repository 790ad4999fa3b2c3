"""Manifests of packages: what they install and from where, and what runs while they do."""

import re
from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.config.sheet import ConfigSheet, as_command, dict_of, list_of, strings_of, walk
from clawft.scanner.regex import lazy, words

_NPM_HOOKS = lazy(r"^((pre|post)?(install|prepare|uninstall)|prepublish|dependencies)$")
_COMPOSER_HOOKS = lazy(r"^(pre|post)-(install|update|autoload|root-package|create-project|package|status|archive)")
_NPM_DEPENDENCIES = (
    "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "bundleDependencies", "overrides",
    "resolutions",
)  # fmt: skip
_RUN_SCRIPT = lazy(r"\b(?:npm|pnpm|yarn|bun)(?: +-{1,2}[\w-]+)* +(?:run(?:-script)? +)?([\w:.-]+)|--run[ =]+([\w:.-]+)")
_ADDRESS = lazy(r"^(?:git\+|git:|https?:|ssh:|github:|gitlab:|bitbucket:|gist:|file:|link:|svn\+|hg\+)")
_SHORTHAND = lazy(r"^[\w.-]+/[\w.-]+(#.*)?$")
_NAME = lazy(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?")
_GYP_COMMAND = lazy(r"<!@?\(([^()]{1,2000}(?:\([^()]{0,500}\)[^()]{0,500}){0,5})\)")
_REGISTRY_HOSTS = lazy(
    r"^https://(registry\.(npmjs\.org|yarnpkg\.com|npmmirror\.com|npm\.taobao\.org)|npm\.jsr\.io|codeload\.github\.com)/"
)


def read_packages(sheet: ConfigSheet, tree: dict[str, Any], path: str) -> None:
    """Note what a manifest installs and runs."""
    name = path.rpartition("/")[2]
    if isinstance(tree.get("scripts"), dict):
        settings = {f"npm_package_config_{key}": value for key, value in dict_of(tree.get("config")).items()}
        _read_scripts(sheet, tree["scripts"], settings, composer=name == "composer.json")
    if "lockfileVersion" in tree:
        _read_lock(sheet, tree)
    elif name == "package.json" or (isinstance(tree.get("scripts"), dict) and "version" in tree):
        _read_npm(sheet, tree)
    if "project" in tree or "build-system" in tree or "tool" in tree:
        _read_pyproject(sheet, tree)
    if name in ("cargo.toml", "config.toml", "config") and name.endswith("toml"):
        _read_cargo(sheet, tree)
    if "targets" in tree and (name == "binding.gyp" or isinstance(tree["targets"], list)):
        _read_gyp(sheet, tree)
    if name in ("environment.yml", "environment.yaml", "conda.yml", "pipfile"):
        _read_lists(sheet, tree)
    _read_registries(sheet, tree, name)


def _read_scripts(sheet: ConfigSheet, scripts: dict[str, Any], settings: dict[str, Any], *, composer: bool) -> None:
    """Scripts, with those that a life-cycle script calls counted as part of it."""
    unasked: dict[str, str] = {}
    tool = "composer" if composer else "npm"
    pending = [
        (key, f"{tool}:{key.rstrip(chr(0))}")
        for key in scripts
        if (_COMPOSER_HOOKS.match(key) if composer else _NPM_HOOKS.match(key.rstrip("\0")))
    ]
    while pending:
        key, hook = pending.pop()
        if key in unasked or key not in scripts:
            continue
        unasked[key] = hook
        line = "\n".join(strings_of(scripts[key]))
        called = [group for match in _RUN_SCRIPT.finditer(line) for group in match.groups() if group]
        called += re.findall(r"@([\w:-]+)", line) if composer else []
        pending.extend((prefix + name, hook) for name in called for prefix in ("", "pre", "post"))
    for key, value in scripts.items():
        for line in strings_of(value):
            sheet.run(line, "scripts", key, hook=unasked.get(key, ""), env=settings)


def _read_npm(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    for section in _NPM_DEPENDENCIES:
        for keys, spec in walk(dict_of(tree.get(section))):
            _add_npm(sheet, section, keys[-1] if keys else "", spec.strip())
    for holder in ("husky", "simple-git-hooks", "gitHooks"):
        found = dict_of(tree.get(holder))
        for event, command in dict_of(found.get("hooks")).items() if holder == "husky" else found.items():
            sheet.run(command, holder, event, hook=f"git:{event}")
    for extension in strings_of(dict_of(tree.get("openclaw")).get("extensions")):
        sheet.add(Kind.HOOK, "openclaw:extension", "extensions", via=extension)
    for _, command in walk(dict_of(tree.get("lint-staged"))):
        sheet.run(command, "lint-staged")


def _add_npm(sheet: ConfigSheet, section: str, name: str, spec: str) -> None:
    name = name.rpartition("/node_modules/")[2]
    if spec.startswith("npm:"):
        real = spec[4:]
        sheet.add(
            Kind.INSTALL, f"npm:{real[: real.rfind('@')] if real.rfind('@') > 0 else real}", section, name, via=spec
        )
    elif _ADDRESS.match(spec) or _SHORTHAND.match(spec):
        if not spec.startswith(("file:", "link:")):
            sheet.add(Kind.INSTALL, f"npm:{spec}", section, name, via=spec)
    elif name and not name.startswith("."):
        sheet.add(Kind.INSTALL, f"npm:{name}", section, via=name)


def _read_lock(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    """A lock file: only what comes from elsewhere than the public registry tells something."""
    odd = 0
    for holder in ("packages", "dependencies"):
        for name, entry in dict_of(tree.get(holder)).items():
            address = dict_of(entry).get("resolved")
            if isinstance(address, str) and "://" in address and not _REGISTRY_HOSTS.match(address) and odd < 200:
                odd += 1
                sheet.add(
                    Kind.INSTALL, f"npm:{name.rpartition('node_modules/')[2]}@{address}", holder, name, via=address
                )


def _read_pyproject(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    project, system, tool = (dict_of(tree.get(key)) for key in ("project", "build-system", "tool"))
    optional, groups = dict_of(project.get("optional-dependencies")), dict_of(tree.get("dependency-groups"))
    for holder in (project.get("dependencies"), system.get("requires"), *optional.values(), *groups.values()):
        for text in strings_of(holder):
            add_requirement(sheet, text)
    if system.get("backend-path"):
        where = "/".join(
            [*strings_of(system["backend-path"])[:1], str(system.get("build-backend", "")).replace(".", "/")]
        )
        sheet.add(Kind.HOOK, "pip:build-backend", "build-system", "backend-path", via=f"python {where}.py")
    hatch = dict_of(dict_of(dict_of(dict_of(tool.get("hatch")).get("build")).get("hooks")).get("custom"))
    if "custom" in dict_of(dict_of(dict_of(tool.get("hatch")).get("build")).get("hooks")):
        sheet.add(Kind.HOOK, "pip:hatch-build", "hooks.custom", via=f"python {hatch.get('path', 'hatch_build.py')}")
    poetry = dict_of(tool.get("poetry"))
    script = poetry.get("build") if isinstance(poetry.get("build"), str) else dict_of(poetry.get("build")).get("script")
    if isinstance(script, str):
        sheet.add(Kind.HOOK, "pip:poetry-build", "build", via=f"python {script}")
    for key in ("dependencies", "dev-dependencies"):
        _read_table(sheet, "pip", dict_of(poetry.get(key)), key)
    for source in (
        *list_of(poetry.get("source")),
        *list_of(dict_of(tool.get("uv")).get("index")),
        *list_of(dict_of(tool.get("pdm")).get("source")),
    ):
        if isinstance(source, dict) and isinstance(source.get("url"), str):
            sheet.add(Kind.INSTALL, f"pip:*@{source['url']}", "url", via=source["url"])
    for key, source in dict_of(dict_of(tool.get("uv")).get("sources")).items():
        if isinstance(source, dict):
            _read_table(sheet, "pip", {key: source}, "sources")


def _read_table(sheet: ConfigSheet, installer: str, table: dict[str, Any], *keys: str) -> None:
    for name, spec in table.items():
        fields = dict_of(spec)
        address = next(
            (fields[key] for key in ("git", "url", "registry-index") if isinstance(fields.get(key), str)), ""
        )
        if address:
            sheet.add(Kind.INSTALL, f"{installer}:{address}", *keys, name, via=address)
        elif name.lower() != "python" and "path" not in fields:
            real = fields["package"] if isinstance(fields.get("package"), str) else name
            sheet.add(Kind.INSTALL, f"{installer}:{real}", *keys, via=real)


def _read_cargo(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    build = dict_of(tree.get("package")).get("build")
    if isinstance(build, str):
        sheet.add(Kind.HOOK, "cargo:build", "build", via=build)
    for key in ("dependencies", "dev-dependencies", "build-dependencies"):
        _read_table(sheet, "cargo", dict_of(tree.get(key)), key)
    settings = dict_of(tree.get("build"))
    for key in ("rustc", "rustc-wrapper", "rustc-workspace-wrapper", "rustdoc"):
        if isinstance(settings.get(key), str):
            sheet.run(settings[key], "build", key, hook=f"cargo:{key}")
    for target in dict_of(tree.get("target")).values():
        for key in ("runner", "linker"):
            if command := dict_of(target).get(key):
                sheet.run(command, key, hook=f"cargo:{key}")
    for source in (*dict_of(tree.get("source")).values(), *dict_of(tree.get("registries")).values()):
        if isinstance(source, dict) and isinstance(address := source.get("registry", source.get("index")), str):
            sheet.add(Kind.INSTALL, f"cargo:*@{address}", via=address)


def _read_gyp(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    for keys, text in walk(tree):
        for match in _GYP_COMMAND.finditer(text):
            sheet.run(match[1], *keys, hook="npm:gyp")
    for target in list_of(tree.get("targets")):
        for action in list_of(dict_of(target).get("actions")):
            if isinstance(action, dict) and as_command(action.get("action")):
                sheet.run(action["action"], "action", hook="npm:gyp")


def _read_lists(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    for key in ("packages", "dev-packages"):
        _read_table(sheet, "pip", dict_of(tree.get(key)), key)
    for entry in list_of(tree.get("dependencies")):
        for requirement in strings_of(entry.get("pip")) if isinstance(entry, dict) else ():
            add_requirement(sheet, requirement)
    for source in list_of(tree.get("source")):
        if isinstance(source, dict) and isinstance(source.get("url"), str):
            sheet.add(Kind.INSTALL, f"pip:*@{source['url']}", "url", via=source["url"])


_REGISTRY_FILES = words(".npmrc npmrc .yarnrc .yarnrc.yml bunfig.toml pip.conf pip.ini setup.cfg uv.toml")


def _read_registries(sheet: ConfigSheet, tree: dict[str, Any], name: str) -> None:
    """Another registry for everything: .npmrc, .yarnrc, bunfig.toml, pip.conf, a publishConfig does not count."""
    if name in _REGISTRY_FILES:
        installer = "pip" if name in ("pip.conf", "pip.ini", "setup.cfg", "uv.toml") else "npm"
        for keys, value in walk(tree):
            key = keys[-1].lower().replace("_", "-") if keys else ""
            if key.endswith(("registry", "registryserver", "index-url", "find-links", "-url")) or (
                key == "url" and "index" in str(keys)
            ):
                for address in value.split():
                    if "://" in address:
                        extra = "+" if "extra" in key else "*"
                        sheet.add(Kind.INSTALL, f"{installer}:{extra}@{address}", *keys, via=address)
            elif key in ("script-shell", "yarnpath", "yarn-path", "onload-script", "init-module", "node-options"):
                sheet.run(value, *keys, hook=f"npm:{keys[-1]}")


def add_requirement(sheet: ConfigSheet, line: str, *keys: str, index: str = "") -> None:
    """Note a requirement as pip writes them: a name with a version, or an address."""
    line = line.partition(" #")[0].strip()
    name, at, address = line.partition(" @ ")
    if at:
        sheet.add(Kind.INSTALL, f"pip:{address.partition(';')[0].strip()}", *keys, via=line)
    elif _ADDRESS.match(line):
        sheet.add(Kind.INSTALL, f"pip:{line}", *keys, via=line)
    elif match := _NAME.match(name):
        sheet.add(Kind.INSTALL, f"pip:{match[1]}{index}", *keys, via=match[1])
