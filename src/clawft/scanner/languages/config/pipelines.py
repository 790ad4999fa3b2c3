"""Build files, CI pipelines and containers: the commands they run and what they may reach."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from clawft.scanner.facts import Kind
from clawft.scanner.languages.config.sheet import ConfigSheet, dict_of, list_of, strings_of
from clawft.scanner.regex import lazy
from clawft.scanner.vocabulary.hosts import HostKind, judge_address

_STRINGS = lazy(r"\"((?:[^\"\\\n]|\\.){1,4000})\"|'((?:[^'\\\n]|\\.){1,4000})'")
_MSBUILD = lazy(
    r"<Exec\b[^<>]{0,400}?\bCommand=\"([^\"]{1,4000})\"|<(?:Pre|Post)BuildEvent>([^<]{1,4000})</|<Command>([^<]{1,4000})</Command>",
    re.IGNORECASE,
)
_MAVEN = lazy(r"<executable>([^<]{1,400})</executable>|<argument>([^<]{1,4000})</argument>")
_GRADLE = lazy(r"\b(?:commandLine|executable|args)\b[ \t(=]*([^\n]{1,4000})|([\"'][^\n]{1,2000}[\"'])\.execute\(")
_CMAKE = lazy(r"\bCOMMAND[ \t]+([^\n]{1,4000})")
_JENKINS = lazy(
    r"\b(?:sh|bat|powershell|pwsh)[ \t]*\(?[ \t]*(?:script:[ \t]*)?('''|\"\"\"|'|\")(.{1,8000}?)\1", re.DOTALL
)
_HEREDOC = lazy(r"\bcommand\s{0,20}=\s{0,20}<<[-~]?(\w{1,40})\n((?:[^\n]*\n){1,200}?)[ \t]*\1\b")
_TERRAFORM = lazy(
    r"^[ \t]*(?:command|program|inline|user_data|interpreter)[ \t]*=[ \t]*(\[[^\]]{1,4000}\]|[^\n]{1,4000})",
    re.MULTILINE,
)
_MAX = 500


def read_build(sheet: ConfigSheet, form: str) -> None:
    """Note the commands that a build runs."""
    for command in BUILDS[form](sheet.document.text)[:_MAX]:
        if command.strip():
            sheet.run(command, hook=f"{form}:build")


def _read_maven(text: str) -> list[str]:
    words = [unescape(match[1] or match[2]) for match in _MAVEN.finditer(text)]
    return [word for word in words if " " in word]


def _read_terraform(text: str) -> list[str]:
    return [
        *(line for match in _TERRAFORM.finditer(text) for line in _join(match[1])),
        *(match[2] for match in _HEREDOC.finditer(text)),
    ]


def _join(words: str) -> list[str]:
    """The command in a list of quoted words: the long one, or all of them."""
    found = [(match[1] or match[2] or "").replace('\\"', '"') for match in _STRINGS.finditer(words)]
    long = [entry for entry in found if " " in entry]
    return long or ([" ".join(found)] if found else [])


BUILDS: dict[str, Callable[[str], list[str]]] = {
    "msbuild": lambda text: [unescape(match[1] or match[2] or match[3]) for match in _MSBUILD.finditer(text)],
    "maven": _read_maven,
    "gradle": lambda text: [line for match in _GRADLE.finditer(text) for line in _join(match[1] or match[2])],
    "cmake": lambda text: [match[1].strip().rstrip(")") for match in _CMAKE.finditer(text)],
    "jenkins": lambda text: [match[2] for match in _JENKINS.finditer(text)],
    "terraform": _read_terraform,
}


_SECRET = lazy(r"\$\{\{\s*(?:secrets|vars)\.(\w+)\s*\}\}|\$\{\{\s*(?:github\.token)\s*\}\}")
_ALL_SECRETS = lazy(r"\$\{\{\s*to_?json\(\s*secrets\s*\)\s*\}\}", re.IGNORECASE)
_EXPRESSION = lazy(r"\$\{\{[^{}]{0,400}\}\}")
_GIT_EVENT = lazy(r"^(pre|post|prepare|commit)-[a-z-]+$")
_STEP_KEYS = ("run", "script", "bash", "sh", "before_script", "after_script", "command", "cmd", "cmds", "shell")
_SHELLS = {"python": "python", "pwsh": "powershell", "powershell": "powershell", "cmd": "batch", "node": "javascript"}
_HOST_PATHS = lazy(
    r"^(/|/etc|/root|/home|/var/run/docker\.sock|/run/docker\.sock|/proc|/sys|/dev|~|\$\{?HOME\}?|(~|\$\{?HOME\}?|/root)/\.(ssh|aws"
    r"|gnupg|kube|config|docker|claude|openclaw)[\w/.-]*)/?$"
)


def read_pipeline(sheet: ConfigSheet, tree: dict[str, Any], path: str) -> None:
    """Note the steps of a pipeline and the reach of containers."""
    if isinstance(tree.get("jobs"), dict) or isinstance(tree.get("runs"), dict):
        _read_workflow(sheet, tree)
    elif "gitlab-ci" in path or any(
        isinstance(tree.get(key), list) for key in ("stages", "steps", "before_script", "pipeline")
    ):
        _read_steps(sheet, tree)
    _read_pre_commit(sheet, list_of(tree.get("repos")))
    for key, value in tree.items():
        if _GIT_EVENT.match(key) and isinstance(value, dict):
            _read_lefthook(sheet, key, value)
    for name, service in dict_of(tree.get("services")).items():
        if isinstance(service, dict):
            _read_service(sheet, name, service)
    _read_others(sheet, tree)


def _read_others(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    if "kind" in tree and "apiVersion" in tree:
        _read_manifest(sheet, tree, 0)
    for key in ("runcmd", "bootcmd"):
        for command in list_of(tree.get(key)):
            sheet.run(command, key, hook="cloud-init")
    if isinstance(tree.get("tasks"), dict):  # a Taskfile
        _read_steps(sheet, tree["tasks"])


def _read_workflow(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    events = tree.get("on", tree.get("True", tree.get("true")))
    if "pull_request_target" in (events if isinstance(events, dict | list) else [events]):
        sheet.add(Kind.HOOK, "github:pull_request_target", via="pull_request_target")
    for job in (*dict_of(tree.get("jobs")).values(), tree.get("runs")):
        if not isinstance(job, dict):
            continue
        outer = {**dict_of(tree.get("env")), **dict_of(job.get("env"))}
        for step in list_of(job.get("steps")):
            if isinstance(step, dict):
                _read_step(sheet, step, outer)
        for key in ("pre", "main", "post"):
            if isinstance(job.get(key), str):
                sheet.add(Kind.HOOK, f"github:action-{key}", key, via=f"node {job[key]}")


def _read_step(sheet: ConfigSheet, step: dict[str, Any], outer: dict[str, Any]) -> None:
    env = {key: _plain(str(value)) for key, value in {**outer, **dict_of(step.get("env"))}.items()}
    run = step.get("run", step.get("script", step.get("bash")))
    if isinstance(run, dict):
        run = run.get("command")
    if isinstance(run, str):
        language = _SHELLS.get(str(step.get("shell", "")).split(" ")[0], "shell")
        sheet.run(_plain(run), "steps", env=env, language=language)
    script = dict_of(step.get("with")).get("script")
    if isinstance(script, str):
        sheet.hold(_plain(script), "javascript", "config", "script")


def _plain(text: str) -> str:
    """A step with its expressions written as shell variables: a secret is a variable that holds one."""
    text = _ALL_SECRETS.sub("$(printenv)", text)
    text = _SECRET.sub(lambda match: f"${{{match[1] or 'GITHUB_TOKEN'}}}", text)
    return _EXPRESSION.sub("VALUE", text)


def _read_steps(sheet: ConfigSheet, tree: Any, depth: int = 0) -> None:
    """Steps at any depth of a pipeline."""
    if depth > 8:
        return
    if isinstance(tree, list):
        for entry in tree:
            _read_steps(sheet, entry, depth + 1)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in _STEP_KEYS:
                for line in strings_of(value):
                    sheet.run(_plain(line), key)
            if isinstance(value, dict | list):
                _read_steps(sheet, value, depth + 1)


def _read_pre_commit(sheet: ConfigSheet, repos: list[Any]) -> None:
    for repo in repos:
        if not isinstance(repo, dict) or not isinstance(repo.get("repo"), str):
            continue
        if "://" in repo["repo"]:
            sheet.add(Kind.INSTALL, f"pre-commit:{repo['repo']}", "repo", via=repo["repo"])
        for hook in list_of(repo.get("hooks")):
            if isinstance(hook, dict) and isinstance(hook.get("entry"), str):
                words = [hook["entry"], *strings_of(hook.get("args"))]
                sheet.run(" ".join(words), "entry", hook="git:pre-commit")


def _read_lefthook(sheet: ConfigSheet, event: str, value: dict[str, Any]) -> None:
    for holder in ("commands", "scripts", "jobs"):
        for name, entry in _items(value.get(holder)):
            if isinstance(entry, dict) and isinstance(entry.get("run"), str):
                sheet.run(entry["run"], event, str(name), hook=f"git:{event}")
            elif isinstance(entry, dict) and holder == "scripts":
                sheet.add(Kind.HOOK, f"git:{event}", event, via=f".lefthook/{event}/{name}")


def _read_service(sheet: ConfigSheet, name: str, service: dict[str, Any]) -> None:
    """A compose service: what it may reach of the machine, and what it runs."""
    env = service.get("environment")
    mounts = dict(_mounts(service.get("volumes")))
    for key in ("command", "entrypoint"):
        sheet.run(_outside(service.get(key), mounts), "services", name, key, env=env)
    _add_image(sheet, service.get("image"), "services", name)
    if service.get("privileged") is True:
        sheet.add(Kind.PRIVILEGE, "privileged container", "services", name, "privileged", via="privileged")
    for key in ("pid", "ipc", "network_mode", "userns_mode"):
        if service.get(key) == "host" and key != "network_mode":
            sheet.add(Kind.PRIVILEGE, f"container shares the host's {key}", "services", name, key, via=key)
    for capability in strings_of(service.get("cap_add")):
        if capability.upper() in ("ALL", "SYS_ADMIN", "CAP_SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"):
            sheet.add(Kind.PRIVILEGE, f"capability {capability}", "services", name, "cap_add", via=capability)
    for source in mounts.values():
        _add_mount(sheet, source, "services", name, "volumes")


def _mounts(volumes: Any) -> list[tuple[str, str]]:
    """Return the path of each volume in the container, and the folder of the host that it is."""
    found = []
    for volume in list_of(volumes):
        if isinstance(volume, dict):
            found.append((str(volume.get("target", "")), str(volume.get("source", ""))))
        else:
            source, _, rest = str(volume).partition(":")
            found.append((rest.partition(":")[0], source))
    return found


def _outside(command: Any, mounts: dict[str, str]) -> Any:
    """A command with the paths of the host in place of those of the container, where they lead to something."""
    if isinstance(command, list):
        return [_outside(part, mounts) for part in command]
    for inside, outside in mounts.items():
        if isinstance(command, str) and len(inside) > 1 and _HOST_PATHS.match(outside):
            command = re.sub(rf"{re.escape(inside)}(?![\w.-])", outside.replace("\\", ""), command)
    return command


def _add_image(sheet: ConfigSheet, image: Any, *keys: str) -> None:
    """An image that comes from a bare address; a registry with a name is someone's."""
    if isinstance(image, str) and judge_address(image) is HostKind.BARE:
        sheet.add(Kind.INSTALL, f"docker:http://{image}", *keys, via=image)


def _add_mount(sheet: ConfigSheet, source: str, *keys: str) -> None:
    if _HOST_PATHS.match(source):
        sheet.add(Kind.PRIVILEGE, f"container mounts {source}", *keys, via=source)
        if source not in ("/", "/proc", "/sys", "/dev") and "docker.sock" not in source:
            sheet.add(Kind.READ, source, *keys, via="volume")


def _read_manifest(sheet: ConfigSheet, tree: Any, depth: int) -> None:
    """A Kubernetes object: its containers and volumes, wherever they are nested."""
    if depth > 12:
        return
    if isinstance(tree, list):
        for entry in tree:
            _read_manifest(sheet, entry, depth + 1)
    elif isinstance(tree, dict):
        _add_image(sheet, tree.get("image"), "image")
        if "image" in tree and ("command" in tree or "args" in tree):
            words = [*strings_of(tree.get("command")), *strings_of(tree.get("args"))]
            sheet.run(words, "command")
        if tree.get("privileged") is True:
            sheet.add(Kind.PRIVILEGE, "privileged container", "privileged", via="privileged")
        if isinstance(where := tree.get("hostPath"), dict):
            _add_mount(sheet, str(where.get("path", "")), "hostPath")
        for key, value in tree.items():
            if key in ("postStart", "preStop") and isinstance(value, dict):
                sheet.run(dict_of(value.get("exec")).get("command"), key, hook=f"kubernetes:{key}")
            elif isinstance(value, dict | list):
                _read_manifest(sheet, value, depth + 1)


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(enumerate(value)) if isinstance(value, list) else list(dict_of(value).items())
