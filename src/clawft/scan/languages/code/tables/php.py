"""What the calls of PHP do."""

CALLS = {
    "exec:shell": "system exec shell_exec passthru popen proc_open pcntl_exec expect_popen",
    "backtick": "`",
    "eval": "eval assert create_function",
    "include": "include include_once require require_once",
    "dispatch-first": """
        call_user_func call_user_func_array forward_static_call array_map register_shutdown_function
        array_filter usort array_walk
    """,
    "environment": "$_ENV $_SERVER",
    "env": "getenv env apache_getenv",
    "read-or-fetch": """
        file_get_contents file readfile parse_ini_file simplexml_load_file SplFileObject highlight_file
        show_source SQLite3 load_file
    """,
    "open-or-fetch": "fopen gzopen",
    "write": "file_put_contents",
    "send-first": "fwrite fputs socket_write socket_send stream_socket_sendto",
    "list": "glob scandir opendir",
    "copy": "copy rename symlink move_uploaded_file",
    "delete": "unlink rmdir",
    "permit": "chmod",
    "http-own:POST": ".post .put .request",
    "http-own:GET": ".get",
    "http:POST": "Http.post wp_remote_post",
    "http:GET": "Http.get wp_remote_get get_headers",
    "mail": "mail",
    "curl-init": "curl_init",
    "curl-option": "curl_setopt curl_setopt_array",
    "curl-run": "curl_exec curl_multi_exec",
    "connection": "fsockopen pfsockopen stream_socket_client",
    "connect-args": "socket_connect",
    "listen": "stream_socket_server socket_bind",
    "resolve": "gethostbyname dns_get_record checkdnsrr gethostbynamel",
    "decode:base64": "base64_decode",
    "decode:hex": "hex2bin",
    "decode:rot13": "str_rot13",
    "decode:compressed": "gzinflate gzuncompress zlib_decode",
    "decode:gzip": "gzdecode",
    "decode:percent": "urldecode rawurldecode html_entity_decode",
    "pack": "pack",
    "fold:reverse": "strrev",
    "fold-last:replace": "str_replace str_ireplace",
    "translate": "strtr",
    "fold:lower": "strtolower",
    "fold:upper": "strtoupper",
    "fold:strip": "trim rtrim ltrim",
    "fold:substr": "substr mb_substr",
    "fold:ord": "ord",
    "chars": "chr mb_chr",
    "implode": "implode join",
    "format": "sprintf vsprintf",
    "list-of": "array",
    "wrap": """
        json_encode json_decode base64_encode urlencode rawurlencode http_build_query serialize
        stream_context_create bin2hex gzcompress gzencode realpath strval print_r var_export array_merge
        array_reverse str_split array_values array_keys escapeshellarg trim compact fread fgets
        stream_get_contents
    """,
    "load": "unserialize dl FFI.cdef",
    "privilege": "posix_setuid posix_seteuid",
    "quiet": """
        echo print isset unset empty header die exit strlen count printf error_log ini_set error_reporting
        set_time_limit mkdir file_exists is_file is_dir in_array fclose curl_close ob_start preg_match
        strpos
    """,
}
