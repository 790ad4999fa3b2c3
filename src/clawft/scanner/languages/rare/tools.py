"""Languages of tools and Windows scripts: Tcl, awk, Vim, CMake, sed, SQL, LaTeX, VBScript, AutoHotkey and others."""

from clawft.scanner.languages.rare.manners import BASIC, DOUBLE, SINGLE, WORD, RareLanguage

_QUOTED = r"'((?:[^'\n]|''){1,2000})'"  # of SQL

LINE_LANGUAGES = {
    "sed": RareLanguage(
        {},
        commands=r"^[ \t]{0,20}(?:[\d$,+~/!]|/[^/\n]*/){0,6}[ \t]{0,20}e[ \t]([^\n]+)"
        r"|^[ \t]*s([^\w\s])(?:(?!\2)[^\n])*\2((?:(?!\2)[^\n])*)\2[gp\d]*e",
    ),
    "sql": RareLanguage(
        {},
        commands="|".join(
            (
                rf"\b(?:TO|FROM)\s+PROGRAM\s+(?:E?{_QUOTED}|\$\w*\$([^$]{{1,2000}})\$)",
                rf"\bxp_cmdshell\s*(?:@command_string\s*=\s*)?\(?\s*N?{_QUOTED}",
                r"^[ \t]*\.(?:shell|system|once \||output \|)[ \t]*([^\n]+)|^[ \t]*\\!([^\n]+)",
                rf"\\copy\b[^\n]{{0,200}}?\bprogram\s+{_QUOTED}",
                rf"\bsys_(?:exec|eval)\s*\(\s*{_QUOTED}|^[ \t]*(?:!|system)[ \t]+([^\n;]+)$",
                rf"\bsp_OAMethod\b[^\n']{{0,200}}'run'[^\n']{{0,200}}{_QUOTED}",
            )
        ),
    ),
    "latex": RareLanguage(
        {},
        commands=r"\\write18[ \t]*\{([^}\n]{1,2000})\}|\\ShellEscape[ \t]*\{([^}\n]{1,2000})\}"
        r"|\\(?:input|openin\\?\w{0,40}[ \t]*=?)[ \t]*\{?[ \t]*\"?\|[ \t]*\"?([^}\n\"]{1,2000})"
        r"|\\directlua[ \t]*\{[^}]{0,400}?os\.execute\([ \t]*[\"']([^\"'\n]{1,2000})",
    ),
    "m4": RareLanguage({}, commands=r"\be?syscmd\([ \t]*[`\[]{0,4}([^'\])]{1,2000})"),
    "gdb": RareLanguage({}, commands=r"^[ \t]*(?:shell|!|pipe)[ \t]+([^\n]+)|\bos\.system\([\"']([^\"'\n]{1,2000})"),
    "workflow": RareLanguage({}, commands=r"<key>COMMAND_STRING</key>\s{0,40}<string>([^<]{1,8000})</string>"),
    "registry": RareLanguage({}, shell="batch", commands=r"^(?:\"[^\"\n]*\"|@)=\"((?:[^\"\\\n]|\\.)*)\"[ \t\r]*$"),
}


TOOL_LANGUAGES = {
    "tcl": RareLanguage(
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
    "awk": RareLanguage(
        {"exec": "system", "env": "ENVIRON", "none": "length substr"},
        strings=DOUBLE,
        names=r"[A-Za-z_]\w*",
        joins="",
        sides=True,
        pipes=True,
        ends=";",
    ),
    "viml": RareLanguage(
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
    "gnuplot": RareLanguage(
        {"exec": "system"},
        strings=DOUBLE + r"|'[^'\n]*'",
        joins=".",
        commands=r"^[ \t]*!([^\n]+)|['\"][<|][ \t]*([^'\"\n]{1,2000})['\"]",
    ),
    "cmake": RareLanguage(
        {"download": "file", "none": "message project set"},
        names=r"[A-Za-z_]\w*",
        folded=True,
        commands=r"\bCOMMAND[ \t]+([^)\n]{1,2000})",
    ),
    "nix": RareLanguage(
        {"http": "fetchurl builtins.fetchurl fetchTarball builtins.fetchTarball", "env": "builtins.getEnv",
         "read": "builtins.readFile"},
        strings=DOUBLE,
        commands=r"(?:=|\bwriteShellScript(?:Bin)?\s+\"[^\"\n]{0,80}\")\s+''((?:[^']|'(?!'))*)''",
    ),
    "jq": RareLanguage({"env": "env $ENV", "http": "fetch"}, strings=DOUBLE + "|" + SINGLE),
}  # fmt: skip


_HTTP = {
    "request-open": ".open", "request-send": ".send .sendrequest", "stream-save": ".savetofile",
    "stream-load": ".loadfromfile", "stream-write": ".write .writetext .writeline",
}  # fmt: skip
_NAMES = r"\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"

WINDOWS_SCRIPT_LANGUAGES = {
    "vbscript": RareLanguage(
        {
            **_HTTP,
            "exec:first": ".exec .run shell .create",
            "exec:line": ".shellexecute",
            "eval": "execute executeglobal eval .addcode .executestatement",
            "env": ".expandenvironmentstrings .environment environ",
            "read": ".opentextfile .readtext .getfile .copyfile",
            "wrap": ".createtextfile getobject .specialfolders cstr trim lcase ucase .getspecialfolder",
            "delete": ".deletefile .deletefolder kill",
            "persist": ".regwrite",
            "chars": "chr chrw",
            "reverse": "strreverse",
            "source:clipboard": ".getdata",
            "none": "msgbox .echo .sleep .popup .setrequestheader createobject .createobject",
        },
        comments=r"(?:'|\brem\b)[^\n]*",
        strings=BASIC,
        names=_NAMES,
        joins="& +",
        folded=True,
        escapes=False,
        shell="batch",
        ends=":",
        holes=r"%(\w+)%",
    ),
    "autohotkey": RareLanguage(
        {
            **_HTTP,
            "exec:first": "run runwait .run .exec",
            "download": "urldownloadtofile download",
            "env": "envget",
            "read": "fileread fileopen",
            "write:last": "fileappend",
            "delete": "filedelete fileremovedir",
            "chars": "chr",
            "persist": "regwrite",
            "none": "msgbox sleep",
        },
        comments=r";[^\n]*",
        strings=BASIC + r"|'[^'\n]*'|https?://[^\s,\"']+|(?<=[,\s])%\w+%\\[^\s,]+",
        names=_NAMES,
        joins=". &",
        sides=True,
        words=True,
        preset={"a_comspec": "cmd", "a_temp": "%TEMP%", "a_appdata": "%APPDATA%", "a_startup": "Startup"},
        commands=r"^[ \t]*Run(?:Wait)?[ \t]*,[ \t]*([^\n,]+)",
        folded=True,
        escapes=False,
        shell="batch",
        ends="",
        holes=r"%(\w+)%",
    ),
    "autoit": RareLanguage(
        {
            **_HTTP,
            "exec:first": "run runwait",
            "exec:line": "shellexecute shellexecutewait runas",
            "eval": "execute",
            "http": "inetread _inet_getsource",
            "download": "inetget",
            "env": "envget",
            "read": "fileread fileopen filereadtoarray",
            "write": "filewrite filewriteline",
            "delete": "filedelete dirremove",
            "chars": "chr chrw",
            "persist": "regwrite filecreateshortcut",
            "source:clipboard": "clipget",
            "wrap": "binarytostring string",
            "none": "msgbox sleep consolewrite",
        },
        comments=r";[^\n]*|\#c[se][^\n]*",
        strings=BASIC + r"|'[^'\n]*'",
        names=_NAMES,
        joins="&",
        preset={"comspec": "cmd", "tempdir": "%TEMP%", "appdatadir": "%APPDATA%", "startupdir": "Startup"},
        folded=True,
        escapes=False,
        shell="batch",
        ends="",
    ),
}
