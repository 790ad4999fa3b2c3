"""Can a plugin work here? What its folder, this machine or a grant lacks is told before anything of it is used."""

import os
from collections.abc import Iterable, Iterator

from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.contracts import Permissions
from clawft.discovery.plugins import FoundPlugin, find_code
from clawft.errors import ClawftError, Diagnostic, Severity
from clawft.files import is_within, real_path
from clawft.trust.plugins import PluginStanding
from clawft.workspace import Workspace, resolve_path

__all__ = ["check_fit", "fit_plugins"]


def fit_plugins(
    standings: Iterable[PluginStanding], workspace: Workspace, web: WebSettings
) -> tuple[PluginStanding, ...]:
    """Plugins with what they lack: one that could never be started is not eligible."""
    return tuple(_fit(one, workspace, web) if one.state == "ready" else one for one in standings)


def _fit(standing: PluginStanding, workspace: Workspace, web: WebSettings) -> PluginStanding:
    said = check_fit(standing.found, standing.permissions, workspace, web)
    if not said:
        return standing
    state = "ineligible" if any(one.severity == "error" for one in said) else standing.state
    told = tuple(structs.replace(one, severity="warning") if one.severity == "error" else one for one in said)
    return structs.replace(standing, state=state, reasons=(*told, *standing.reasons))


def check_fit(found: FoundPlugin, permissions: Permissions, workspace: Workspace, web: WebSettings) -> list[Diagnostic]:
    """What keeps a plugin with these permissions from work here, as errors, and what else it will miss."""
    said = [*_check_code(found), *_check_hosts(found, permissions, web), *_check_paths(found, permissions, workspace)]
    return sorted(said, key=lambda one: one.severity != "error")


def _check_code(found: FoundPlugin) -> Iterator[Diagnostic]:
    manifest = found.manifest
    if manifest is None or not manifest.has_code:
        return
    if not manifest.wasm_module:
        files = _find_files(found)
        if not any(os.path.isfile(os.path.join(found.folder, one)) for one in files):
            message = f"It has no {files[0]}, where its code should be"
            yield Diagnostic("plugin-parts", "error", message, found.file)
        return
    if not os.path.isfile(os.path.join(found.folder, manifest.wasm_module)):
        message = f"It has no {manifest.wasm_module}, where its code should be"
        yield Diagnostic("wasm-no-module", "error", message, found.file)
    from importlib.util import find_spec

    if find_spec("wasmtime") is None:
        message = "It is in WebAssembly, and the optional part 'wasm' is not installed"
        yield Diagnostic("wasm-missing", "error", message, found.file, 0, "Install clawft[wasm]")


def _find_files(found: FoundPlugin) -> list[str]:
    """Where the code of a Python plugin may be, below its folder."""
    module, _, package = find_code(found)
    inside = module.removeprefix(package).removeprefix(".") if package else module
    if not inside:
        return ["__init__.py"]
    path = inside.replace(".", "/")
    return [f"{path}.py", f"{path}/__init__.py"]


def _check_hosts(found: FoundPlugin, permissions: Permissions, web: WebSettings) -> Iterator[Diagnostic]:
    if not permissions.network:
        return
    from clawft.trust.hosts import parse_grant
    from clawft.trust.urls import PolicyViolation, PrivateIp, UrlPolicy

    policy, private = UrlPolicy(web), []
    for text in permissions.network:
        try:
            grant = parse_grant(text)
            if not grant.subdomains:
                policy.read_allowed(f"https://{f'[{grant.host}]' if ':' in grant.host else grant.host}/")
        except PrivateIp:  # a name that leads to such an address is known when it is asked for, and not before
            private.append(text)
        except PolicyViolation as error:
            yield Diagnostic(error.code, "warning", str(error), found.file, 0, error.hint)
        except ClawftError as error:
            yield Diagnostic(error.code, "error", str(error), found.file, 0, error.hint)
    if private:
        are, them = ("are", "them") if len(private) > 1 else ("is", "it")
        message = f"{', '.join(private)} {are} private: tools.web.block_private_ips keeps {them} closed"
        hint = "Run: weft config set tools.web.block_private_ips false, which opens all that is private to every tool"
        yield Diagnostic("url-private-address", "warning", message, found.file, 0, hint)


def _check_paths(found: FoundPlugin, permissions: Permissions, workspace: Workspace) -> Iterator[Diagnostic]:
    ours = real_path(workspace.user_dir) if permissions.filesystem else ""
    for granted in permissions.filesystem:
        text = granted.removesuffix(":ro")
        path = real_path(resolve_path(text, workspace.project, workspace.home))
        if not path or is_within(path, ours) or is_within(ours, path):
            message = f"Nobody can be granted {text}, which holds the folder of clawft itself, or lies in it"
            hint = f"Grant a folder beside it: weft plugins grant {found.id}"
            yield Diagnostic("plugin-permissions", "error", message, found.file, 0, hint)
        elif not os.path.lexists(path):
            # What is missing in one project may be there in the next.
            severity: Severity = "warning" if text.startswith(("/", "~")) else "note"
            yield Diagnostic("plugin-absent", severity, f"{text} is not there, which it would use", found.file)
