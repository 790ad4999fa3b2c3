"""What the calls of Nim do."""

CALLS = {
    "exec:shell": "execShellCmd execCmd execCmdEx osproc.execCmd osproc.execCmdEx os.execShellCmd staticExec gorge",
    "exec:argv": "startProcess execProcess osproc.startProcess osproc.execProcess",
    "env": "getEnv os.getEnv",
    "env-all": "envPairs os.envPairs",
    "read": "readFile lines syncio.readFile readLines",
    "open": "open",
    "write": "writeFile",
    "list": "walkFiles walkDir walkDirRec",
    "copy": "copyFile moveFile",
    "delete": "removeFile removeDir",
    "permit": "setFilePermissions",
    "http:GET": "newHttpClient().getContent newHttpClient().get newAsyncHttpClient().getContent",
    "http:POST": """
        newHttpClient().postContent newHttpClient().post newAsyncHttpClient().postContent
        newHttpClient().request
    """,
    "http-own:POST": ".postContent .post .request",
    "http-own:GET": ".getContent",
    "download": ".downloadFile",
    "connect-own": "newSocket().connect .connect",
    "send-own": ".send",
    "decode:base64": "decode base64.decode",
    "decode:hex": "parseHexStr",
    "home": "getHomeDir os.getHomeDir",
    "path": "joinPath",
    "chars": "chr",
    "wrap": "expandTilde encode base64.encode $ parseUri join newStringStream",
    "load": "loadLib",
    "quiet": "echo quit sleep fileExists",
}
