"""What the calls of C# do."""

CALLS = {
    "exec:words": "Process.Start Diagnostics.Process.Start",
    "process-run": "Process().Start ProcessStartInfo().Start",
    "eval": "CSharpScript.EvaluateAsync CSharpScript.RunAsync",
    "env": "Environment.GetEnvironmentVariable",
    "env-all": "Environment.GetEnvironmentVariables",
    "read": """
        File.ReadAllText File.ReadAllBytes File.ReadAllLines File.OpenRead File.OpenText StreamReader
        File.ReadLines File.ReadAllTextAsync File.ReadAllBytesAsync FileStream
    """,
    "write": """
        File.WriteAllText File.WriteAllBytes File.AppendAllText File.Create File.WriteAllTextAsync
        StreamWriter File.WriteAllBytesAsync
    """,
    "list": "Directory.GetFiles Directory.EnumerateFiles Directory.GetDirectories",
    "copy": "File.Copy File.Move",
    "delete": "File.Delete Directory.Delete",
    "http:GET": """
        HttpClient().GetAsync HttpClient().GetStringAsync HttpClient().GetByteArrayAsync
        WebClient().DownloadString WebClient().DownloadData WebRequest.Create HttpClient().GetStreamAsync
        HttpWebRequest.Create
    """,
    "http:POST": """
        HttpClient().PostAsync HttpClient().PutAsync WebClient().UploadString WebClient().UploadData
        WebClient().UploadFile HttpClient().PostAsJsonAsync WebClient().UploadValues HttpClient().SendAsync
    """,
    "http-own:POST": ".PostAsync .UploadString .PutAsync .UploadData .PostAsJsonAsync",
    "http-own:GET": ".GetAsync .GetStringAsync .DownloadString .GetByteArrayAsync .DownloadData",
    "download": "WebClient().DownloadFile .DownloadFile",
    "connection": "TcpClient Sockets.TcpClient ClientWebSocket().ConnectAsync",
    "connect-own": ".ConnectAsync Socket().Connect",
    "send-own": ".Write .WriteLine .Send .SendAsync .WriteAsync .Add",
    "listen": "TcpListener HttpListener",
    "resolve": "Dns.GetHostEntry Dns.GetHostAddresses Dns.GetHostByName Dns.GetHostEntryAsync",
    "decode:base64": "Convert.FromBase64String",
    "decode:hex": "Convert.FromHexString",
    "decode:gzip": "GZipStream",
    "decode:compressed": "DeflateStream",
    "home-folder": "Environment.GetFolderPath",
    "path": "Path.Combine Path.Join",
    "format": "string.Format String.Format",
    "implode": "string.Join String.Join",
    "concat": "string.Concat String.Concat",
    "wrap": """
        Encoding.UTF8.GetString Encoding.UTF8.GetBytes Encoding.ASCII.GetString Encoding.ASCII.GetBytes
        StringContent ByteArrayContent JsonSerializer.Serialize Convert.ToBase64String Uri MemoryStream
        HttpRequestMessage JsonConvert.SerializeObject FormUrlEncodedContent MultipartFormDataContent
        StreamContent Uri.EscapeDataString Encoding.Unicode.GetString
    """,
    "load": """
        Assembly.Load Assembly.LoadFrom Assembly.LoadFile BinaryFormatter().Deserialize NativeLibrary.Load
        .Deserialize
    """,
    "source:clipboard": "Clipboard.GetText Clipboard.GetDataObject",
    "source:screen": "Graphics.FromImage().CopyFromScreen .CopyFromScreen",
    "persist-args:registry": "Registry.SetValue .SetValue",
    "quiet": "Console.WriteLine Console.Write Thread.Sleep File.Exists Directory.Exists Directory.CreateDirectory",
}
