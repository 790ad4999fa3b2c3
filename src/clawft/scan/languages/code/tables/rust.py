"""What the calls of Rust do."""

CALLS = {
    "command-new": "Command.new process.Command.new",
    "command-add": """
        command().arg command().args command().stdin command().env command().current_dir command().stdout
        command().stderr command().as_mut command().arg0 command().creation_flags
    """,
    "command-run": "command().spawn command().output command().status command().exec",
    "exec:shell": "cmd! duct.cmd run_cmd! run_fun! libc.system execute.shell",
    "env": "env.var env.var_os env! option_env! dotenvy.var",
    "env-all": "env.vars env.vars_os",
    "read": """
        fs.read_to_string fs.read File.open fs.File.open include_str! include_bytes! OpenOptions.new().open
        Connection.open
    """,
    "list": "fs.read_dir glob.glob WalkDir.new glob",
    "write": "fs.write File.create fs.File.create",
    "copy": "fs.copy fs.rename fs.hard_link",
    "delete": "fs.remove_file fs.remove_dir_all fs.remove_dir",
    "permit": "fs.set_permissions",
    "http:GET": """
        reqwest.get reqwest.blocking.get ureq.get minreq.get attohttpc.get reqwest.Client.new().get
        reqwest.blocking.Client.new().get surf.get isahc.get
    """,
    "http:POST": """
        reqwest.Client.new().post reqwest.blocking.Client.new().post ureq.post minreq.post attohttpc.post
        reqwest.Client.new().put surf.post isahc.post ureq.put
    """,
    "http-own:POST": ".post .put",
    "http-own:GET": ".get",
    "send-own": """
        .body .json .form .header .query .multipart .send_string .send_json .write_all .write .send_form
        .send_bytes .with_body .set .bearer_auth .send_to .send
    """,
    "connection": "TcpStream.connect net.TcpStream.connect tungstenite.connect UdpSocket.connect",
    "listen": "TcpListener.bind net.TcpListener.bind",
    "resolve": "lookup_host dns_lookup.lookup_host .to_socket_addrs",
    "decode:base64": """
        base64.decode general_purpose.STANDARD.decode STANDARD.decode engine.general_purpose.STANDARD.decode
        BASE64_STANDARD.decode BASE64.decode URL_SAFE.decode
    """,
    "decode:hex": "hex.decode",
    "decode:compressed": "ZlibDecoder.new DeflateDecoder.new",
    "decode:gzip": "GzDecoder.new",
    "home": "dirs.home_dir home.home_dir env.home_dir dirs_next.home_dir",
    "path-own": ".join",
    "format": "format! format_args!",
    "concat": "concat!",
    "list-of": "vec!",
    "wrap": """
        String.from String.from_utf8 String.from_utf8_lossy str.from_utf8 Path.new PathBuf.from
        serde_json.to_string Box.new Some Ok base64.encode general_purpose.STANDARD.encode Cow.from
        Url.parse Client.builder OsStr.new json! BufReader.new shellexpand.tilde std.str.from_utf8 Arc.new
    """,
    "load": "Library.new libloading.Library.new",
    "source:clipboard": "Clipboard.new().get_text arboard.Clipboard.new().get_text",
    "source:keychain": "keyring.Entry.new",
    "privilege": "setuid nix.unistd.setuid libc.setuid",
    "dup": "dup2 nix.unistd.dup2 libc.dup2",
    "quiet": """
        println! eprintln! print! panic! assert! assert_eq! dbg! info! debug! warn! error! bail! anyhow!
        fs.create_dir_all write! drop
    """,
}
