"""What the calls of Lua do."""

CALLS = {
    "exec:shell": """
        os.execute io.popen vim.fn.system vim.fn.jobstart posix.exec luv.spawn vim.fn.systemlist os.exec
        hs.execute
    """,
    "eval": "load loadstring dofile loadfile vim.cmd",
    "require": "require",
    "env": "os.getenv posix.getenv vim.fn.getenv",
    "environment": "vim.env",
    "open": "io.open io.lines",
    "copy": "os.rename",
    "delete": "os.remove",
    "http:GET": "socket.http.request ssl.https.request http.request https.request requests.get http.get",
    "http:POST": "requests.post http.post",
    "connection": "socket.connect socket.tcp_connect",
    "connect-own": "socket.tcp().connect .connect",
    "send-own": ".send .write .sendto",
    "resolve": "socket.dns.toip socket.dns.getaddrinfo",
    "decode:base64": """
        mime.unb64 base64.decode mime.decode ngx.decode_base64 b64.decode lbase64.decode vim.base64.decode
    """,
    "chars": "string.char utf8.char",
    "fold:reverse": "string.reverse",
    "fold:lower": "string.lower",
    "fold:upper": "string.upper",
    "lua-gsub": "string.gsub .gsub",
    "fold:lua-sub": "string.sub",
    "implode-first": "table.concat",
    "format": "string.format",
    "load": "package.loadlib ffi.load",
    "wrap": """
        tostring mime.b64 base64.encode cjson.encode json.encode url.escape ltn12.source.string cjson.decode
        ipairs pairs table.unpack unpack assert
    """,
    "thread": "pcall xpcall coroutine.wrap",
    "quiet": "print error type os.time os.date",
}
