"""The effects of calls in JavaScript and TypeScript: Node, Deno, Bun and the browser."""

JAVASCRIPT_CALLS = """
    require = require module.require require.main.require createRequire() module.createRequire() import
        process.mainModule.require
    exec:shell = child_process.exec child_process.execSync shelljs.exec shell.exec execa.command execa.commandSync
        execaCommand execSync Bun.$ zx.$ util.promisify()
    exec:first = ActiveXObject().Run ActiveXObject().Exec ActiveXObject().ShellExecute WScript.CreateObject().Run
        WScript.CreateObject().Exec
    exec:argv = child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync
        child_process.fork execa.sync execa.execa execa Deno.Command Deno.run Bun.spawn Bun.spawnSync cross-spawn
        cross-spawn.sync spawnSync execFileSync spawn execFile node-pty.spawn pty.spawn
    eval = eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction setTimeout
        setInterval Function.constructor constructor.constructor AsyncFunction GeneratorFunction
        .constructor.constructor Function.prototype.constructor module._compile
    reflect = Reflect.get
    environment = process.env Deno.env Bun.env import.meta.env
    env = Deno.env.get Bun.env.get process.env.get
    env-all = Deno.env.toObject dotenv.config
    read = fs.readFileSync fs.readFile fs.promises.readFile fs.createReadStream Deno.readTextFile Deno.readTextFileSync
        Deno.readFile Deno.readFileSync Bun.file fs-extra.readFile fs-extra.readFileSync fs-extra.readJson readFileSync
        readFile fs.openSync fs.open fs.promises.open fs-extra.readJsonSync sqlite3.Database better-sqlite3
        node:sqlite.DatabaseSync readline.createInterface
    list = fs.readdirSync fs.readdir fs.promises.readdir glob.sync glob.glob fast-glob fast-glob.sync readdirSync
        fs.opendirSync Deno.readDirSync Deno.readDir
    write = fs.writeFileSync fs.writeFile fs.promises.writeFile fs.appendFileSync fs.appendFile fs.promises.appendFile
        fs.createWriteStream Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Deno.writeFileSync Bun.write
        fs-extra.writeFile fs-extra.outputFile fs-extra.outputFileSync writeFileSync appendFileSync writeFile
    copy = fs.copyFileSync fs.copyFile fs.promises.copyFile fs.renameSync fs.rename fs.promises.rename fs.cpSync
        fs.symlinkSync fs.linkSync fs-extra.copySync fs-extra.copy Deno.copyFile
    delete = fs.unlinkSync fs.unlink fs.rmSync fs.rm fs.promises.unlink fs.promises.rm fs.rmdirSync fs.rmdir
        fs-extra.removeSync fs-extra.remove rimraf rimraf.sync Deno.remove Deno.removeSync unlinkSync rmSync
    permit = fs.chmodSync fs.chmod fs.promises.chmod Deno.chmod Deno.chmodSync chmodSync
    http:GET = fetch axios.get axios.head got got.get got.stream node-fetch undici.fetch undici.request https.get
        http.get needle.get superagent.get request.get request ky.get cross-fetch node-fetch.default axios undici.stream
        $.get $.getJSON jQuery.get importScripts
    http:POST = axios.post axios.put axios.patch got.post got.put needle.post superagent.post superagent.put
        request.post request.put ky.post $.post jQuery.post navigator.sendBeacon $.ajax axios.create().post
    http:request = https.request http.request axios.request http2.connect
    http-own:POST = .sendBeacon
    xhr = XMLHttpRequest().open ActiveXObject().open ActiveXObject().Open WScript.CreateObject().open
    send-own = ActiveXObject().send ActiveXObject().Send XMLHttpRequest().send WebSocket().send ws().send
        net.Socket().write net.connect().write net.createConnection().write tls.connect().write .send
        dgram.createSocket().send nodemailer.createTransport().sendMail .sendMail .emit .write .end .pipe
    connection = net.connect net.createConnection tls.connect WebSocket ws EventSource socket.io-client
        socket.io-client.io io ssh2.Client mongodb.MongoClient nodemailer.createTransport
    connect-own = net.Socket().connect
    resolve = dns.lookup dns.resolve dns.resolve4 dns.promises.lookup dns.promises.resolve dns.resolveTxt
        dns.promises.resolve4 dns.promises.resolveTxt dns.Resolver().resolve Deno.resolveDns
    listen-own = http.createServer().listen net.createServer().listen https.createServer().listen express().listen
        .listen
    decode:base64 = atob js-base64.decode Base64.decode js-base64.Base64.decode base-64.decode window.atob
    decode:compressed = zlib.inflateSync zlib.unzipSync zlib.inflateRawSync zlib.brotliDecompressSync zlib.inflate
        pako.inflate pako.ungzip
    decode:gzip = zlib.gunzipSync zlib.gunzip
    decode:percent = decodeURIComponent unescape decodeURI querystring.unescape
    buffer = Buffer.from Buffer Uint8Array.from Uint8Array TextDecoder().decode
    chars = String.fromCharCode String.fromCodePoint
    home = os.homedir homedir
    is-home = os.homedir() Deno.env.HOME
    path = path.join path.resolve path.posix.join path.win32.join join path.normalize
    wrap = URL String JSON.stringify JSON.parse encodeURIComponent encodeURI btoa Object.entries Object.assign
        Object.keys Object.values Object.fromEntries URLSearchParams Promise.all Promise.resolve Array.from
        structuredClone util.inspect Blob FormData Request querystring.stringify zlib.gzipSync zlib.deflateSync
        Promise.allSettled Object.freeze Array Number path.basename util.format TextEncoder().encode url.parse Headers
        fileURLToPath url.pathToFileURL String.raw Object
    promisify = util.promisify promisify
    load = process.dlopen ffi-napi.Library WebAssembly.instantiate WebAssembly.Module v8.deserialize
        node-serialize.unserialize serialize.unserialize
    load-path = worker_threads.Worker
    source:clipboard = navigator.clipboard.readText navigator.clipboard.read clipboardy.read clipboardy.readSync
        electron.clipboard.readText clipboardy.default.read
    source:screen = screenshot-desktop navigator.mediaDevices.getDisplayMedia robotjs.screen.capture html2canvas
    source:keychain = keytar.getPassword keytar.findCredentials keytar.findPassword
    source:keyboard = iohook.on uiohook-napi.uIOhook.on node-global-key-listener.GlobalKeyboardListener
    is-source:browser = document.cookie localStorage sessionStorage chrome.cookies.getAll
    source:browser = localStorage.getItem sessionStorage.getItem chrome.cookies.getAll
    source:location = navigator.geolocation.getCurrentPosition
    navigate = Image().src= location.href= window.location= document.location= script().src=
    privilege = process.setuid process.setgid process.seteuid
    open-own = .open
    reversed = Array.prototype.reverse
    int = parseInt
    quiet = console.log console.error console.warn console.info console.debug process.exit fs.existsSync fs.mkdirSync
        fs.statSync fs.promises.mkdir fs.promises.stat fs.mkdir path.dirname path.extname Date.now Math.floor
        Math.random setImmediate clearTimeout Error existsSync mkdirSync
"""
