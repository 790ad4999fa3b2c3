"""What the calls of Elixir do."""

CALLS = {
    "exec:argv": "System.cmd",
    "exec:shell": "System.shell :os.cmd Port.open",
    "eval": "Code.eval_string Code.eval_file Code.compile_string",
    "env": "System.get_env System.fetch_env! System.fetch_env",
    "read": "File.read! File.read File.stream! File.open! File.open",
    "write": "File.write! File.write",
    "list": "File.ls! File.ls Path.wildcard",
    "copy": "File.cp! File.cp File.rename",
    "delete": "File.rm! File.rm File.rm_rf File.rm_rf!",
    "permit": "File.chmod File.chmod!",
    "http:GET": "HTTPoison.get HTTPoison.get! Req.get Req.get! Tesla.get Tesla.get!",
    "http:POST": "HTTPoison.post HTTPoison.post! Req.post Req.post! Tesla.post Tesla.post! HTTPoison.put!",
    "request-tuple": ":httpc.request",
    "connection": ":gen_tcp.connect :ssl.connect",
    "send-first": ":gen_tcp.send :ssl.send",
    "listen": ":gen_tcp.listen",
    "decode:base64": "Base.decode64! Base.decode64 Base.url_decode64!",
    "decode:base32": "Base.decode32!",
    "decode:hex": "Base.decode16! Base.decode16",
    "fold:reverse": "String.reverse",
    "home": "System.user_home! System.user_home",
    "path": "Path.join",
    "wrap": """
        Path.expand to_string to_charlist Jason.encode! Poison.encode! Base.encode64 String.trim inspect
        URI.encode URI.encode_query List.to_string
    """,
    "load": ":erlang.binary_to_term :erlang.load_nif",
    "quiet": "IO.puts IO.inspect require import alias use",
}
