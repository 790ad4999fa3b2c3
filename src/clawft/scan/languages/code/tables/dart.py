"""What the calls of Dart do."""

CALLS = {
    "exec:argv": "Process.run Process.start Process.runSync",
    "environment": "Platform.environment",
    "wrap": """
        File Uri.parse jsonEncode utf8.encode utf8.decode Uri.https base64.encode base64Encode
        String.fromCharCodes Directory json.encode
    """,
    "read-own": ".readAsString .readAsStringSync .readAsBytes .readAsBytesSync .readAsLinesSync",
    "write-own": ".writeAsString .writeAsStringSync .writeAsBytes .writeAsBytesSync",
    "delete-own": ".deleteSync",
    "http:GET": "http.get http.read",
    "http:POST": "http.post http.put Dio().post",
    "http-own:POST": ".post .postUrl .put",
    "http-own:GET": ".get .getUrl",
    "send-own": ".write .add .send",
    "connection": "Socket.connect WebSocket.connect SecureSocket.connect",
    "listen": "ServerSocket.bind HttpServer.bind",
    "resolve": "InternetAddress.lookup",
    "decode:base64": "base64.decode base64Decode base64Url.decode",
    "decode:gzip": "gzip.decode",
    "chars": "String.fromCharCode",
    "load": "DynamicLibrary.open",
    "path": "path.join p.join join",
    "source:clipboard": "Clipboard.getData",
    "quiet": "print exit",
}
