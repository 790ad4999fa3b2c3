"""The effects of calls in languages on virtual machines: Java, Kotlin, Groovy, C#, Dart and Elixir."""

JAVA_CALLS = """
    exec:any = Runtime.getRuntime().exec getRuntime().exec Runtime.exec
    exec:words = ProcessBuilder java.lang.ProcessBuilder
    execute-own = .execute
    eval = ScriptEngineManager().getEngineByName().eval GroovyShell().evaluate Eval.me GroovyShell().parse
        ScriptEngine.eval evaluate .getEngineByName().eval
    env = System.getenv java.lang.System.getenv System.env.get
    property = System.getProperty
    environment = System.env
    read = Files.readString Files.readAllBytes Files.readAllLines Files.lines FileInputStream FileReader
        Files.newBufferedReader RandomAccessFile Files.newInputStream
    read-own = .readText .readBytes .readLines .getText .text
    write = Files.writeString Files.write FileOutputStream FileWriter Files.newBufferedWriter PrintWriter
    write-own = .writeText .writeBytes .appendText
    list = Files.walk Files.list Files.newDirectoryStream
    copy = Files.copy Files.move
    delete = Files.delete Files.deleteIfExists
    delete-own = .deleteRecursively .deleteDir
    http:GET = URL().openStream URL().openConnection URL().getText
    http-url = HttpRequest.newBuilder().uri HttpRequest.newBuilder Request.Builder().url HttpGet HttpPost Jsoup.connect
        .uri
    url-own:GET = URL().openStream .openStream .openConnection URL().text
    send-own = .write .POST .PUT .header .writeBytes .print .println .setRequestProperty .post .data .setEntity
        .setHeader .writeUTF .addHeader .send
    connection = Socket java.net.Socket DatagramSocket SSLSocketFactory.getDefault().createSocket
    listen = ServerSocket java.net.ServerSocket
    resolve = InetAddress.getByName InetAddress.getAllByName
    decode:base64 = Base64.getDecoder().decode Base64.getUrlDecoder().decode DatatypeConverter.parseBase64Binary
        Base64.decode Base64.getMimeDecoder().decode Base64.decodeBase64
    decode-own:base64 = .decodeBase64
    decode:hex = HexFormat.of().parseHex Hex.decodeHex DatatypeConverter.parseHexBinary
    decode:gzip = GZIPInputStream
    decode:compressed = InflaterInputStream
    path = Paths.get Path.of File java.io.File
    path-own = .resolve
    format = String.format
    implode = String.join
    reflect-class = Class.forName
    list-of = List.of Arrays.asList listOf arrayOf mutableListOf Set.of arrayListOf setOf
    wrap = String URI.create URL URI StringBuilder InputStreamReader BufferedReader ByteArrayInputStream
        Base64.getEncoder().encodeToString HttpRequest.BodyPublishers.ofString BodyPublishers.ofString Scanner
        DataOutputStream OutputStreamWriter BufferedWriter OutputStream RequestBody.create URLEncoder.encode
        HttpRequest.BodyPublishers.ofFile
    load = System.load System.loadLibrary ObjectInputStream().readObject URLClassLoader .defineClass
        Runtime.getRuntime().load
    source:clipboard = Toolkit.getDefaultToolkit().getSystemClipboard().getData .getSystemClipboard
    source:screen = Robot().createScreenCapture .createScreenCapture
    quiet = System.out.println System.err.println println print System.exit Thread.sleep Files.exists
        Files.createDirectories check
"""


CSHARP_CALLS = """
    exec:words = Process.Start Diagnostics.Process.Start
    process-run = Process().Start ProcessStartInfo().Start
    eval = CSharpScript.EvaluateAsync CSharpScript.RunAsync
    env = Environment.GetEnvironmentVariable
    env-all = Environment.GetEnvironmentVariables
    read = File.ReadAllText File.ReadAllBytes File.ReadAllLines File.OpenRead File.OpenText StreamReader File.ReadLines
        File.ReadAllTextAsync File.ReadAllBytesAsync FileStream
    write = File.WriteAllText File.WriteAllBytes File.AppendAllText File.Create File.WriteAllTextAsync StreamWriter
        File.WriteAllBytesAsync
    list = Directory.GetFiles Directory.EnumerateFiles Directory.GetDirectories
    copy = File.Copy File.Move
    delete = File.Delete Directory.Delete
    http:GET = HttpClient().GetAsync HttpClient().GetStringAsync HttpClient().GetByteArrayAsync
        WebClient().DownloadString WebClient().DownloadData WebRequest.Create HttpClient().GetStreamAsync
        HttpWebRequest.Create
    http:POST = HttpClient().PostAsync HttpClient().PutAsync WebClient().UploadString WebClient().UploadData
        WebClient().UploadFile HttpClient().PostAsJsonAsync WebClient().UploadValues HttpClient().SendAsync
    http-own:POST = .PostAsync .UploadString .PutAsync .UploadData .PostAsJsonAsync
    http-own:GET = .GetAsync .GetStringAsync .DownloadString .GetByteArrayAsync .DownloadData
    download = WebClient().DownloadFile .DownloadFile
    connection = TcpClient Sockets.TcpClient ClientWebSocket().ConnectAsync
    connect-own = .ConnectAsync Socket().Connect
    send-own = .Write .WriteLine .Send .SendAsync .WriteAsync .Add
    listen = TcpListener HttpListener
    resolve = Dns.GetHostEntry Dns.GetHostAddresses Dns.GetHostByName Dns.GetHostEntryAsync
    decode:base64 = Convert.FromBase64String
    decode:hex = Convert.FromHexString
    decode:gzip = GZipStream
    decode:compressed = DeflateStream
    home-folder = Environment.GetFolderPath
    path = Path.Combine Path.Join
    format = string.Format String.Format
    implode = string.Join String.Join
    concat = string.Concat String.Concat
    wrap = Encoding.UTF8.GetString Encoding.UTF8.GetBytes Encoding.ASCII.GetString Encoding.ASCII.GetBytes StringContent
        ByteArrayContent JsonSerializer.Serialize Convert.ToBase64String Uri MemoryStream HttpRequestMessage
        JsonConvert.SerializeObject FormUrlEncodedContent MultipartFormDataContent StreamContent Uri.EscapeDataString
        Encoding.Unicode.GetString
    load = Assembly.Load Assembly.LoadFrom Assembly.LoadFile BinaryFormatter().Deserialize NativeLibrary.Load
        .Deserialize
    source:clipboard = Clipboard.GetText Clipboard.GetDataObject
    source:screen = Graphics.FromImage().CopyFromScreen .CopyFromScreen
    persist-args:registry = Registry.SetValue .SetValue
    quiet = Console.WriteLine Console.Write Thread.Sleep File.Exists Directory.Exists Directory.CreateDirectory
"""


DART_CALLS = """
    exec:argv = Process.run Process.start Process.runSync
    environment = Platform.environment
    wrap = File Uri.parse jsonEncode utf8.encode utf8.decode Uri.https base64.encode base64Encode String.fromCharCodes
        Directory json.encode
    read-own = .readAsString .readAsStringSync .readAsBytes .readAsBytesSync .readAsLinesSync
    write-own = .writeAsString .writeAsStringSync .writeAsBytes .writeAsBytesSync
    delete-own = .deleteSync
    http:GET = http.get http.read
    http:POST = http.post http.put Dio().post
    http-own:POST = .post .postUrl .put
    http-own:GET = .get .getUrl
    send-own = .write .add .send
    connection = Socket.connect WebSocket.connect SecureSocket.connect
    listen = ServerSocket.bind HttpServer.bind
    resolve = InternetAddress.lookup
    decode:base64 = base64.decode base64Decode base64Url.decode
    decode:gzip = gzip.decode
    chars = String.fromCharCode
    load = DynamicLibrary.open
    path = path.join p.join join
    source:clipboard = Clipboard.getData
    quiet = print exit
"""


ELIXIR_CALLS = """
    exec:argv = System.cmd
    exec:shell = System.shell :os.cmd Port.open
    eval = Code.eval_string Code.eval_file Code.compile_string
    env = System.get_env System.fetch_env! System.fetch_env
    read = File.read! File.read File.stream! File.open! File.open
    write = File.write! File.write
    list = File.ls! File.ls Path.wildcard
    copy = File.cp! File.cp File.rename
    delete = File.rm! File.rm File.rm_rf File.rm_rf!
    permit = File.chmod File.chmod!
    http:GET = HTTPoison.get HTTPoison.get! Req.get Req.get! Tesla.get Tesla.get!
    http:POST = HTTPoison.post HTTPoison.post! Req.post Req.post! Tesla.post Tesla.post! HTTPoison.put!
    request-tuple = :httpc.request
    connection = :gen_tcp.connect :ssl.connect
    send-first = :gen_tcp.send :ssl.send
    listen = :gen_tcp.listen
    decode:base64 = Base.decode64! Base.decode64 Base.url_decode64!
    decode:base32 = Base.decode32!
    decode:hex = Base.decode16! Base.decode16
    fold:reverse = String.reverse
    home = System.user_home! System.user_home
    path = Path.join
    wrap = Path.expand to_string to_charlist Jason.encode! Poison.encode! Base.encode64 String.trim inspect URI.encode
        URI.encode_query List.to_string
    load = :erlang.binary_to_term :erlang.load_nif
    quiet = IO.puts IO.inspect require import alias use
"""
