"""Settings of editors and development containers: tasks that start when a folder is opened."""

import re
from typing import Any

from clawft.scan.facts import Kind
from clawft.scan.languages.config.sheet import Sheet, as_command, strings_of
from clawft.scan.lazy import lazy

__all__ = ["read_editor_settings"]

_CONTAINER = lazy(r"^(initialize|onCreate|updateContent|postCreate|postStart|postAttach)Command$")
_MOUNT = lazy(r"(?:source|src)=([^,]*(?:/\.(?:ssh|aws|gnupg|kube|claude)|docker\.sock|^/$))")
_PROGRAM = lazy(
    r"(^|\.)(git\.path|(default)?interpreterpath|pythonpath|shellpath|shell\.(linux|osx|windows)|runtime|nodepath|execpath"
    r"|executablepath|servercommand|binarypath|phpexecutablepath|gopath|toolspath|alternatetools)$",
    re.IGNORECASE,
)


def read_editor_settings(sheet: Sheet, tree: dict[str, Any], path: str) -> bool:
    """Note the tasks and programs that an editor starts; whether it was such a file."""
    before = len(sheet.facts) + len(sheet.children)
    for key, value in tree.items():
        if _CONTAINER.match(key):
            sheet.run(value, key, hook=f"devcontainer:{key}")
    _read_reach(sheet, tree)
    if isinstance(tree.get("tasks"), list) and ("version" in tree or "tasks.json" in path):
        _read_tasks(sheet, tree)
    elif isinstance(tree.get("tasks"), dict) and "tasks" in tree["tasks"]:  # a code-workspace nests them
        _read_tasks(sheet, tree["tasks"])
    if isinstance(tree.get("configurations"), list):
        for one in tree["configurations"]:
            if isinstance(one, dict) and "request" in one:
                _read_launch(sheet, one)
    settings = tree.get("settings") if path.endswith(".code-workspace") else tree
    if isinstance(settings, dict) and (".vscode/" in path or "/user/" in path or path.endswith(".code-workspace")):
        _read_settings(sheet, settings)
    return len(sheet.facts) + len(sheet.children) > before


def _read_reach(sheet: Sheet, tree: dict[str, Any]) -> None:
    """What a development container may reach of the machine."""
    for one in strings_of(tree.get("runArgs")):
        if one in ("--privileged", "--pid=host") or one.startswith("--cap-add="):
            sheet.add(Kind.PRIVILEGE, f"container runs with {one}", "runArgs", via=one)
    for one in strings_of(tree.get("mounts")):
        if match := _MOUNT.search(one):
            sheet.add(Kind.PRIVILEGE, f"container mounts {match[1]}", "mounts", via=one)


def _read_tasks(sheet: Sheet, tree: dict[str, Any]) -> None:
    for task in tree.get("tasks", ()) if isinstance(tree.get("tasks"), list) else ():
        if not isinstance(task, dict):
            continue
        options = task.get("runOptions")
        opened = isinstance(options, dict) and str(options.get("runOn", "")).lower() == "folderopen"
        hook = "vscode:folderOpen" if opened else ""
        env = task["options"].get("env") if isinstance(task.get("options"), dict) else None
        for part in (task, *(task[key] for key in ("linux", "osx", "windows") if isinstance(task.get(key), dict))):
            command = part.get("command")
            if isinstance(command, dict):
                command = command.get("value")
            words = part.get("args") if isinstance(part.get("args"), list) else []
            args = [one.get("value", "") if isinstance(one, dict) else one for one in words]
            if isinstance(command, str):
                line = f"{command} {as_command([str(one) for one in args])}".strip()
                sheet.run(line, "tasks", hook=hook, env=env)


def _read_launch(sheet: Sheet, one: dict[str, Any]) -> None:
    program = one.get("runtimeExecutable") or one.get("program")
    if isinstance(program, str):
        words = [program, *strings_of(one.get("runtimeArgs")), *strings_of(one.get("args"))]
        sheet.run(words, "configurations", env=one.get("env"))


def _read_settings(sheet: Sheet, settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        if isinstance(value, str) and _PROGRAM.search(key) and ("/" in value or "\\" in value):
            if "${workspaceFolder}" in value or value.startswith(("./", "../")):
                sheet.add(Kind.HOOK, f"vscode:{key}", key, via=value)
        elif key.startswith("terminal.integrated.") and isinstance(value, dict):
            for name, profile in value.items():
                if isinstance(profile, dict) and profile.get("args"):
                    sheet.run(
                        [str(profile.get("path", "sh")), *strings_of(profile["args"])],
                        key,
                        name,
                        hook="vscode:terminal",
                    )
        elif key == "task.allowAutomaticTasks" and value == "on":
            sheet.add(Kind.BYPASS, "setting task.allowAutomaticTasks", key, via=key)
