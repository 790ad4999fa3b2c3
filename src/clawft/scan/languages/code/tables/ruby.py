"""What the calls of Ruby do."""

CALLS = {
    "exec:list": """
        system exec spawn IO.popen Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen2e
        Open3.popen3 Open3.pipeline Process.spawn Kernel.system Kernel.exec PTY.spawn Process.exec
        Kernel.spawn
    """,
    "backtick": "`",
    "eval": """
        eval instance_eval class_eval module_eval Kernel.eval .instance_eval .class_eval .module_eval
        RubyVM.InstructionSequence.compile TOPLEVEL_BINDING.eval binding.eval
    """,
    "dispatch": """
        send __send__ .__send__ Kernel.__send__ public_send Kernel.send Object.send Kernel.public_send .send
        .public_send
    """,
    "named": "method Kernel.method Object.const_get Kernel.const_get const_get Object.method",
    "environment": "ENV",
    "env": "ENV.fetch ENV.dig",
    "env-all": """
        ENV.to_h ENV.to_a ENV.each ENV.map ENV.inspect ENV.select ENV.to_hash ENV.each_pair ENV.to_json
        ENV.filter_map
    """,
    "read-or-fetch": """
        File.read IO.read File.readlines File.binread IO.readlines File.foreach IO.binread YAML.load_file
        SQLite3.Database.new CSV.read Pathname.new().read Zip.File.open
    """,
    "open-or-fetch": "open File.open File.new Kernel.open URI.open IO.open OpenURI.open_uri",
    "http:GET": """
        Net.HTTP.get Net.HTTP.get_response HTTParty.get RestClient.get Faraday.get HTTP.get Excon.get
        Typhoeus.get Net.HTTP.Get.new Net.HTTP.get_print
    """,
    "http:POST": """
        Net.HTTP.post Net.HTTP.post_form HTTParty.post RestClient.post Faraday.post HTTP.post Excon.post
        Typhoeus.post Net.HTTP.Post.new Net.HTTP.Put.new HTTParty.put RestClient.put Faraday.put
    """,
    "http-own:POST": ".post .put .patch",
    "connection": """
        TCPSocket.new TCPSocket.open Net.HTTP.start Net.HTTP.new Socket.tcp Net.SMTP.start Net.FTP.new
        Net.FTP.open UDPSocket.new OpenSSL.SSL.SSLSocket.new Net.SSH.start
    """,
    "send-own": """
        .write .puts .print .send_message .request .body= .set_form_data .putbinaryfile .sendmail .set_form
        .syswrite
    """,
    "listen": "TCPServer.new TCPServer.open WEBrick.HTTPServer.new",
    "resolve": """
        Resolv.getaddress Addrinfo.getaddrinfo Socket.getaddrinfo IPSocket.getaddress
        Resolv.DNS.new().getaddress Resolv.getaddresses
    """,
    "write": "File.write IO.write File.binwrite",
    "list": "Dir.glob Dir.entries Dir.children Dir.[] Find.find",
    "copy": "FileUtils.cp FileUtils.mv FileUtils.copy File.rename FileUtils.cp_r FileUtils.ln_s",
    "delete": "File.delete File.unlink FileUtils.rm FileUtils.rm_rf FileUtils.rm_r FileUtils.remove_dir Dir.rmdir",
    "permit-second": "File.chmod FileUtils.chmod",
    "decode:base64": "Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64",
    "decode:compressed": "Zlib.Inflate.inflate Zlib.inflate",
    "decode:gzip": "Zlib.gunzip",
    "decode:percent": "CGI.unescape URI.decode_www_form_component",
    "unpack-own": ".unpack .unpack1",
    "pack-own": ".pack",
    "wrap": """
        URI URI.parse String Array JSON.generate JSON.parse Base64.encode64 Base64.strict_encode64
        Pathname.new StringIO.new CGI.escape File.expand_path File.realpath Marshal.dump File.basename
        Zlib.deflate URI.encode_www_form URI.encode_www_form_component File.absolute_path Shellwords.escape
        Base64.urlsafe_encode64
    """,
    "path": "File.join",
    "home": "Dir.home",
    "is-home": "Dir.home()",
    "load": "Marshal.load YAML.unsafe_load YAML.load Fiddle.dlopen Oj.load",
    "import": "load require_relative",
    "source:clipboard": "Clipboard.paste",
    "privilege": "Process.setuid Process.uid= Process.Sys.setuid",
    "format": "format sprintf Kernel.format",
    "quiet": """
        puts print p raise require exit sleep warn attr_accessor attr_reader File.exist? File.file?
        File.directory? Dir.exist? FileUtils.mkdir_p Dir.mkdir include
    """,
}
