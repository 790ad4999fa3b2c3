"""The effects of calls in Python."""

PYTHON_CALLS = """
    exec:shell = os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput
        asyncio.create_subprocess_shell os.popen2 os.popen3 popen2.popen2 .create_subprocess_shell sh.bash sh.sh
    exec:any = subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen
        pexpect.spawn pexpect.run pty.spawn plumbum.local os.startfile .exec_command
    exec:words = asyncio.create_subprocess_exec os.execl os.execlp os.execle .create_subprocess_exec
    exec:second = os.spawnl os.spawnlp os.spawnv os.spawnvp os.posix_spawn os.execv os.execvp os.execve os.execvpe
    eval = eval exec execfile compile code.interact runpy.run_path runpy.run_module types.FunctionType timeit.timeit
        cProfile.run code.InteractiveInterpreter().runsource code.InteractiveInterpreter().runcode builtins.exec
        builtins.eval
    import = __import__ importlib.import_module importlib.__import__ imp.load_source
        importlib.machinery.SourceFileLoader importlib.util.spec_from_file_location
    getattr = getattr object.__getattribute__ builtins.getattr operator.attrgetter operator.methodcaller
    environment = os.environ os.environb environ os.environ.copy()
    env = os.getenv os.environ.get os.environ.pop os.environ.setdefault os.getenvb getenv environ.get decouple.config
    env-all = os.environ.copy os.environ.items os.environ.values os.environ.keys dotenv.dotenv_values
    read-env-file = dotenv.load_dotenv load_dotenv
    open = open io.open codecs.open os.fdopen gzip.open bz2.open lzma.open aiofiles.open builtins.open
    open-own = .open
    read = os.open linecache.getlines sqlite3.connect configparser.ConfigParser().read plistlib.readPlist
        pandas.read_csv pd.read_csv pandas.read_json numpy.load np.load np.loadtxt PIL.Image.open Image.open
        fileinput.input mmap.mmap keyring.backends paramiko.RSAKey.from_private_key_file load_workbook
    open-archive = tarfile.open zipfile.ZipFile ZipFile
    archive-add = archive().write archive().add
    list = os.listdir os.scandir os.walk glob.glob glob.iglob
    list-own = .glob .rglob .iterdir .walk
    read-own = .read_text .read_bytes
    write-own = .write_text .write_bytes .touch
    copy = shutil.copy shutil.copy2 shutil.copyfile shutil.move shutil.copytree os.rename os.replace os.link os.symlink
    delete = os.remove os.unlink os.rmdir os.removedirs shutil.rmtree send2trash.send2trash
    delete-own = .unlink .rmdir
    permit = os.chmod os.lchmod
    permit-own = .chmod
    archive = shutil.make_archive
    http:GET = requests.get requests.head requests.options httpx.get httpx.head httpx.stream urllib.request.urlopen
        urllib2.urlopen urllib.urlopen requests.Session().get httpx.Client().get httpx.AsyncClient().get
        aiohttp.ClientSession().get requests.session().get pandas.read_html feedparser.parse wget.urlopen urlopen
        urllib3.PoolManager().urlopen cloudscraper.create_scraper().get
    http:POST = requests.post requests.put requests.patch requests.delete httpx.post httpx.put httpx.patch
        requests.Session().post requests.Session().put httpx.Client().post httpx.AsyncClient().post
        aiohttp.ClientSession().post requests.session().post requests.session().put aiohttp.ClientSession().put
        httpx.Client().put
    http:first = requests.request httpx.request requests.Session().request urllib3.PoolManager().request
        aiohttp.ClientSession().request httpx.Client().request urllib3.request aiohttp.request
        requests.session().request http.client.HTTPSConnection().request http.client.HTTPConnection().request
    http-own:POST = .post .put .patch .urlopen .request
    http-own:GET = .get
    download = urllib.request.urlretrieve urllib.urlretrieve wget.download urlretrieve gdown.download
        torch.hub.download_url_to_file
    wrap = urllib.request.Request urllib2.Request pathlib.Path Path pathlib.PurePath PurePath pathlib.PosixPath
        httpx.Request requests.Request urllib.request.build_opener io.BytesIO io.StringIO BytesIO StringIO str bytes
        bytearray memoryview tuple list iter dict set frozenset sorted repr json.dumps json.loads urllib.parse.quote
        urllib.parse.quote_plus urllib.parse.urlencode base64.b64encode base64.urlsafe_b64encode binascii.hexlify
        json.load zlib.compress gzip.compress pickle.dumps os.path.expandvars os.path.abspath os.path.realpath
        os.path.normpath os.path.expanduser os.fspath yaml.dump base64.b32encode base64.b85encode base64.encodebytes
        asyncio.run asyncio.wait_for copy.copy copy.deepcopy yaml.safe_load textwrap.dedent pprint.pformat
        asyncio.get_event_loop().run_until_complete map.keys zip enumerate filter ast.literal_eval os.path.basename
        shlex.quote hashlib.sha256().hexdigest string.Template parse.quote Fernet cryptography.fernet.Fernet
    connection = http.client.HTTPSConnection http.client.HTTPConnection httplib.HTTPSConnection httplib.HTTPConnection
        smtplib.SMTP smtplib.SMTP_SSL ftplib.FTP ftplib.FTP_TLS paramiko.Transport telnetlib.Telnet
        xmlrpc.client.ServerProxy imaplib.IMAP4_SSL websocket.create_connection websockets.connect
        websocket.WebSocketApp socket.create_connection asyncio.open_connection pymongo.MongoClient redis.Redis
        .create_connection paramiko.SSHClient().connect
    connect-own = socket.socket().connect socket.socket().connect_ex .connect_ex socket.connect
        websocket.WebSocket().connect paho.mqtt.client.Client().connect
    send-own = socket.socket().send socket.socket().sendall socket.socket().sendto .sendall .sendto .send .sendmail
        paho.mqtt.client.Client().publish .send_message .storbinary .storlines .send_bytes .sendto_async
    itself = vars
    publish = paho.mqtt.publish.single paho.mqtt.publish.multiple
    resolve = socket.gethostbyname socket.getaddrinfo socket.gethostbyname_ex dns.resolver.resolve dns.resolver.query
        socket.gethostbyaddr dns.resolver.Resolver().resolve
    listen-own = socket.socket().bind .bind
    listen = http.server.HTTPServer socketserver.TCPServer HTTPServer socketserver.ThreadingTCPServer
        http.server.ThreadingHTTPServer
    decode:base64 = base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.decodebytes
        base64.decodestring binascii.a2b_base64 b64decode urlsafe_b64decode
    decode:base32 = base64.b32decode b32decode
    decode:base85 = base64.b85decode b85decode
    decode:ascii85 = base64.a85decode a85decode
    decode:hex = bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex base64.b16decode unhexlify
    decode:compressed = zlib.decompress lzma.decompress bz2.decompress zlib.decompressobj().decompress
        zlib.decompressobj
    decode:gzip = gzip.decompress
    decode:percent = urllib.parse.unquote urllib.parse.unquote_plus html.unescape
    decode:named = codecs.decode codecs.getdecoder
    load = pickle.load pickle.loads cPickle.loads marshal.load marshal.loads dill.load dill.loads shelve.open
        ctypes.CDLL ctypes.cdll.LoadLibrary joblib.load yaml.load yaml.unsafe_load jsonpickle.decode torch.load
        cloudpickle.loads cloudpickle.load ctypes.WinDLL ctypes.windll.LoadLibrary _pickle.loads
    is-home = Path.home() pathlib.Path.home()
    home = Path.home pathlib.Path.home
    path = os.path.join os.sep.join posixpath.join ntpath.join
    path-own = .joinpath .with_name .with_suffix
    source:clipboard = pyperclip.paste clipboard.paste win32clipboard.GetClipboardData tkinter.Tk().clipboard_get
        .clipboard_get
    source:screen = pyautogui.screenshot ImageGrab.grab PIL.ImageGrab.grab mss.mss().grab mss.mss().shot
        pyscreenshot.grab cv2.VideoCapture
    source:keyboard = pynput.keyboard.Listener keyboard.Listener keyboard.on_press keyboard.record keyboard.hook
        pyxhook.HookManager Listener
    source:keychain = keyring.get_password keyring.get_credential secretstorage.get_default_collection
        win32crypt.CryptUnprotectData
    source:browser = browser_cookie3.chrome browser_cookie3.firefox browser_cookie3.load browsercookie.chrome
    source:location = geocoder.ip
    privilege = os.setuid os.seteuid os.setgid ctypes.windll.shell32.ShellExecuteW prctl.set_caps
    persist:crontab = crontab.CronTab CronTab
    persist:registry = winreg.SetValueEx winreg.CreateKey _winreg.SetValueEx
    install:pip = pip.main pip._internal.main pip._internal.cli.main.main
    chars = chr map_chr
    bytes = bytes bytearray array.array
    range = range
    ord = ord
    reversed = reversed
    map = map builtins.map
    zip = zip itertools.cycle
    enumerate = enumerate
    maketrans = str.maketrans bytes.maketrans string.maketrans
    int = int
    dup = os.dup2
    partial = functools.partial
    thread = threading.Thread multiprocessing.Process threading.Timer atexit.register _thread.start_new_thread
        signal.signal concurrent.futures.ThreadPoolExecutor().submit .submit asyncio.create_task asyncio.to_thread
    quiet = print len isinstance logging.info logging.debug logging.warning logging.error logger.info logger.debug
        logger.warning logger.error hasattr type id hash any all bool callable super time.sleep time.time os.path.exists
        os.path.isfile os.path.isdir os.path.getsize os.path.getmtime sys.exit exit quit os.makedirs os.mkdir
        shutil.which .mkdir .exists .is_file .is_dir .stat .startswith .endswith sum
"""
