"""Texts that are no programs, but hold command lines: sed, SQL, LaTeX, m4, GDB and the registry of Windows."""

from clawft.scan.languages.rare.manner import Manner

__all__ = ["MANNERS"]

_QUOTED = r"'((?:[^'\n]|''){1,2000})'"  # of SQL

MANNERS = {
    "sed": Manner(
        {},
        commands=r"^[ \t]{0,20}(?:[\d$,+~/!]|/[^/\n]*/){0,6}[ \t]{0,20}e[ \t]([^\n]+)"
        r"|^[ \t]*s([^\w\s])(?:(?!\2)[^\n])*\2((?:(?!\2)[^\n])*)\2[gp\d]*e",
    ),
    "sql": Manner(
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
    "latex": Manner(
        {},
        commands=r"\\write18[ \t]*\{([^}\n]{1,2000})\}|\\ShellEscape[ \t]*\{([^}\n]{1,2000})\}"
        r"|\\(?:input|openin\\?\w{0,40}[ \t]*=?)[ \t]*\{?[ \t]*\"?\|[ \t]*\"?([^}\n\"]{1,2000})"
        r"|\\directlua[ \t]*\{[^}]{0,400}?os\.execute\([ \t]*[\"']([^\"'\n]{1,2000})",
    ),
    "m4": Manner({}, commands=r"\be?syscmd\([ \t]*[`\[]{0,4}([^'\])]{1,2000})"),
    "gdb": Manner({}, commands=r"^[ \t]*(?:shell|!|pipe)[ \t]+([^\n]+)|\bos\.system\([\"']([^\"'\n]{1,2000})"),
    "workflow": Manner({}, commands=r"<key>COMMAND_STRING</key>\s{0,40}<string>([^<]{1,8000})</string>"),
    "registry": Manner({}, shell="batch", commands=r"^(?:\"[^\"\n]*\"|@)=\"((?:[^\"\\\n]|\\.)*)\"[ \t\r]*$"),
}
