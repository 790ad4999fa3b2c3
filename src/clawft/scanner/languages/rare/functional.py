"""Haskell, OCaml, Erlang, F# and Julia."""

from clawft.scan.languages.rare.manner import BACK, CHARACTER, DOUBLE, STARS, Manner

__all__ = ["MANNERS"]

_TRIPLE = r'"""(?:[^"]|"(?!""))*(?:"""|\Z)'

MANNERS = {
    "haskell": Manner(
        {
            "exec": "callCommand system shell readCreateProcess spawnCommand createProcess runCommand"
            " callProcess readProcess rawSystem proc spawnProcess readProcessWithExitCode",
            "http": "simpleHttp httpLBS httpBS httpNoBody getRequest parseRequest parseRequest_ parseUrlThrow httpLbs"
            " get Wreq.get simpleHTTP fetch .get .httpLBS .httpBS .parseRequest .parseRequest_",
            "http:POST": "post Wreq.post postRequestWithBody .post",
            "env": "getEnv lookupEnv .getEnv",
            "read": "readFile BS.readFile .readFile",
            "write": "writeFile appendFile .writeFile",
            "home": "getHomeDirectory",
            "delete": "removeFile removeDirectoryRecursive .removeFile",
            "connect": "connectTo",
            "decode:base64": "decodeBase64 .decodeLenient B64.decode Base64.decode",
            "reverse": "reverse",
            "none": "putStrLn print import module",
        },
        comments=r"--[^\n]*|\{-(?:[^-]|-(?!\}))*(?:-\}|\Z)|" + CHARACTER,
        names=r"[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)*",
        joins="++ <> </>",
        spaced=True,
        assigns="= <-",
    ),
    "ocaml": Manner(
        {
            "exec": "Sys.command Unix.system Unix.open_process_in Unix.open_process Unix.open_process_out"
            " Unix.execv Unix.execvp Unix.create_process Lwt_process.pread",
            "http": "Client.get Cohttp_lwt_unix.Client.get Ezcurl.get Curl.set_url .get",
            "http:POST": "Client.post Cohttp_lwt_unix.Client.post Ezcurl.post .post",
            "env": "Sys.getenv Sys.getenv_opt Unix.getenv",
            "read": "open_in open_in_bin In_channel.read_all In_channel.with_open_bin In_channel.with_open_text"
            " .read_all",
            "delete": "Sys.remove Unix.unlink",
            "decode:base64": "Base64.decode_exn Base64.decode",
            "path": "Filename.concat",
            "wrap": "Uri.of_string really_input_string input_line",
            "none": "print_endline print_string open",
        },
        comments=STARS + "|" + CHARACTER,
        strings=DOUBLE + r"|\{\|(?:[^|]|\|(?!\}))*(?:\|\}|\Z)",
        names=r"[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)*",
        joins="^",
        spaced=True,
        ends=";",
    ),
    "erlang": Manner(
        {
            "exec": "os:cmd open_port",
            "http": "httpc:request hackney:get hackney:request gun:get",
            "http:POST": "hackney:post gun:post",
            "env": "os:getenv",
            "read": "file:read_file file:consult file:open",
            "write": "file:write_file",
            "delete": "file:delete file:del_dir_r",
            "connect": "gen_tcp:connect ssl:connect",
            "send": "gen_tcp:send ssl:send",
            "decode:base64": "base64:decode base64:decode_to_string",
            "eval": "erl_eval:exprs erl_scan:string",
            "reverse": "lists:reverse",
            "path": "filename:join",
            "concat": "lists:concat string:join",
            "none": "io:format",
        },
        comments=r"%[^\n]*|\$\\?[^\s\w]",
        joins="++",
        words=True,
        ends=";",
    ),
    "fsharp": Manner(
        {
            "exec": "Process.Start .Start",
            "http": ".DownloadString .GetStringAsync .DownloadData Http.RequestString .GetAsync",
            "http:POST": ".UploadString .PostAsync .UploadFile",
            "download": ".DownloadFile",
            "env": "Environment.GetEnvironmentVariable .GetEnvironmentVariable",
            "read": "File.ReadAllText File.ReadAllBytes .ReadAllText .ReadAllBytes",
            "write": "File.WriteAllText File.WriteAllBytes",
            "decode:base64": "Convert.FromBase64String .FromBase64String",
            "path": "Path.Combine",
            "none": "printfn open",
        },
        comments=r"//[^\n]*|" + STARS + "|" + CHARACTER,
        strings=_TRIPLE + r'|@"[^"]*"|\$?' + DOUBLE,
        assigns="= <-",
        ends="",
    ),
    "julia": Manner(
        {
            "exec": "run success readchomp readlines Base.run",
            "pipe": "pipeline",
            "eval": "eval Meta.parse include_string Core.eval",
            "http": "HTTP.get HTTP.request Downloads.request HTTP.open",
            "http:POST": "HTTP.post HTTP.put HTTP.patch",
            "download": "download Downloads.download Base.download",
            "read": "read open readline readlines readdlm",
            "write": "write",
            "home": "homedir",
            "delete": "rm",
            "path": "joinpath",
            "connect": "connect Sockets.connect",
            "send": "write",
            "decode:base64": "base64decode Base64.base64decode",
            "decode:hex": "hex2bytes",
            "reverse": "reverse",
            "wrap": "String string expanduser JSON.json chomp strip",
            "concat": "join",
            "none": "println print using import @info",
        },
        strings=_TRIPLE + "|" + DOUBLE + "|" + BACK,
        joins="*",
        holes=r"\$\(?(\w+)\)?",
    ),
}
