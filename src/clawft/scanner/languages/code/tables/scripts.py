"""The effects of calls in Perl, PHP, Ruby, Lua and R."""

PERL_CALLS = """
    exec:list = system exec IPC.Open3.open3 IPC.Open2.open2 CORE.system CORE.exec capture IPC.System.Simple.system
    exec:third = open2 open3
    backtick = ` readpipe
    eval = eval evalbytes do CORE.GLOBAL.eval
    environment = $ENV
    perl-open = open CORE.open sysopen
    read = read_file slurp File.Slurp.read_file File.Slurper.read_text path.slurp DBI.connect read_text read_binary
    write = write_file File.Slurp.write_file write_text
    list = glob readdir opendir bsd_glob find
    copy = copy move rename File.Copy.copy File.Copy.move symlink
    delete = unlink rmdir remove_tree rmtree File.Path.remove_tree
    permit-second = chmod
    http:GET = get LWP.Simple.get getprint HTTP.Request.Common.GET GET head LWP.UserAgent.new().get HTTP.Tiny.new().get
        HTTP.Tiny.get Mojo.UserAgent.new().get
    http:POST = POST PUT HTTP.Request.Common.POST LWP.UserAgent.new().post LWP.UserAgent.new().put HTTP.Tiny.new().post
        HTTP.Tiny.new().put HTTP.Tiny.new().post_form Mojo.UserAgent.new().post HTTP.Tiny.post
    http:first = HTTP.Request.new HTTP.Tiny.new().request
    http-own:POST = .post .put .post_form
    http-own:GET = .get .mirror
    download = getstore mirror LWP.Simple.getstore LWP.Simple.mirror
    connection-named = IO.Socket.INET.new IO.Socket.SSL.new IO.Socket.IP.new Net.SMTP.new Net.FTP.new Net.SSH.Perl.new
    connection = connect
    socket-address = sockaddr_in pack_sockaddr_in inet_aton
    send-first = print send syswrite printf say
    send-own = .send .print .syswrite .datasend .put .write .content .request .printf .say
    resolve = gethostbyname getaddrinfo Net.DNS.Resolver.new().query Net.DNS.Resolver.new().search
    decode:base64 = decode_base64 MIME.Base64.decode_base64 MIME.Base64.decode decode_base64url
    decode:compressed = uncompress Compress.Zlib.uncompress inflate Compress.Zlib.memGunzip memGunzip
    decode:percent = uri_unescape URI.Escape.uri_unescape
    pack = pack
    unpack = unpack
    implode = join
    fold:reverse = reverse
    fold:lower = lc lcfirst
    fold:upper = uc ucfirst
    fold:ord = ord
    decode:hex-number = hex oct
    fold:substr = substr
    chars = chr
    map-block = map grep sort
    arguments = shift pop
    wrap = scalar encode_base64 MIME.Base64.encode_base64 encode_json decode_json to_json uri_escape abs_path URI.new
        JSON.encode_json lc quotemeta ref values keys each Dumper freeze
    format = sprintf
    path = File.Spec.catfile catfile File.Spec.catdir
    load = Storable.retrieve Storable.thaw thaw retrieve DynaLoader.dl_load_file
    import = require
    dup = dup2 POSIX.dup2
    quiet = die warn exit chomp mkdir close binmode use return defined exists sleep bless
"""


PHP_CALLS = """
    exec:shell = system exec shell_exec passthru popen proc_open pcntl_exec expect_popen
    backtick = `
    eval = eval assert create_function
    include = include include_once require require_once
    dispatch-first = call_user_func call_user_func_array forward_static_call array_map register_shutdown_function
        array_filter usort array_walk
    environment = $_ENV $_SERVER
    env = getenv env apache_getenv
    read-or-fetch = file_get_contents file readfile parse_ini_file simplexml_load_file SplFileObject highlight_file
        show_source SQLite3 load_file
    open-or-fetch = fopen gzopen
    write = file_put_contents
    send-first = fwrite fputs socket_write socket_send stream_socket_sendto
    list = glob scandir opendir
    copy = copy rename symlink move_uploaded_file
    delete = unlink rmdir
    permit = chmod
    http-own:POST = .post .put .request
    http-own:GET = .get
    http:POST = Http.post wp_remote_post
    http:GET = Http.get wp_remote_get get_headers
    mail = mail
    curl-init = curl_init
    curl-option = curl_setopt curl_setopt_array
    curl-run = curl_exec curl_multi_exec
    connection = fsockopen pfsockopen stream_socket_client
    connect-args = socket_connect
    listen = stream_socket_server socket_bind
    resolve = gethostbyname dns_get_record checkdnsrr gethostbynamel
    decode:base64 = base64_decode
    decode:hex = hex2bin
    decode:rot13 = str_rot13
    decode:compressed = gzinflate gzuncompress zlib_decode
    decode:gzip = gzdecode
    decode:percent = urldecode rawurldecode html_entity_decode
    pack = pack
    fold:reverse = strrev
    fold-last:replace = str_replace str_ireplace
    translate = strtr
    fold:lower = strtolower
    fold:upper = strtoupper
    fold:strip = trim rtrim ltrim
    fold:substr = substr mb_substr
    fold:ord = ord
    chars = chr mb_chr
    implode = implode join
    format = sprintf vsprintf
    list-of = array
    wrap = json_encode json_decode base64_encode urlencode rawurlencode http_build_query serialize stream_context_create
        bin2hex gzcompress gzencode realpath strval print_r var_export array_merge array_reverse str_split array_values
        array_keys escapeshellarg trim compact fread fgets stream_get_contents
    load = unserialize dl FFI.cdef
    privilege = posix_setuid posix_seteuid
    quiet = echo print isset unset empty header die exit strlen count printf error_log ini_set error_reporting
        set_time_limit mkdir file_exists is_file is_dir in_array fclose curl_close ob_start preg_match strpos
"""


RUBY_CALLS = """
    exec:list = system exec spawn IO.popen Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen2e
        Open3.popen3 Open3.pipeline Process.spawn Kernel.system Kernel.exec PTY.spawn Process.exec Kernel.spawn
    backtick = `
    eval = eval instance_eval class_eval module_eval Kernel.eval .instance_eval .class_eval .module_eval
        RubyVM.InstructionSequence.compile TOPLEVEL_BINDING.eval binding.eval
    dispatch = send __send__ .__send__ Kernel.__send__ public_send Kernel.send Object.send Kernel.public_send .send
        .public_send
    named = method Kernel.method Object.const_get Kernel.const_get const_get Object.method
    environment = ENV
    env = ENV.fetch ENV.dig
    env-all = ENV.to_h ENV.to_a ENV.each ENV.map ENV.inspect ENV.select ENV.to_hash ENV.each_pair ENV.to_json
        ENV.filter_map
    read-or-fetch = File.read IO.read File.readlines File.binread IO.readlines File.foreach IO.binread YAML.load_file
        SQLite3.Database.new CSV.read Pathname.new().read Zip.File.open
    open-or-fetch = open File.open File.new Kernel.open URI.open IO.open OpenURI.open_uri
    http:GET = Net.HTTP.get Net.HTTP.get_response HTTParty.get RestClient.get Faraday.get HTTP.get Excon.get
        Typhoeus.get Net.HTTP.Get.new Net.HTTP.get_print
    http:POST = Net.HTTP.post Net.HTTP.post_form HTTParty.post RestClient.post Faraday.post HTTP.post Excon.post
        Typhoeus.post Net.HTTP.Post.new Net.HTTP.Put.new HTTParty.put RestClient.put Faraday.put
    http-own:POST = .post .put .patch
    connection = TCPSocket.new TCPSocket.open Net.HTTP.start Net.HTTP.new Socket.tcp Net.SMTP.start Net.FTP.new
        Net.FTP.open UDPSocket.new OpenSSL.SSL.SSLSocket.new Net.SSH.start
    send-own = .write .puts .print .send_message .request .body= .set_form_data .putbinaryfile .sendmail .set_form
        .syswrite
    listen = TCPServer.new TCPServer.open WEBrick.HTTPServer.new
    resolve = Resolv.getaddress Addrinfo.getaddrinfo Socket.getaddrinfo IPSocket.getaddress Resolv.DNS.new().getaddress
        Resolv.getaddresses
    write = File.write IO.write File.binwrite
    list = Dir.glob Dir.entries Dir.children Dir.[] Find.find
    copy = FileUtils.cp FileUtils.mv FileUtils.copy File.rename FileUtils.cp_r FileUtils.ln_s
    delete = File.delete File.unlink FileUtils.rm FileUtils.rm_rf FileUtils.rm_r FileUtils.remove_dir Dir.rmdir
    permit-second = File.chmod FileUtils.chmod
    decode:base64 = Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64
    decode:compressed = Zlib.Inflate.inflate Zlib.inflate
    decode:gzip = Zlib.gunzip
    decode:percent = CGI.unescape URI.decode_www_form_component
    unpack-own = .unpack .unpack1
    pack-own = .pack
    wrap = URI URI.parse String Array JSON.generate JSON.parse Base64.encode64 Base64.strict_encode64 Pathname.new
        StringIO.new CGI.escape File.expand_path File.realpath Marshal.dump File.basename Zlib.deflate
        URI.encode_www_form URI.encode_www_form_component File.absolute_path Shellwords.escape Base64.urlsafe_encode64
    path = File.join
    home = Dir.home
    is-home = Dir.home()
    load = Marshal.load YAML.unsafe_load YAML.load Fiddle.dlopen Oj.load
    import = load require_relative
    source:clipboard = Clipboard.paste
    privilege = Process.setuid Process.uid= Process.Sys.setuid
    format = format sprintf Kernel.format
    quiet = puts print p raise require exit sleep warn attr_accessor attr_reader File.exist? File.file? File.directory?
        Dir.exist? FileUtils.mkdir_p Dir.mkdir include
"""


LUA_CALLS = """
    exec:shell = os.execute io.popen vim.fn.system vim.fn.jobstart posix.exec luv.spawn vim.fn.systemlist os.exec
        hs.execute
    eval = load loadstring dofile loadfile vim.cmd
    require = require
    env = os.getenv posix.getenv vim.fn.getenv
    environment = vim.env
    open = io.open io.lines
    copy = os.rename
    delete = os.remove
    http:GET = socket.http.request ssl.https.request http.request https.request requests.get http.get
    http:POST = requests.post http.post
    connection = socket.connect socket.tcp_connect
    connect-own = socket.tcp().connect .connect
    send-own = .send .write .sendto
    resolve = socket.dns.toip socket.dns.getaddrinfo
    decode:base64 = mime.unb64 base64.decode mime.decode ngx.decode_base64 b64.decode lbase64.decode vim.base64.decode
    chars = string.char utf8.char
    fold:reverse = string.reverse
    fold:lower = string.lower
    fold:upper = string.upper
    lua-gsub = string.gsub .gsub
    fold:lua-sub = string.sub
    implode-first = table.concat
    format = string.format
    load = package.loadlib ffi.load
    wrap = tostring mime.b64 base64.encode cjson.encode json.encode url.escape ltn12.source.string cjson.decode ipairs
        pairs table.unpack unpack assert
    thread = pcall xpcall coroutine.wrap
    quiet = print error type os.time os.date
"""


R_CALLS = """
    exec:list = system system2 shell pipe processx.run sys.exec_wait shell.exec base.system base.system2
    eval = eval evalq eval_bare rlang.eval_tidy base.eval
    source-code = source sys.source devtools.source_url source_url devtools.source_gist
    dispatch-first = do.call
    named = get match.fun getFunction base.get getFromNamespace dynGet mget
    env = Sys.getenv base.Sys.getenv
    read-or-fetch = readLines read.csv read.table scan readChar readBin file url read.delim data.table.fread fread
        readr.read_file read_file readr.read_csv jsonlite.fromJSON fromJSON xml2.read_html read_html
    list = list.files Sys.glob dir
    write-second = writeLines write.csv write.table write saveRDS writeBin readr.write_file
    copy = file.copy file.rename file.symlink
    delete = unlink file.remove
    permit = Sys.chmod
    http:GET = httr.GET GET httr2.request RCurl.getURL getURL curl.curl_fetch_memory curl_fetch_memory curl.curl
        crul.HttpClient.new
    http:POST = httr.POST POST httr.PUT PUT RCurl.postForm postForm httr.PATCH
    download = download.file utils.download.file curl.curl_download curl_download
    connection = socketConnection make.socket
    send-first-last = write.socket
    decode:base64 = base64enc.base64decode base64decode openssl.base64_decode jsonlite.base64_dec base64_dec
        base64_decode RCurl.base64Decode
    decode:percent = URLdecode utils.URLdecode
    chars = intToUtf8
    bytes = as.raw
    concat = paste0 str_c
    implode-all = paste
    format = sprintf gettextf
    path = file.path fs.path path
    list-of = c list vector
    fold:reverse = rev
    wrap = path.expand parse str2lang str2expression normalizePath toString as.character jsonlite.toJSON toJSON
        base64enc.base64encode base64_encode rawToChar unlist httr.content content URLencode charToRaw serialize
        expression list2env httr.upload_file upload_file strtoi as.list suppressWarnings try invisible shQuote
    load = load readRDS dyn.load unserialize attach
    install-first:r = install.packages devtools.install_github remotes.install_github devtools.install_url
        install_github BiocManager.install
    quiet = library require print cat message stop warning Sys.sleep file.exists dir.create nchar length
        suppressPackageStartupMessages quit
"""
