"""Well-known hosts, and which of them anyone may publish on."""

from clawft.scan.vocabulary.words import words

__all__ = ["KNOWN", "OPEN", "VENDOR_KEYS", "registrable"]

# Run by vendors that users trust anyway: an installer or an interface there is what it says it is.
_VENDORS = words(
    """
    akamai.com alpinelinux.org amazon.com amazonaws.com anaconda.com anaconda.org android.com anthropic.com
    apache.org apple.com archlinux.org arxiv.org assemblyai.com astral.sh atlassian.com atlassian.net auth0.com
    azure.com azureedge.net bitbucket.org brave.com brew.sh bun.sh cdnjs.com chocolatey.org claude.ai clawhub.ai
    clojure.org cloudflare.com cohere.ai cohere.com composer.github.io conda.io cran.r-project.org crates.io
    databricks.com datadoghq.com debian.org deepgram.com deepseek.com deno.com deno.land digitalocean.com
    discord.com docker.com docker.io dotnet.microsoft.com dropbox.com dropboxapi.com duckduckgo.com elastic.co
    elevenlabs.io exa.ai expo.dev facebook.com fal.ai fedoraproject.org figma.com firebaseio.com fly.io flutter.dev
    foundry.paradigm.xyz gcr.io getcomposer.org ghcr.io git-scm.com github.com github.io githubusercontent.com
    gitlab.com gnu.org go.dev golang.org google.com googleapis.com googleusercontent.com gradle.org
    graph.facebook.com groq.com gstatic.com hashicorp.com heroku.com herokuapp.com hex.pm hubapi.com hubspot.com
    huggingface.co ibm.com instagram.com intercom.io jetbrains.com jsdelivr.net k8s.io kernel.org kubernetes.io
    langchain.com launchdarkly.com letsencrypt.org line.me linear.app linkedin.com linuxfoundation.org live.com
    mailgun.net maven.org mermaid.ink microsoft.com microsoftonline.com mistral.ai mixpanel.com modal.com
    mongodb.com mozilla.org neon.tech netlify.com newrelic.com nginx.org ngrok.com nixos.org nodejs.org
    nodesource.com notion.com notion.so npmjs.com nuget.org nvidia.com office.com okta.com ollama.ai
    ollama.com openai.com openrouter.ai opensuse.org oracle.com packagist.org pagerduty.com paypal.com perplexity.ai
    php.net pipedream.com planetscale.com playwright.dev pnpm.io postgresql.org posthog.com pypa.io
    python-poetry.org python.org pytorch.org quay.io railway.app readthedocs.io reddit.com
    redhat.com redis.io render.com replicate.com replit.com resend.com ruby-lang.org rubygems.org rust-lang.org
    rustup.rs salesforce.com scoop.sh sdkman.io segment.io sendgrid.com sendgrid.net sentry.io shopify.com slack.com
    snapcraft.io snowflakecomputing.com solana.com sonatype.org sourceforge.net spotify.com sqlite.org square.com
    stability.ai stackexchange.com stripe.com supabase.co supabase.com tailscale.com tavily.com telegram.org
    terraform.io together.ai trello.com twilio.com twitter.com ubuntu.com unpkg.com upstash.io vercel.app vercel.com
    visualstudio.com volta.sh vultr.com w3.org whatsapp.com wikimedia.org wikipedia.org wordpress.com wordpress.org
    x.ai x.com yahoo.com yandex.net yarnpkg.com youtube.com zapier.com zendesk.com zoom.us aliyuncs.com aliyun.com
    alibabacloud.com baidu.com bigmodel.cn bilibili.com bytedance.com dashscope.aliyuncs.com dingtalk.com douyin.com
    feishu.cn gitee.com larksuite.com minimax.chat moonshot.cn qq.com siliconflow.cn tencent.com volces.com
    weixin.qq.com weibo.com xiaohongshu.com zhihu.com molt.bot aka.ms rclone.org metaplex.com llvm.org suckless.org
    openclaw.ai clawdhub.com clawd.bot kitware.com githubcopilot.com codecov.io context7.com
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
