"""Well-known hosts, and which of them anyone may publish on."""

from clawft.scan.vocabulary.words import words

__all__ = ["CODE_HOSTS", "KNOWN", "OPEN", "VENDOR_KEYS", "registrable"]

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
CODE_HOSTS = frozenset(
    {
        "github.com",
        "githubusercontent.com",
        "gitlab.com",
        "bitbucket.org",
        "gitee.com",
        "huggingface.co",
        "sourceforge.net",
    }
)
# The best-known keys by the words that begin their names, and the hosts they are for.
VENDOR_KEYS = {
    "AWS": ("amazonaws.com", "amazon.com", "aws"),
    "ANTHROPIC": ("anthropic.com", "claude"),
    "OPENAI": ("openai.com", "azure.com", "openai"),
    "GITHUB": ("github.com", "githubusercontent.com", "ghcr.io"),
    "GH": ("github.com", "githubusercontent.com", "ghcr.io"),
    "GITLAB": ("gitlab",),
    "GOOGLE": ("google", "gstatic.com", "youtube.com"),
    "GCP": ("google",),
    "GEMINI": ("google",),
    "AZURE": ("azure", "microsoft", "windows.net"),
    "STRIPE": ("stripe.com",),
    "SLACK": ("slack.com",),
    "DISCORD": ("discord",),
    "TELEGRAM": ("telegram",),
    "TWILIO": ("twilio.com",),
    "SENDGRID": ("sendgrid",),
    "DATADOG": ("datadog",),
    "DOCKER": ("docker",),
    "NPM": ("npmjs", "npm"),
    "PYPI": ("pypi.", "pythonhosted."),
    "DATABASE": (),
    "POSTGRES": (),
    "MYSQL": (),
    "MONGO": ("mongodb",),
    "REDIS": (),
    "JWT": (),
    "SSH": (),
    "KUBE": (),
    "HEROKU": ("heroku",),
    "CLOUDFLARE": ("cloudflare",),
    "VERCEL": ("vercel",),
    "SENTRY": ("sentry",),
    "NOTION": ("notion",),
    "HF": ("huggingface",),
    "HUGGINGFACE": ("huggingface",),
}
_SECOND_LEVEL = frozenset({"co", "com", "org", "net", "gov", "edu", "ac"})


def registrable(host: str) -> str:
    """The part of a host that someone registered: the last two labels, three under such as co.uk."""
    labels = host.split(".")
    keep = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-keep:])
