"""Short names of cmdlets, and parameters that take no value."""

__all__ = ["ALIASES", "SWITCHES"]

ALIASES = {
    "iex": "invoke-expression", "iwr": "invoke-webrequest", "irm": "invoke-restmethod", "saps": "start-process",
    "start": "start-process",
    "icm": "invoke-command", "gc": "get-content", "cat": "get-content", "type": "get-content", "gci": "get-childitem",
    "ls": "get-childitem",
    "dir": "get-childitem", "gi": "get-item", "sc": "set-content", "ac": "add-content", "ri": "remove-item",
    "rm": "remove-item",
    "del": "remove-item", "erase": "remove-item", "rd": "remove-item", "rmdir": "remove-item", "cp": "copy-item",
    "copy": "copy-item",
    "cpi": "copy-item", "mv": "move-item", "move": "move-item", "mi": "move-item", "ren": "move-item",
    "rni": "move-item",
    "rename-item": "move-item", "sp": "set-itemproperty", "ni": "new-item", "sajb": "start-job",
    "gcb": "get-clipboard", "%": "foreach-object",
    "foreach": "foreach-object", "?": "where-object", "where": "where-object", "select": "select-object",
    "echo": "write-output",
    "write": "write-output", "tee": "tee-object", "sal": "set-alias", "nal": "set-alias", "new-alias": "set-alias",
    "ipmo": "import-module",
    "iwmi": "invoke-wmimethod", "invoke-cimmethod": "invoke-wmimethod", "cd": "set-location", "sl": "set-location",
    "chdir": "set-location", "ii": "invoke-item",
    "start-threadjob": "start-job", "sls": "select-string", "clhy": "clear-history", "h": "get-history",
    "history": "get-history",
}  # fmt: skip
SWITCHES = frozenset(
    ("usebasicparsing", "force", "recurse", "wait", "passthru", "raw", "append", "nonewwindow", "asjob",
    "asplaintext", "assecurestring",
     "noclobber", "verbose", "hidden", "nonewline", "disablekeepalive", "skipcertificatecheck", "nologo",
     "noprofile", "sta", "xor")
)  # fmt: skip
