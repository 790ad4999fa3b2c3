"""What the calls of Java, Kotlin and Groovy do."""

CALLS = {
    "exec:any": "Runtime.getRuntime().exec getRuntime().exec Runtime.exec",
    "exec:words": "ProcessBuilder java.lang.ProcessBuilder",
    "execute-own": ".execute",
    "eval": """
        ScriptEngineManager().getEngineByName().eval GroovyShell().evaluate Eval.me GroovyShell().parse
        ScriptEngine.eval evaluate .getEngineByName().eval
    """,
    "env": "System.getenv java.lang.System.getenv System.env.get",
    "property": "System.getProperty",
    "environment": "System.env",
    "read": """
        Files.readString Files.readAllBytes Files.readAllLines Files.lines FileInputStream FileReader
        Files.newBufferedReader RandomAccessFile Files.newInputStream
    """,
    "read-own": ".readText .readBytes .readLines .getText .text",
    "write": "Files.writeString Files.write FileOutputStream FileWriter Files.newBufferedWriter PrintWriter",
    "write-own": ".writeText .writeBytes .appendText",
    "list": "Files.walk Files.list Files.newDirectoryStream",
    "copy": "Files.copy Files.move",
    "delete": "Files.delete Files.deleteIfExists",
    "delete-own": ".deleteRecursively .deleteDir",
    "http:GET": "URL().openStream URL().openConnection URL().getText",
    "http-url": """
        HttpRequest.newBuilder().uri HttpRequest.newBuilder Request.Builder().url HttpGet HttpPost
        Jsoup.connect .uri
    """,
    "url-own:GET": "URL().openStream .openStream .openConnection URL().text",
    "send-own": """
        .write .POST .PUT .header .writeBytes .print .println .setRequestProperty .post .data .setEntity
        .setHeader .writeUTF .addHeader .send
    """,
    "connection": "Socket java.net.Socket DatagramSocket SSLSocketFactory.getDefault().createSocket",
    "listen": "ServerSocket java.net.ServerSocket",
    "resolve": "InetAddress.getByName InetAddress.getAllByName",
    "decode:base64": """
        Base64.getDecoder().decode Base64.getUrlDecoder().decode DatatypeConverter.parseBase64Binary
        Base64.decode Base64.getMimeDecoder().decode Base64.decodeBase64
    """,
    "decode-own:base64": ".decodeBase64",
    "decode:hex": "HexFormat.of().parseHex Hex.decodeHex DatatypeConverter.parseHexBinary",
    "decode:gzip": "GZIPInputStream",
    "decode:compressed": "InflaterInputStream",
    "path": "Paths.get Path.of File java.io.File",
    "path-own": ".resolve",
    "format": "String.format",
    "implode": "String.join",
    "reflect-class": "Class.forName",
    "list-of": "List.of Arrays.asList listOf arrayOf mutableListOf Set.of arrayListOf setOf",
    "wrap": """
        String URI.create URL URI StringBuilder InputStreamReader BufferedReader ByteArrayInputStream
        Base64.getEncoder().encodeToString HttpRequest.BodyPublishers.ofString BodyPublishers.ofString
        Scanner DataOutputStream OutputStreamWriter BufferedWriter OutputStream RequestBody.create
        URLEncoder.encode HttpRequest.BodyPublishers.ofFile
    """,
    "load": """
        System.load System.loadLibrary ObjectInputStream().readObject URLClassLoader .defineClass
        Runtime.getRuntime().load
    """,
    "source:clipboard": "Toolkit.getDefaultToolkit().getSystemClipboard().getData .getSystemClipboard",
    "source:screen": "Robot().createScreenCapture .createScreenCapture",
    "quiet": """
        System.out.println System.err.println println print System.exit Thread.sleep Files.exists
        Files.createDirectories check
    """,
}
