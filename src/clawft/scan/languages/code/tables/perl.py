"""What the calls of Perl do."""

CALLS = {
    "exec:list": "system exec IPC.Open3.open3 IPC.Open2.open2 CORE.system CORE.exec capture IPC.System.Simple.system",
    "exec:third": "open2 open3",
    "backtick": "` readpipe",
    "eval": "eval evalbytes do CORE.GLOBAL.eval",
    "environment": "$ENV",
    "perl-open": "open CORE.open sysopen",
    "read": "read_file slurp File.Slurp.read_file File.Slurper.read_text path.slurp DBI.connect read_text read_binary",
    "write": "write_file File.Slurp.write_file write_text",
    "list": "glob readdir opendir bsd_glob find",
    "copy": "copy move rename File.Copy.copy File.Copy.move symlink",
    "delete": "unlink rmdir remove_tree rmtree File.Path.remove_tree",
    "permit-second": "chmod",
    "http:GET": """
        get LWP.Simple.get getprint HTTP.Request.Common.GET GET head LWP.UserAgent.new().get
        HTTP.Tiny.new().get HTTP.Tiny.get Mojo.UserAgent.new().get
    """,
    "http:POST": """
        POST PUT HTTP.Request.Common.POST LWP.UserAgent.new().post LWP.UserAgent.new().put
        HTTP.Tiny.new().post HTTP.Tiny.new().put HTTP.Tiny.new().post_form Mojo.UserAgent.new().post
        HTTP.Tiny.post
    """,
    "http:first": "HTTP.Request.new HTTP.Tiny.new().request",
    "http-own:POST": ".post .put .post_form",
    "http-own:GET": ".get .mirror",
    "download": "getstore mirror LWP.Simple.getstore LWP.Simple.mirror",
    "connection-named": """
        IO.Socket.INET.new IO.Socket.SSL.new IO.Socket.IP.new Net.SMTP.new Net.FTP.new Net.SSH.Perl.new
    """,
    "connection": "connect",
    "socket-address": "sockaddr_in pack_sockaddr_in inet_aton",
    "send-first": "print send syswrite printf say",
    "send-own": ".send .print .syswrite .datasend .put .write .content .request .printf .say",
    "resolve": "gethostbyname getaddrinfo Net.DNS.Resolver.new().query Net.DNS.Resolver.new().search",
    "decode:base64": "decode_base64 MIME.Base64.decode_base64 MIME.Base64.decode decode_base64url",
    "decode:compressed": "uncompress Compress.Zlib.uncompress inflate Compress.Zlib.memGunzip memGunzip",
    "decode:percent": "uri_unescape URI.Escape.uri_unescape",
    "pack": "pack",
    "unpack": "unpack",
    "implode": "join",
    "fold:reverse": "reverse",
    "fold:lower": "lc lcfirst",
    "fold:upper": "uc ucfirst",
    "fold:ord": "ord",
    "decode:hex-number": "hex oct",
    "fold:substr": "substr",
    "chars": "chr",
    "map-block": "map grep sort",
    "arguments": "shift pop",
    "wrap": """
        scalar encode_base64 MIME.Base64.encode_base64 encode_json decode_json to_json uri_escape abs_path
        URI.new JSON.encode_json lc quotemeta ref values keys each Dumper freeze
    """,
    "format": "sprintf",
    "path": "File.Spec.catfile catfile File.Spec.catdir",
    "load": "Storable.retrieve Storable.thaw thaw retrieve DynaLoader.dl_load_file",
    "import": "require",
    "dup": "dup2 POSIX.dup2",
    "quiet": "die warn exit chomp mkdir close binmode use return defined exists sleep bless",
}
