"""What the calls of Swift do."""

CALLS = {
    "process-run": "Process().run Process().launch NSTask().launch NSTask().run",
    "exec:any": "Process.run shell system popen NSAppleScript NSUserAppleScriptTask shellOut Process.launchedProcess",
    "environment": "ProcessInfo.processInfo.environment",
    "env": "getenv",
    "read": "FileManager.default.contents FileHandle",
    "read-named": "String Data NSData NSString NSDictionary",
    "write-own": ".write",
    "list": "FileManager.default.contentsOfDirectory FileManager.default.enumerator",
    "delete": "FileManager.default.removeItem",
    "copy": "FileManager.default.copyItem FileManager.default.moveItem",
    "write": "FileManager.default.createFile",
    "http:GET": "URLSession.shared.dataTask URLSession.shared.data URLSession.shared.downloadTask",
    "http:POST": "URLSession.shared.uploadTask URLSession.shared.upload AF.upload",
    "http-request": "AF.request Alamofire.request",
    "connection": "NWConnection",
    "home": "NSHomeDirectory",
    "is-home": "FileManager.default.homeDirectoryForCurrentUser",
    "path-own": ".appendingPathComponent .appending .appendingPath",
    "wrap": """
        URL URLRequest NSURL JSONSerialization.data JSONEncoder().encode String.init NSMutableURLRequest
        String.data URLComponents
    """,
    "source:clipboard": "NSPasteboard.general.string UIPasteboard.general.string",
    "source:keychain": "SecItemCopyMatching SecKeychainFindGenericPassword SecKeychainFindInternetPassword",
    "source:screen": "CGWindowListCreateImage CGDisplayCreateImage",
    "source:keyboard": "CGEvent.tapCreate NSEvent.addGlobalMonitorForEvents CGEventTapCreate",
    "load": "dlopen",
    "format": "String.format",
    "quiet": "print debugPrint NSLog fatalError exit sleep",
}
