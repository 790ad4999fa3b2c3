"""Hosts: what kind of place an address names, and the well-known vendors."""

import re
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from clawft.scanner.regex import lazy, words

# Run by vendors that users trust anyway: an installer or an interface there is what it says it is.
_VENDORS = words(
    """
    1password.com aka.ms akamai.com alfredapp.com alibabacloud.com aliyun.com aliyuncs.com alpinelinux.org
    amazon.com amazonaws.com anaconda.com anaconda.org android.com ankiweb.net anthropic.com apache.org appimage.org
    appium.io apple.com archlinux.org arduino.cc arxiv.org assemblyai.com astral.sh atlassian.com atlassian.net
    audacityteam.org auth0.com azure.com azureedge.net baidu.com bigmodel.cn bilibili.com bitbucket.org
    bitwarden.com blender.org brave.com brew.sh bun.sh bytedance.com calibre-ebook.com cdnjs.com chocolatey.org
    claude.ai clawd.bot clawdhub.com clawhub.ai clojure.org cloudflare.com cmake.org codecov.io cohere.ai cohere.com
    composer.github.io conda.io context7.com cran.r-project.org crates.io cygwin.com dart.dev dashscope.aliyuncs.com
    databricks.com datadoghq.com debian.org deepgram.com deepseek.com deno.com deno.land digitalocean.com
    dingtalk.com discord.com docker.com docker.io dotnet.microsoft.com douyin.com dropbox.com dropboxapi.com
    duckdb.org duckduckgo.com eclipse.org elastic.co electronjs.org element.io elevenlabs.io elixir-lang.org
    erlang.org exa.ai expo.dev f-droid.org facebook.com fal.ai fedoraproject.org feishu.cn ffmpeg.org figma.com
    firebaseio.com flatpak.org flutter.dev fly.io foundry.paradigm.xyz freecad.org gcr.io getcomposer.org ghcr.io
    gimp.org git-scm.com gitee.com github.com github.io githubcopilot.com githubusercontent.com gitlab.com gnu.org
    gnupg.org go.dev golang.org google.com googleapis.com googleusercontent.com gradle.org grafana.com
    graph.facebook.com graphviz.org groq.com gstatic.com hashicorp.com haskell.org helm.sh heroku.com herokuapp.com
    hex.pm home-assistant.io httpie.io hubapi.com hubspot.com huggingface.co ibm.com imagemagick.org inkscape.org
    insomnia.rest instagram.com intercom.io jan.ai jellyfin.org jetbrains.com jqlang.org jsdelivr.net julialang.org
    k8s.io kernel.org kitware.com kotlinlang.org kubernetes.io langchain.com larksuite.com latex-project.org
    launchdarkly.com letsencrypt.org libreoffice.org line.me linear.app linkedin.com linuxfoundation.org live.com
    llvm.org lmstudio.ai lua.org macports.org mailgun.net matrix.org maven.org mermaid.ink metaplex.com
    microsoft.com microsoftonline.com miktex.org minimax.chat mistral.ai mitmproxy.org mixpanel.com modal.com
    modelcontextprotocol.io molt.bot mongodb.com moonshot.cn mozilla.org mpv.io msys2.org neon.tech netlify.com
    newrelic.com nginx.org ngrok.com nim-lang.org nixos.org nmap.org nodejs.org nodesource.com notion.com notion.so
    npmjs.com nuget.org nvidia.com obsidian.md office.com okta.com ollama.ai ollama.com openai.com openclaw.ai
    openrouter.ai openscad.org openssl.org opensuse.org oracle.com packagist.org pagerduty.com pandoc.org paypal.com
    perl.org perplexity.ai php.net pipedream.com planetscale.com platformio.org playwright.dev plex.tv pnpm.io
    posit.co postgresql.org posthog.com postman.com prometheus.io pulumi.com puppeteer.dev pypa.io python-poetry.org
    python.org pytorch.org qemu.org qgis.org qq.com quay.io r-project.org railway.app raspberrypi.com raycast.com
    rclone.org reactnative.dev readthedocs.io reddit.com redhat.com redis.io render.com replicate.com replit.com
    resend.com rstudio.com ruby-lang.org rubygems.org rust-lang.org rustup.rs salesforce.com sass-lang.com
    scala-lang.org scoop.sh sdkman.io segment.io selenium.dev sendgrid.com sendgrid.net sentry.io shopify.com
    signal.org siliconflow.cn slack.com snapcraft.io snowflakecomputing.com solana.com sonatype.org sourceforge.net
    spotify.com sqlite.org square.com stability.ai stackexchange.com stripe.com suckless.org supabase.co
    supabase.com swift.org syncthing.net tailscale.com tauri.app tavily.com telegram.org tencent.com terraform.io
    thunderbird.net together.ai torproject.org trello.com tug.org twilio.com twitter.com ubuntu.com unpkg.com
    upstash.io vagrantup.com vercel.app vercel.com videolan.org virtualbox.org visualstudio.com vitejs.dev
    volces.com volta.sh vultr.com w3.org weibo.com weixin.qq.com whatsapp.com wikimedia.org wikipedia.org
    wine-hq.org winehq.org wireshark.org wordpress.com wordpress.org x.ai x.com xiaohongshu.com yahoo.com yandex.net
    yarnpkg.com youtube.com zapier.com zendesk.com zhihu.com ziglang.org zoom.us zotero.org
    """
)
# With the indexes that package managers ask by themselves.
KNOWN = _VENDORS | {f"{name}.org" for name in ("pypi", "pythonhosted", "npmjs")}
# Anyone may publish there: the owner in the path says whose it is, not the host.
OPEN = words(
    """
    bitbucket.org gitee.com github.com github.io githubusercontent.com gitlab.com herokuapp.com huggingface.co
    jsdelivr.net netlify.app pages.dev readthedocs.io replit.com s3.amazonaws.com sourceforge.net unpkg.com
    vercel.app web.app workers.dev
    """
)
# Of these, those where code stands with its history and its owner.
CODE_HOSTS = words("github.com githubusercontent.com gitlab.com bitbucket.org gitee.com huggingface.co sourceforge.net")
# The best-known keys by the words that begin their names, and the hosts they are for.
VENDOR_KEYS = {
    "AWS": ("amazonaws.com", "amazon.com", "aws"), "ANTHROPIC": ("anthropic.com", "claude"),
    "OPENAI": ("openai.com", "azure.com", "openai"), "GITHUB": ("github.com", "githubusercontent.com", "ghcr.io"),
    "GH": ("github.com", "githubusercontent.com", "ghcr.io"), "GITLAB": ("gitlab",),
    "GOOGLE": ("google", "gstatic.com", "youtube.com"), "GCP": ("google",), "GEMINI": ("google",),
    "AZURE": ("azure", "microsoft", "windows.net"), "STRIPE": ("stripe.com",), "SLACK": ("slack.com",),
    "DISCORD": ("discord",), "TELEGRAM": ("telegram",), "TWILIO": ("twilio.com",), "SENDGRID": ("sendgrid",),
    "DATADOG": ("datadog",), "DOCKER": ("docker",), "NPM": ("npmjs", "npm"), "PYPI": ("pypi.", "pythonhosted."),
    "DATABASE": (), "POSTGRES": (), "MYSQL": (), "MONGO": ("mongodb",), "REDIS": (), "JWT": (), "SSH": (), "KUBE": (),
    "HEROKU": ("heroku",), "CLOUDFLARE": ("cloudflare",), "VERCEL": ("vercel",), "SENTRY": ("sentry",),
    "NOTION": ("notion",), "HF": ("huggingface",), "HUGGINGFACE": ("huggingface",),
}  # fmt: skip
_SECOND_LEVEL = frozenset({"co", "com", "org", "net", "gov", "edu", "ac"})


def registrable(host: str) -> str:
    """The part of a host that someone registered: the last two labels, three under such as co.uk."""
    labels = host.split(".")
    keep = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-keep:])


class HostKind(StrEnum):
    """Classify the place that an address names."""

    UNKNOWN = "unknown"  # known at run time only
    LOCAL = "local"  # this machine or its own network
    BARE = "bare"  # a public address without a name
    DROP = "drop"  # anyone may leave or pick up data there unseen: paste, webhook, tunnel, anonymous upload, chat bot
    SHORT = "short"  # leads elsewhere
    ORDINARY = "ordinary"


_URL = lazy(r"^[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:.]+\]|[^/:?#\s\\'\"`<>]+)", re.IGNORECASE)
_BARE = lazy(r"^(?:[^/@\s]*@)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)+|\[[0-9a-f:]+\])(?=[:/]|$)", re.IGNORECASE)
_DROP = lazy(
    r"(^|[.-])(paste|pastes|snippets?|webhooks?|hookbin|requestbin|ngrok|trycloudflare|localtunnel|serveo|interact|oast"
    r"|burpcollaborator|pipedream|beeceptor|requestcatcher|transfer|termbin|filebin|gofile|anonfiles?|catbox|dpaste"
    r"|hastebin|ghostbin|privatebin|controlc|ix|sprunge|oshi|duckdns|dnslog|canarytokens)([.-]|$)"
    r"|(paste|bin)\.[a-z]{2,4}$|^0x0\.st$|\.onion$|\.(ngrok|loca|oast)\.[a-z]+$"
)
_CHAT = lazy(
    r"^https?://(api\.telegram\.org/bot|(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/|hooks\.slack\.com/)",
    re.IGNORECASE,
)
_SHORT = words("bit.ly tinyurl.com t.co goo.gl is.gd ow.ly rb.gy cutt.ly shorturl.at t.ly tiny.cc v.gd")
# Networks that no one can own, but that take the place of public ones wherever something is explained or tested.
_EXAMPLES = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")))
_NUMBERS = lazy(r"[0-9a-fx.:]+")
_MAX_CACHED_LENGTH = 300  # longer addresses are rare, and are not remembered
_LOCAL = lazy(r"^(localhost|.*\.local|.*\.localhost|.*\.internal|host\.docker\.internal|0\.0\.0\.0|::1?)$")


def host_of(address: str) -> str:
    """The host of an address, in lower case; empty when it is only known at run time."""
    return _find_host(address) if len(address) <= _MAX_CACHED_LENGTH else _find_host.__wrapped__(address)


@lru_cache(1024)
def _find_host(address: str) -> str:
    match = _URL.match(address.strip()) or _BARE.match(address.strip())
    host = match[1].strip("[]").lower().rstrip(".") if match else ""
    return "" if any(mark in host for mark in "${}%*\0") else host


def judge_address(address: str) -> HostKind:
    """Classify the place that an address names."""
    return _judge(address) if len(address) <= _MAX_CACHED_LENGTH else _judge.__wrapped__(address)


@lru_cache(1024)
def _judge(address: str) -> HostKind:
    host = host_of(address)
    if not host:
        return HostKind.UNKNOWN
    if _LOCAL.match(host):
        return HostKind.LOCAL
    if _NUMBERS.fullmatch(host):
        try:
            number = ip_address(_as_dotted(host))
        except ValueError:
            pass
        else:
            return HostKind.LOCAL if _is_own(number) else HostKind.BARE
    if host in _SHORT:
        return HostKind.SHORT
    return HostKind.DROP if _DROP.search(host) or _CHAT.match(address.strip()) else HostKind.ORDINARY


def _is_own(number: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is this machine or its own network; what cannot be reached at all counts as own."""
    if number.is_loopback or number.is_link_local or number.is_unspecified:
        return True
    return not number.is_global and not any(number in network for network in _EXAMPLES)


def _as_dotted(host: str) -> str:
    """An IPv4 address written as one number, in hex or octal, as the common dotted one."""
    parts = host.split(".")
    if len(parts) > 4 or not all(re.fullmatch(r"0x[0-9a-f]+|\d+", part) for part in parts):
        return host
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if len(part) > 1 and part[0] == "0" else 10) for part in parts
        ]
    except ValueError:
        return host
    *heads, tail = numbers
    if any(head > 255 for head in heads) or tail >= 256 ** (5 - len(parts)):
        return host
    value = tail
    for index, head in enumerate(heads):
        value += head << (8 * (3 - index))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
