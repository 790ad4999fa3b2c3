"""Clojure with babashka, Scheme with Racket, and Emacs Lisp."""

from clawft.scan.languages.rare.manner import DOUBLE, SYMBOL, Manner

__all__ = ["MANNERS"]

MANNERS = {
    "clojure": Manner(
        {
            "exec": "sh shell/sh clojure.java.shell/sh shell p/shell babashka.process/shell process p/process"
            " babashka.process/process p/sh .exec",
            "eval": "eval load-string read-string load-reader",
            "read": "slurp io/reader clojure.java.io/reader line-seq",
            "write": "spit",
            "http": "http/get client/get curl/get http/request org.httpkit.client/get babashka.http-client/get",
            "http:POST": "http/post client/post curl/post http/put babashka.http-client/post",
            "env": "System/getenv",
            "home": "fs/home",
            "path": "io/file fs/path fs/file",
            "concat": "str",
            "delete": "fs/delete-tree io/delete-file fs/delete",
            "wrap": "fs/expand-home str/trim json/generate-string deref",
            "none": "println prn require ns comment",
        },
        comments=r";[^\n]*|[?\\]\\?[^\s\w]",
        names=SYMBOL,
        joins="",
        heads=True,
        ends="",
    ),
    "scheme": Manner(
        {
            "exec": "system system* process process* shell subprocess run run-process",
            "eval": "eval eval-string",
            "read": "file->string file->bytes open-input-file call-with-input-file with-input-from-file file->lines",
            "http": "get-pure-port call/input-url get http-get http-request string->url http-sendrecv/url",
            "http:POST": "post-pure-port post http-post http-sendrecv",
            "env": "getenv get-environment-variable",
            "write": "display-to-file write-to-file",
            "home": "find-system-path",
            "path": "build-path",
            "concat": "string-append",
            "delete": "delete-file delete-directory/files",
            "wrap": "port->string string->bytes/utf-8 expand-user-path",
            "decode:base64": "base64-decode",
            "none": "displayln display require module provide",
        },
        comments=r";[^\n]*|\#\|(?:[^|]|\|(?!\#))*(?:\|\#|\Z)|\#\\[^\s\w]|\#lang[^\n]*",
        strings=r"\#?" + DOUBLE,
        names=SYMBOL,
        joins="",
        heads=True,
        ends="",
    ),
    "elisp": Manner(
        {
            "exec": "shell-command shell-command-to-string async-shell-command start-process-shell-command"
            " call-process-shell-command compile",
            "exec:argv": "call-process start-process make-process process-lines",
            "eval": "eval eval-buffer eval-string load-with-code-conversion",
            "load": "load load-file",
            "read": "insert-file-contents insert-file-contents-literally find-file-noselect",
            "http": "url-retrieve-synchronously url-retrieve request plz url-insert-file-contents",
            "download": "url-copy-file",
            "env": "getenv",
            "write": "append-to-file",
            "concat": "concat",
            "decode:base64": "base64-decode-string",
            "path": "expand-file-name",
            "delete": "delete-file delete-directory",
            "wrap": "read format buffer-string",
            "none": "message require provide",
        },
        comments=r";[^\n]*|[?\\]\\?[^\s\w]",
        names=SYMBOL,
        joins="",
        heads=True,
        ends="",
    ),
}
