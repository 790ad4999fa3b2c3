"""The effects of calls in C, C++, Go, Rust, Nim and Swift."""

C_CALLS = """
    exec:shell = system popen _popen std.system
    exec:any = WinExec ShellExecuteA ShellExecute
    exec:words = execl execlp execle
    exec:second = execv execvp execve posix_spawn posix_spawnp
    env = getenv secure_getenv std.getenv
    open = fopen freopen std.ifstream ifstream
    read = open
    write = std.ofstream ofstream
    copy = rename symlink
    delete = unlink remove rmdir
    permit = chmod
    curl-init = curl_easy_init
    curl-option = curl_easy_setopt
    curl-run = curl_easy_perform
    download-second = URLDownloadToFile URLDownloadToFileA
    socket-address = inet_addr inet_pton inet_aton
    resolve = gethostbyname getaddrinfo
    load = dlopen LoadLibraryA LoadLibrary
    format-into = sprintf snprintf strcpy strcat strncpy strncat asprintf
    privilege = setuid setgid seteuid setreuid
    dup = dup2
    wrap = std.string string strdup
    quiet = printf fprintf puts exit malloc free memset strlen sizeof sleep
"""


GO_CALLS = """
    exec:words = exec.Command
    exec:skip-first = exec.CommandContext
    exec:second = syscall.Exec os.StartProcess syscall.ForkExec unix.Exec
    env = os.Getenv os.LookupEnv syscall.Getenv
    env-all = os.Environ syscall.Environ
    read = os.ReadFile ioutil.ReadFile os.Open os.OpenFile embed.ReadFile sql.Open
    list = filepath.Glob os.ReadDir ioutil.ReadDir filepath.Walk filepath.WalkDir
    write = os.WriteFile ioutil.WriteFile os.Create
    copy = os.Rename os.Symlink os.Link
    delete = os.Remove os.RemoveAll
    permit = os.Chmod
    http:GET = http.Get http.Head resty.New().R().Get http.Client().Get
    http:POST = http.Post http.PostForm http.Client().Post
    http:first = http.NewRequest
    http:skip-first = http.NewRequestWithContext
    http-own:POST = .Post .PostForm
    http-own:GET = .Get
    send-own = .Write .Send .Set .WriteString .SendMail .Do .Fprintf
    send-first = fmt.Fprintf fmt.Fprint fmt.Fprintln io.WriteString io.Copy
    connection-second = net.Dial net.DialTimeout tls.Dial net.DialTCP websocket.Dial ssh.Dial
    connection = websocket.DefaultDialer.Dial smtp.Dial smtp.SendMail
    listen-second = net.Listen
    listen = http.ListenAndServe http.ListenAndServeTLS
    resolve = net.LookupHost net.LookupIP net.LookupAddr net.LookupTXT net.LookupCNAME net.ResolveIPAddr
    decode:base64 = base64.StdEncoding.DecodeString base64.URLEncoding.DecodeString base64.RawStdEncoding.DecodeString
        base64.RawURLEncoding.DecodeString
    decode:base32 = base32.StdEncoding.DecodeString
    decode:hex = hex.DecodeString
    decode:compressed = zlib.NewReader flate.NewReader
    decode:gzip = gzip.NewReader
    home = os.UserHomeDir homedir.Dir
    is-home = .HomeDir
    path = filepath.Join path.Join
    format = fmt.Sprintf fmt.Errorf
    concat = fmt.Sprint
    bytes = []byte
    chars = rune
    implode-first = strings.Join
    fold:replace = strings.ReplaceAll strings.Replace
    wrap = string bytes.NewBuffer bytes.NewReader strings.NewReader bytes.NewBufferString json.Marshal url.Parse
        base64.StdEncoding.EncodeToString io.ReadAll ioutil.ReadAll hex.EncodeToString url.QueryEscape filepath.Abs
        filepath.Clean strings.TrimSpace append url.Values bufio.NewReader bufio.NewScanner byte make json.MarshalIndent
    load = plugin.Open gob.NewDecoder
    privilege = syscall.Setuid syscall.Setgid unix.Setuid
    source:clipboard = clipboard.ReadAll clipboard.Read
    source:screen = screenshot.CaptureDisplay screenshot.CaptureRect
    source:keychain = keyring.Get keychain.QueryItem
    dup = syscall.Dup2 unix.Dup2
    quiet = fmt.Println fmt.Printf fmt.Print log.Println log.Printf log.Fatal log.Fatalf panic len os.Exit os.MkdirAll
        os.Mkdir os.Stat time.Sleep
"""


RUST_CALLS = """
    command-new = Command.new process.Command.new
    command-add = command().arg command().args command().stdin command().env command().current_dir command().stdout
        command().stderr command().as_mut command().arg0 command().creation_flags
    command-run = command().spawn command().output command().status command().exec
    exec:shell = cmd! duct.cmd run_cmd! run_fun! libc.system execute.shell
    env = env.var env.var_os env! option_env! dotenvy.var
    env-all = env.vars env.vars_os
    read = fs.read_to_string fs.read File.open fs.File.open include_str! include_bytes! OpenOptions.new().open
        Connection.open
    list = fs.read_dir glob.glob WalkDir.new glob
    write = fs.write File.create fs.File.create
    copy = fs.copy fs.rename fs.hard_link
    delete = fs.remove_file fs.remove_dir_all fs.remove_dir
    permit = fs.set_permissions
    http:GET = reqwest.get reqwest.blocking.get ureq.get minreq.get attohttpc.get reqwest.Client.new().get
        reqwest.blocking.Client.new().get surf.get isahc.get
    http:POST = reqwest.Client.new().post reqwest.blocking.Client.new().post ureq.post minreq.post attohttpc.post
        reqwest.Client.new().put surf.post isahc.post ureq.put
    http-own:POST = .post .put
    http-own:GET = .get
    send-own = .body .json .form .header .query .multipart .send_string .send_json .write_all .write .send_form
        .send_bytes .with_body .set .bearer_auth .send_to .send
    connection = TcpStream.connect net.TcpStream.connect tungstenite.connect UdpSocket.connect
    listen = TcpListener.bind net.TcpListener.bind
    resolve = lookup_host dns_lookup.lookup_host .to_socket_addrs
    decode:base64 = base64.decode general_purpose.STANDARD.decode STANDARD.decode engine.general_purpose.STANDARD.decode
        BASE64_STANDARD.decode BASE64.decode URL_SAFE.decode
    decode:hex = hex.decode
    decode:compressed = ZlibDecoder.new DeflateDecoder.new
    decode:gzip = GzDecoder.new
    home = dirs.home_dir home.home_dir env.home_dir dirs_next.home_dir
    path-own = .join
    format = format! format_args!
    concat = concat!
    list-of = vec!
    wrap = String.from String.from_utf8 String.from_utf8_lossy str.from_utf8 Path.new PathBuf.from serde_json.to_string
        Box.new Some Ok base64.encode general_purpose.STANDARD.encode Cow.from Url.parse Client.builder OsStr.new json!
        BufReader.new shellexpand.tilde std.str.from_utf8 Arc.new
    load = Library.new libloading.Library.new
    source:clipboard = Clipboard.new().get_text arboard.Clipboard.new().get_text
    source:keychain = keyring.Entry.new
    privilege = setuid nix.unistd.setuid libc.setuid
    dup = dup2 nix.unistd.dup2 libc.dup2
    quiet = println! eprintln! print! panic! assert! assert_eq! dbg! info! debug! warn! error! bail! anyhow!
        fs.create_dir_all write! drop
"""


NIM_CALLS = """
    exec:shell = execShellCmd execCmd execCmdEx osproc.execCmd osproc.execCmdEx os.execShellCmd staticExec gorge
    exec:argv = startProcess execProcess osproc.startProcess osproc.execProcess
    env = getEnv os.getEnv
    env-all = envPairs os.envPairs
    read = readFile lines syncio.readFile readLines
    open = open
    write = writeFile
    list = walkFiles walkDir walkDirRec
    copy = copyFile moveFile
    delete = removeFile removeDir
    permit = setFilePermissions
    http:GET = newHttpClient().getContent newHttpClient().get newAsyncHttpClient().getContent
    http:POST = newHttpClient().postContent newHttpClient().post newAsyncHttpClient().postContent
        newHttpClient().request
    http-own:POST = .postContent .post .request
    http-own:GET = .getContent
    download = .downloadFile
    connect-own = newSocket().connect .connect
    send-own = .send
    decode:base64 = decode base64.decode
    decode:hex = parseHexStr
    home = getHomeDir os.getHomeDir
    path = joinPath
    chars = chr
    wrap = expandTilde encode base64.encode $ parseUri join newStringStream
    load = loadLib
    quiet = echo quit sleep fileExists
"""


SWIFT_CALLS = """
    process-run = Process().run Process().launch NSTask().launch NSTask().run
    exec:any = Process.run shell system popen NSAppleScript NSUserAppleScriptTask shellOut Process.launchedProcess
    environment = ProcessInfo.processInfo.environment
    env = getenv
    read = FileManager.default.contents FileHandle
    read-named = String Data NSData NSString NSDictionary
    write-own = .write
    list = FileManager.default.contentsOfDirectory FileManager.default.enumerator
    delete = FileManager.default.removeItem
    copy = FileManager.default.copyItem FileManager.default.moveItem
    write = FileManager.default.createFile
    http:GET = URLSession.shared.dataTask URLSession.shared.data URLSession.shared.downloadTask
    http:POST = URLSession.shared.uploadTask URLSession.shared.upload AF.upload
    http-request = AF.request Alamofire.request
    connection = NWConnection
    home = NSHomeDirectory
    is-home = FileManager.default.homeDirectoryForCurrentUser
    path-own = .appendingPathComponent .appending .appendingPath
    wrap = URL URLRequest NSURL JSONSerialization.data JSONEncoder().encode String.init NSMutableURLRequest String.data
        URLComponents
    source:clipboard = NSPasteboard.general.string UIPasteboard.general.string
    source:keychain = SecItemCopyMatching SecKeychainFindGenericPassword SecKeychainFindInternetPassword
    source:screen = CGWindowListCreateImage CGDisplayCreateImage
    source:keyboard = CGEvent.tapCreate NSEvent.addGlobalMonitorForEvents CGEventTapCreate
    load = dlopen
    format = String.format
    quiet = print debugPrint NSLog fatalError exit sleep
"""
