"""What the calls of R do."""

CALLS = {
    "exec:list": "system system2 shell pipe processx.run sys.exec_wait shell.exec base.system base.system2",
    "eval": "eval evalq eval_bare rlang.eval_tidy base.eval",
    "source-code": "source sys.source devtools.source_url source_url devtools.source_gist",
    "dispatch-first": "do.call",
    "named": "get match.fun getFunction base.get getFromNamespace dynGet mget",
    "env": "Sys.getenv base.Sys.getenv",
    "read-or-fetch": """
        readLines read.csv read.table scan readChar readBin file url read.delim data.table.fread fread
        readr.read_file read_file readr.read_csv jsonlite.fromJSON fromJSON xml2.read_html read_html
    """,
    "list": "list.files Sys.glob dir",
    "write-second": "writeLines write.csv write.table write saveRDS writeBin readr.write_file",
    "copy": "file.copy file.rename file.symlink",
    "delete": "unlink file.remove",
    "permit": "Sys.chmod",
    "http:GET": """
        httr.GET GET httr2.request RCurl.getURL getURL curl.curl_fetch_memory curl_fetch_memory curl.curl
        crul.HttpClient.new
    """,
    "http:POST": "httr.POST POST httr.PUT PUT RCurl.postForm postForm httr.PATCH",
    "download": "download.file utils.download.file curl.curl_download curl_download",
    "connection": "socketConnection make.socket",
    "send-first-last": "write.socket",
    "decode:base64": """
        base64enc.base64decode base64decode openssl.base64_decode jsonlite.base64_dec base64_dec
        base64_decode RCurl.base64Decode
    """,
    "decode:percent": "URLdecode utils.URLdecode",
    "chars": "intToUtf8",
    "bytes": "as.raw",
    "concat": "paste0 str_c",
    "implode-all": "paste",
    "format": "sprintf gettextf",
    "path": "file.path fs.path path",
    "list-of": "c list vector",
    "fold:reverse": "rev",
    "wrap": """
        path.expand parse str2lang str2expression normalizePath toString as.character jsonlite.toJSON toJSON
        base64enc.base64encode base64_encode rawToChar unlist httr.content content URLencode charToRaw
        serialize expression list2env httr.upload_file upload_file strtoi as.list suppressWarnings try
        invisible shQuote
    """,
    "load": "load readRDS dyn.load unserialize attach",
    "install-first:r": """
        install.packages devtools.install_github remotes.install_github devtools.install_url install_github
        BiocManager.install
    """,
    "quiet": """
        library require print cat message stop warning Sys.sleep file.exists dir.create nchar length
        suppressPackageStartupMessages quit
    """,
}
