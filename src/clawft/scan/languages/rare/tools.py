"""Languages of tools: Tcl with expect, awk, Vim, gnuplot, CMake, Nix, jq."""

from clawft.scan.languages.rare.manner import DOUBLE, SINGLE, WORD, Manner

__all__ = ["MANNERS"]

MANNERS = {
    "tcl": Manner(
        {
            "exec": "exec spawn",
            "eval": "eval subst uplevel",
            "load": "load",
            "read": "open file.read",
            "http": "http::geturl ::http::geturl",
            "connect": "socket",
            "send": "puts",
            "delete": "file.delete",
            "decode:base64": "base64::decode ::base64::decode",
            "reverse": "string.reverse",
            "concat": "append join",
            "wrap": "read gets ::http::data http::data format encoding",
            "none": "package",
        },
        comments=r"(?m:^[ \t]*)\#[^\n]*",
        names=WORD,
        joins="",
        heads=True,
        bare=True,
        holes=r"\$\{?(\w+)\}?",
        assigns="",
    ),
    "awk": Manner(
        {"exec": "system", "env": "ENVIRON", "none": "length substr"},
        strings=DOUBLE,
        names=r"[A-Za-z_]\w*",
        joins="",
        sides=True,
        pipes=True,
        ends=";",
    ),
    "viml": Manner(
        {
            "exec": "system systemlist job_start jobstart termopen term_start",
            "eval": "execute exec eval luaeval py3eval",
            "read": "readfile readblob",
            "write:last": "writefile",
            "env": "getenv",
            "delete": "delete",
            "wrap": "expand shellescape join",
            "none": "echo echom",
        },
        comments=r"(?m:^[ \t]*)\"[^\n]*",
        strings=DOUBLE + r"|'[^'\n]*'",
        names=r"(?:[a-z]:)?[A-Za-z_]\w*",
        joins=". ..",
        commands=r"^[ \t]*:?(?:au\w* \w+ \S+ )?(?:sil\w*!? +)?!([^\n]+)|\bexec?(?:ute)? +['\"]!([^'\"\n]{1,2000})",
        ends="|",
    ),
    "gnuplot": Manner(
        {"exec": "system"},
        strings=DOUBLE + r"|'[^'\n]*'",
        joins=".",
        commands=r"^[ \t]*!([^\n]+)|['\"][<|][ \t]*([^'\"\n]{1,2000})['\"]",
    ),
    "cmake": Manner(
        {"download": "file", "none": "message project set"},
        names=r"[A-Za-z_]\w*",
        folded=True,
        commands=r"\bCOMMAND[ \t]+([^)\n]{1,2000})",
    ),
    "nix": Manner(
        {"http": "fetchurl builtins.fetchurl fetchTarball builtins.fetchTarball", "env": "builtins.getEnv",
         "read": "builtins.readFile"},
        strings=DOUBLE,
        commands=r"(?:=|\bwriteShellScript(?:Bin)?\s+\"[^\"\n]{0,80}\")\s+''((?:[^']|'(?!'))*)''",
    ),
    "jq": Manner({"env": "env $ENV", "http": "fetch"}, strings=DOUBLE + "|" + SINGLE),
}  # fmt: skip
