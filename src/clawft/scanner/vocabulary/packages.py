"""Well-known packages, and names that are made to be mistaken for one of them."""

import re
from functools import cache

from msgspec import Struct

from clawft.scanner.regex import lazy, words

PYPI = words(
    """
    aiohttp anthropic anyio argcomplete arrow asyncpg attrs babel bcrypt beautifulsoup4 black bleach boto3 botocore
    cachetools celery certifi cffi chardet charset-normalizer click cloudpickle colorama coverage cryptography
    cython dask diffusers discord.py distlib django docker docutils duckdb elasticsearch fastapi filelock flake8
    flask fonttools gitpython google-auth google-api-python-client google-genai grpcio gunicorn h5py httpcore
    httplib2 httpx huggingface-hub hypothesis importlib-metadata ipython isort itsdangerous jinja2 jmespath joblib
    jsonschema jupyter keras kubernetes langchain litellm lxml markdown markupsafe matplotlib mistune moviepy mypy
    networkx nltk notebook numpy oauthlib openai opencv-python openpyxl packaging pandas paramiko pathlib2
    pdfplumber pillow pinecone pipenv platformdirs playwright pluggy poetry praw prettytable prometheus-client
    protobuf psutil psycopg2 psycopg2-binary pyarrow pyasn1 pycparser pycryptodome pydantic pygame pygments
    pyinstaller pyjwt pymongo pymupdf pymysql pynacl pyopenssl pyparsing pypdf pypdf2 pyserial pytest
    python-dateutil python-docx python-dotenv python-pptx pytz pywin32 pyyaml redis regex reportlab requests
    requests-oauthlib rich ruff s3transfer scikit-image scikit-learn scipy scrapy seaborn selenium
    sentence-transformers sentry-sdk setuptools simplejson six sniffio soupsieve spacy sqlalchemy starlette
    statsmodels streamlit sympy tabulate telethon tenacity tensorflow termcolor tiktoken tokenizers toml tomlkit
    torch torchvision tornado tqdm transformers tweepy twilio typer typing-extensions tzdata ujson urllib3 uvicorn
    virtualenv watchdog web3 websocket-client websockets werkzeug wheel wrapt xgboost xlrd xlsxwriter yt-dlp zipp
    """
)
NPM = words(
    """
    ajv angular async autoprefixer aws-sdk axios babel-core bcrypt bluebird body-parser bootstrap browserify canvas
    chalk cheerio chokidar classnames colors commander compression concurrently cookie-parser core-js cors cross-env
    cross-spawn crypto-js d3 date-fns dayjs debug discord.js dotenv ejs electron esbuild eslint ethers eventemitter3
    execa express express-session fastify form-data fs-extra glob googleapis got graceful-fs graphql gulp handlebars
    helmet highlight.js http-proxy husky immer immutable inquirer ioredis jest jquery js-yaml jsdom jsonwebtoken koa
    less lodash loglevel mailparser marked mime-types minimatch minimist mkdirp mocha moment mongodb mongoose morgan
    multer mysql mysql2 nanoid next node-fetch node-cron nodemailer nodemon nuxt openai ora passport pdfkit pg
    playwright postcss preact prettier prisma progress prop-types puppeteer puppeteer-core qs ramda react react-dom
    react-native react-router react-router-dom readable-stream redis redux request rimraf rollup rxjs sass semver
    sequelize sharp shelljs sinon socket.io source-map string-width strip-ansi styled-components stripe superagent
    svelte tailwindcss telegraf three through2 ts-node tslib turndown typeorm typescript uglify-js underscore undici
    uuid validator viem vite vitest vue web3 webpack winston ws xml2js yaml yargs zod zustand
    """
)
# Real packages that are close to another real one.
_NEIGHBOURS = words(
    """
    preact react color colors requests request request-promise aiohttp httpx httpx-sse httpx2 pillow pillow-heif
    psycopg psycopg2 psycopg3 pypdf pypdf2 pypdf3 pypdf4 pycrypto pycryptodome pycryptodomex mysql mysql2
    mysqlclient redis ioredis node-redis redis-py loguru locust torchaudio jquery-ui vuex vitest vite vue-router
    nuxt next nest express yaml yamljs js-yaml pyyaml ruamel.yaml toml tomli tomlkit tomllib minimist minimatch
    lodash-es lodash.debounce lodash.get lodash.merge lodash.isequal moment-timezone moments ws wss uuid uuidv4
    uuid4 shortuuid nanoid glob globby rich richer typer type typed-ast click clack clicks pandas pandas-stubs
    pandasai polars celery celeryd flask flasks dash dask black blake3 bleak pytest-asyncio scipy numpy numpydoc
    numba nump scikit-learn sklearn axios axios-retry chalk chalk-template debug debugpy async asyncs await attrs
    attr cattrs marked markdown markdown2 markdown-it python-markdown mistune mistletoe jinja2 jinja jsdom jsdoc
    json5 jsonc jest jasmine got gots execa exec three threejs d3 d4 dayjs sharp sharps sass sassc less bcryptjs
    bcrypt bcrypts crypto-js cryptojs cors koa koa2 mocha sinon prisma prism prismjs ramda rambda redux redux-thunk
    rxjs rx stripe strip-ansi svelte swelte telethon telebot twilio tweepy twint undici unidici openai open openapi
    anthropic ethers ether ethersjs web3 web3.js web3py webpack webpack5 express4 discord discord.js discord.py
    nextcord py-cord disnake docker dockerode dockerpy dotenv dotenvx python-dotenv dotenv-cli dotenv-expand
    pydotenv requests-html requests-cache requests-toolbelt requests-mock selenium selenium-wire playwright
    playwright-core puppeteer puppeteer-core pyppeteer gitpython python-git pygit2 simple-git gunicorn hypercorn
    uvicorn uvloop torch torchvision tensorflow-cpu tensorflow-gpu tensorflow-macos tensorboard keras keras-core
    types-requests types-pyyaml boto boto3 botocore aioboto3 aiobotocore moto pytz python-dateutil dateutils
    dateparser arrow sarrow langchain-core langchain-openai langchain-community langgraph huggingface_hub
    transformers sentence-transformers opencv-python opencv-contrib-python opencv-python-headless pymongo mongoose
    mongodb pymongodb psutil pyutil urllib3 urllib tabulate wheel semver semvar typescript ts-node tslib tslint
    eslint jslint regex re2 websocket websockets websocket-client xlrd xlwt xlsx xlsxwriter openpyxl yargs
    yargs-parser zod zods pinecone pinecone-client pdfkit pypdfium2 weasyprint mammoth reportlab pdfplumber
    pdfminer.six pdf2image moviepy ffmpeg-python node-fetch cross-fetch node-cron cron crons node-schedule
    nodemailer mailparser inquirer enquirer prompts vega vegas shell shelljs zx helmet helm react-helmet react-dom
    react-router react-query multer muller canvas skia-canvas electron electrons neon pluggy plugin tiktoken
    tokenizers typing typing-extensions ujson orjson rjson simplejson cheerio cheerios gulp gup grunt vue vuepress
    viem vitem progress cli-progress quart starlette starlite sqlmodel sqlalchemy alembic mypy mypy-extensions pyre
    pytype pylint pydantic pydantic-core pydantic-settings passport passport-local passlib argon2 argon2-cffi ruff
    rough roughjs ora oras ioredis husky cython python telegraf telegram python-telegram-bot telegraph graphql
    graphene graphql-tag ajv ajv-cli canvas confection connection googleapis google-apis pywin32 pypiwin32 winston
    winstone marked-terminal spacy spaczz praw asyncpraw paramiko fabric asyncssh tornado isort pytest unittest2
    nose2 mock mocks coverage tox nox hypothesis flake8 pyflakes autopep8 yapf pillow-simd formdata formdata-node
    gaxios scrypt scrypt-js server serve network networks python-pptx python-docx docx docx2txt pptxgenjs officegen
    exceljs sheetjs papaparse csv-parse
    """
)
_PYTHON = words("pip pip3 pipx uv uvx poetry pdm conda mamba rye pipenv easy_install python pypi")
_NODE = words("npm pnpm yarn bun npx bunx pnpx node deno cnpm")
_ADDRESS = lazy(r"^(git\+|git@|git:|https?:|ssh:|hg\+|svn\+|github:|gitlab:|bitbucket:|file:|ftp:)|://", re.IGNORECASE)
_INDEX = lazy(r"@((?:https?|ftp)://\S+)$", re.IGNORECASE)
_VERSION = lazy(r"(\[[^\]]*\])?\s*([=<>!~^;].*)?$|(?<=.)@.*$", re.DOTALL)
_LOOKALIKE = str.maketrans({"0": "o", "1": "l", "3": "e", "5": "s", "4": "a", "7": "t", "|": "l"})
_PROMISES = (
    r"(security|secure|safe|hotfix|patch|patched|fix|fixed|official|original|latest|updated|upgrade|verified|trusted)"
)
_AFFIX = lazy(
    r"^(?:python|py|node|js|npm|pip|official|real|the|original)[-_.]?(?=\w{4})"
    r"|[-_.]?(?:python|py3?|js|nodejs|node|npm|pip|lib)$"
)
_PROMISE = lazy(rf"[-_.]{_PROMISES}(?:[-_.]{_PROMISES})*$")


class Package(Struct, frozen=True):
    """A package that an install asks for."""

    installer: str
    name: str  # empty when it is an address; "*" when it is everything
    address: str  # the index or the archive, when one is named
    extra: bool = False  # the index is asked besides the usual one


def parse_package(target: str) -> Package:
    """The target of an INSTALL fact taken apart."""
    installer, _, rest = target.partition(":")
    rest = rest.strip().strip("\"'")
    index = _INDEX.search(rest)
    if index and not _ADDRESS.match(rest[: index.start()]):
        name = rest[: index.start()]
        return Package(installer, "*" if name == "+" else _bare(name), index[1], extra=name == "+")
    if _ADDRESS.search(rest):
        return Package(installer, "", re.sub(r"^(git|hg|svn)\+", "", rest))
    return Package(installer, _bare(rest), "")


def _bare(name: str) -> str:
    """A name without its version and extras; a scope stays."""
    scope, name = (name[0], name[1:]) if name.startswith("@") else ("", name)
    return scope + _VERSION.sub("", name, count=1).strip(" ,.()`").lower()


@cache
def find_imitated(installer: str, name: str) -> str:
    """The well-known package that a name is made to be mistaken for; empty for an honest name."""
    known = PYPI if installer in _PYTHON else NPM if installer in _NODE else frozenset()
    other = NPM if known is PYPI else PYPI
    plain = name.replace("_", "-").lower()
    if (
        not known
        or plain in known
        or plain in other
        or plain in _NEIGHBOURS
        or len(plain) > 60
        or plain.startswith("@")
    ):
        return ""
    return _promised(plain, known) or _mistyped(plain, known) or _decorated(plain, known)


def find_namesake(skill: str) -> str:
    """The well-known package that the name of a skill, or a part of it, is a scrambled form of; empty for none.

    Skills are named after ordinary words, so only names of the same letters count.
    """
    skill = skill.lower()
    for part in dict.fromkeys((skill, skill.rpartition("-")[0], skill.partition("-")[2])):
        imitated = find_imitated("pip", part) or find_imitated("npm", part)
        if len(imitated) >= 6 and set(part.translate(_LOOKALIKE)) == set(imitated):
            return imitated
    return ""


def _promised(name: str, known: frozenset[str]) -> str:
    """Return the well-known package that a name claims to be a fixed version of; empty if it is none."""
    stem = re.sub(r"[-_.](utils?|helpers?|tools?|core|lib|client)$", "", _PROMISE.sub("", name))
    return stem if _PROMISE.search(name) and stem in known and len(stem) >= 4 else ""


def _mistyped(name: str, known: frozenset[str]) -> str:
    if len(name) < 5 or not re.search(r"[a-z]", name):
        return ""
    near, folded = _index(known)
    joined = folded.get(_fold(name), "")
    if joined and joined != name:
        return joined
    candidates = sorted({candidate for key in _shortened(name) for candidate in near.get(key, ())})
    return next((candidate for candidate in candidates if _is_near(name, candidate)), "")


@cache
def _index(known: frozenset[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The names by what is left of them without one letter, and by how they look."""
    near: dict[str, list[str]] = {}
    for package in known:
        if len(package) >= 5:
            for key in _shortened(package):
                near.setdefault(key, []).append(package)
    return near, {_fold(package): package for package in sorted(known) if len(package) >= 5}


def _shortened(name: str) -> set[str]:
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))}


def _fold(name: str) -> str:
    return name.translate(_LOOKALIKE).replace("-", "").replace(".", "").replace("rn", "m").replace("vv", "w")


def _decorated(name: str, known: frozenset[str]) -> str:
    """A well-known name that is itself mistyped, under a prefix or suffix that many packages carry."""
    stem = _AFFIX.sub("", name)
    return (
        _mistyped(stem, known)
        if stem != name and len(stem) >= 6 and stem not in known and stem not in _NEIGHBOURS
        else ""
    )


def _is_near(a: str, b: str) -> bool:
    """Return whether one letter is missing, added, changed, or two neighbours are swapped. A digit at the end is a
    version."""
    if a == b or a.rstrip("0123456789") == b or b.rstrip("0123456789") == a:
        return False
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    x, y = a[start:], b[start:]
    if x[1:] == y[1:]:
        return len(b) >= 6 or start > 0  # a short word with another first letter is another word
    return x[1:] == y or x == y[1:] or (x[2:] == y[2:] and x[:2] == y[1::-1])
