"""What the calls of Go do."""

CALLS = {
    "exec:words": "exec.Command",
    "exec:skip-first": "exec.CommandContext",
    "exec:second": "syscall.Exec os.StartProcess syscall.ForkExec unix.Exec",
    "env": "os.Getenv os.LookupEnv syscall.Getenv",
    "env-all": "os.Environ syscall.Environ",
    "read": "os.ReadFile ioutil.ReadFile os.Open os.OpenFile embed.ReadFile sql.Open",
    "list": "filepath.Glob os.ReadDir ioutil.ReadDir filepath.Walk filepath.WalkDir",
    "write": "os.WriteFile ioutil.WriteFile os.Create",
    "copy": "os.Rename os.Symlink os.Link",
    "delete": "os.Remove os.RemoveAll",
    "permit": "os.Chmod",
    "http:GET": "http.Get http.Head resty.New().R().Get http.Client().Get",
    "http:POST": "http.Post http.PostForm http.Client().Post",
    "http:first": "http.NewRequest",
    "http:skip-first": "http.NewRequestWithContext",
    "http-own:POST": ".Post .PostForm",
    "http-own:GET": ".Get",
    "send-own": ".Write .Send .Set .WriteString .SendMail .Do .Fprintf",
    "send-first": "fmt.Fprintf fmt.Fprint fmt.Fprintln io.WriteString io.Copy",
    "connection-second": "net.Dial net.DialTimeout tls.Dial net.DialTCP websocket.Dial ssh.Dial",
    "connection": "websocket.DefaultDialer.Dial smtp.Dial smtp.SendMail",
    "listen-second": "net.Listen",
    "listen": "http.ListenAndServe http.ListenAndServeTLS",
    "resolve": "net.LookupHost net.LookupIP net.LookupAddr net.LookupTXT net.LookupCNAME net.ResolveIPAddr",
    "decode:base64": """
        base64.StdEncoding.DecodeString base64.URLEncoding.DecodeString base64.RawStdEncoding.DecodeString
        base64.RawURLEncoding.DecodeString
    """,
    "decode:base32": "base32.StdEncoding.DecodeString",
    "decode:hex": "hex.DecodeString",
    "decode:compressed": "zlib.NewReader flate.NewReader",
    "decode:gzip": "gzip.NewReader",
    "home": "os.UserHomeDir homedir.Dir",
    "is-home": ".HomeDir",
    "path": "filepath.Join path.Join",
    "format": "fmt.Sprintf fmt.Errorf",
    "concat": "fmt.Sprint",
    "bytes": "[]byte",
    "chars": "rune",
    "implode-first": "strings.Join",
    "fold:replace": "strings.ReplaceAll strings.Replace",
    "wrap": """
        string bytes.NewBuffer bytes.NewReader strings.NewReader bytes.NewBufferString json.Marshal
        url.Parse base64.StdEncoding.EncodeToString io.ReadAll ioutil.ReadAll hex.EncodeToString
        url.QueryEscape filepath.Abs filepath.Clean strings.TrimSpace append url.Values bufio.NewReader
        bufio.NewScanner byte make json.MarshalIndent
    """,
    "load": "plugin.Open gob.NewDecoder",
    "privilege": "syscall.Setuid syscall.Setgid unix.Setuid",
    "source:clipboard": "clipboard.ReadAll clipboard.Read",
    "source:screen": "screenshot.CaptureDisplay screenshot.CaptureRect",
    "source:keychain": "keyring.Get keychain.QueryItem",
    "dup": "syscall.Dup2 unix.Dup2",
    "quiet": """
        fmt.Println fmt.Printf fmt.Print log.Println log.Printf log.Fatal log.Fatalf panic len os.Exit
        os.MkdirAll os.Mkdir os.Stat time.Sleep
    """,
}
