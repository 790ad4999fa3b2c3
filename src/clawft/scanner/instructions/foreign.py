"""The main orders of an attack in languages other than English."""

import re
from collections.abc import Iterator

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.patterns import AnyWord, LateRegex, SentenceOrder, find_address

# Words without which no sentence in plain letters is one of these orders.
HINTS = AnyWord(
    *("ignorier", "vergiss", "missacht", "nutzer", "anweisung", "sende ", "schick", "herunter"),
    *("ignorez", "oubliez", "utilisateur", "envoy", "transmettez", "consignes"),
    *("usuario", "instrucciones", "olvida", "manda", "descarg", "ejecut"),
    *("utente", "istruzioni", "dimentica", "invia", "scaric", "esegu", "baix"),
)
_FOREIGN = re.compile(r"[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7afÀ-ÖØ-öø-ÿ]")


def is_foreign(text: str) -> bool:
    """Return whether a text has letters of other languages."""
    return not text.isascii() and _FOREIGN.search(text) is not None


_OVERRIDE = (
    r"\b(?:ignoriere?n?|vergiss|vergessen|missachten?|übergehe)\b.{0,40}?\b(?:vorherigen?|bisherigen?|obigen?"
    r"|früheren?|alle[nr]?|vorigen?)\b.{0,30}?\b(?:anweisungen|instruktionen|befehle|regeln|vorgaben)",
    r"\b(?:ignorez|ignore|oubliez|oublie|ne tenez pas compte)\b.{0,40}?\b(?:instructions?|consignes?|directives?"
    r"|règles)\b.{0,30}?\b(?:précédentes?|antérieures?|ci-dessus|système)",
    r"\b(?:ignora|ignore|ignorar|olvida|olvide|omite|haz caso omiso)\b.{0,40}?\b(?:instrucciones|órdenes|reglas"
    r"|indicaciones|directrices)\b.{0,30}?\b(?:anteriores|previas|del sistema|de seguridad)",
    r"\b(?:ignore|ignora|esqueça|desconsidere|desconsiderar)\b.{0,40}?\b(?:instruções|ordens|regras"
    r"|diretrizes)\b.{0,30}?\b(?:anteriores|prévias|do sistema|acima)",
    r"\b(?:ignora|ignorare|ignorate|dimentica|trascura)\b.{0,40}?\b(?:istruzioni|regole|direttive"
    r"|indicazioni)\b.{0,30}?\b(?:precedenti|di sistema|sopra|di sicurezza)",
    r"(?:игнорируй(?:те)?|забудь(?:те)?|не обращай(?:те)? внимания на).{0,40}?(?:предыдущи|прежни|вс[её]|системны"
    r"|вышеуказанн).{0,30}?(?:инструкци|указани|правил|команд)",
    r"(?:忽略|无视|無視|忘记|忘掉|不要理会|不要遵守).{0,12}?(?:之前|先前|以前|上述|上面|前面|所有|系统|一切"
    r"|原有|安全).{0,8}?(?:指令|指示|说明|提示|规则|命令|要求|限制)",
    r"(?:以前|これまで|上記|前|すべて|全て|システム).{0,8}?(?:の)?(?:指示|命令|指令|ルール|プロンプト|制約)"
    r".{0,6}?(?:を)?(?:無視|忘れ)",
    r"(?:이전|기존|위의|앞의|모든|시스템).{0,8}?(?:지시|명령|지침|규칙|프롬프트|지시사항).{0,8}?(?:무시|잊)",
)  # fmt: skip
_CONCEAL = (
    r"\b(?:sage?n?|verrate?n?|erwähne?n?|teile?n?|informiere?n?|zeige?n?)\b.{0,30}?\b(?:dem |den |die )?(?:nutzer"
    r"|benutzer|anwender|user)(?:n|s)?\b.{0,30}?\b(?:nicht|nichts|kein\w*)|\b(?:nutzer|benutzer)\b.{0,40}?\b(?:nicht"
    r"|nichts|niemals)\b.{0,30}?\b(?:sagen|mitteilen|erwähnen|informieren|erfahren|bemerk\w+)",
    r"\b(?:ne|n')\b ?(?:le |les |en |lui )?(?:dites|dis|mentionnez|mentionne|informez|informe|révélez|prévenez"
    r"|montrez)\b.{0,30}?\b(?:pas|rien|jamais)\b.{0,40}?\b(?:utilisateur|usager)|\bà l'insu de l'utilisateur",
    r"\b(?:no|nunca)\b (?:se )?(?:lo )?(?:le )?(?:digas?|menciones?|informes?|reveles?|avises?|muestres?"
    r"|notifiques?)\b.{0,40}?\b(?:usuario|usuaria|nadie)|\bsin que el usuario",
    r"\b(?:não|nunca)\b (?:diga|conte|mencione|informe|revele|avise|mostre|notifique)\b.{0,40}?\b(?:usuário|usuária"
    r"|ninguém)|\bsem que o usuário",
    r"\b(?:non|mai)\b (?:dire|dirlo|menzionare|informare|rivelare|avvisare|mostrare)\b.{0,40}?\b(?:utente|nessuno)"
    r"|\ball'insaputa dell'utente",
    r"не (?:говори|сообщай|упоминай|показывай|раскрывай|уведомляй)(?:те)?.{0,30}?(?:пользовател|никому)"
    r"|(?:пользовател\w+).{0,30}?не (?:должен|узна|знал|сообщ|заметил)|тайно|незаметно для пользовател",
    r"(?:不要|请勿|切勿|别|不得|勿|不能|无需|無需)(?:向|对|讓|让|和|跟|给)?.{0,6}?(?:用户|用戶|使用者|任何人)"
    r".{0,8}?(?:提及|透露|告知|说明|显示|知道|报告|提到|察觉|说)"
    r"|(?:不要|请勿|切勿|别|不得)(?:告诉|通知|告知|提醒|提示).{0,4}?(?:用户|用戶|使用者)"
    r"|(?:悄悄|暗中|秘密|偷偷|静默).{0,10}?(?:上传|发送|执行|运行|下载)",
    r"(?:ユーザー|利用者|使用者).{0,8}?(?:に|へ)(?:は)?.{0,12}?"
    r"(?:言わない|伝えない|知らせない|教えない|通知しない|言及しない|見せない|報告しない|気づかれ)"
    r"|(?:ひそかに|密かに|こっそり)",
    r"(?:사용자|유저).{0,6}?(?:에게|한테|가|께).{0,16}?(?:말하지|알리지|언급하지|보여주지|공개하지|모르게"
    r"|알지 못하게|눈치채지)"
    r"|(?:몰래|은밀히|조용히).{0,12}?(?:보내|전송|업로드|실행)",
)  # fmt: skip
_SEND = (
    r"\b(?:sende|senden|sendet|schicke?n?|übermittle?n?|übertrage?n?|lade?n?|envoyez|envoie|envoyer|transmettez"
    r"|téléversez"
    r"|envía|envíe|enviar|envie|manda|mande|sube|suba|transmit[ae]|invia|inviare|inviate|carica|trasmetti)\b",
    r"(?:отправь|отправляй|отправьте|передай|пошли|загрузи|выгрузи|发送|上传|傳送|发到|传送|转发|送信"
    r"|アップロード|転送|送って|보내|전송|업로드|전달)",
)
_DATA = (
    r"\b(?:schlüssel|zugangsdaten|passw[oö]rt\w*|umgebungsvariablen|dateien|inhalt|daten|gespräch\w*|clés?"
    r"|identifiants|mots? de passe|variables d'environnement|fichiers?|contenu|données|conversation"
    r"|claves?|credenciales|contraseñas?|variables de entorno|archivos?|contenido|datos|conversación|chaves?"
    r"|credenciais|senhas?|variáveis de ambiente|arquivos?|conteúdo|dados|conversa|chiavi|credenziali|password"
    r"|variabili d'ambiente|contenuto|dati|conversazione)\b"
    r"|\.env|\.ssh|id_rsa|ключ|парол|учетн|учётн|переменн|файл|содержим|данны|密钥|密码|凭证|凭据|环境变量|文件"
    r"|内容|数据|对话|聊天记录|令牌|鍵"
    r"|パスワード|認証情報|環境変数|ファイル|データ|会話|비밀번호|키|자격|환경 ?변수|파일|데이터|대화"
)
_RUN = (
    r"\b(?:lade?n?|laden)\b.{0,80}?\bherunter\b.{0,60}?\b(?:führe|starte|ausführen)|\b(?:téléchargez"
    r"|télécharge)\b.{0,80}?\b(?:exécutez|exécute|lancez)|\b(?:descarga|descargue|descargar|baixe|baixar|scarica"
    r"|scaricare)\b.{0,80}?\b(?:ejecuta|ejecute|ejecútalo|execute|executar|esegui|eseguire|eseguilo)\b"
    r"|(?:скачай|загрузи)(?:те)?.{0,80}?(?:запусти|выполни)|下载.{0,60}?(?:运行|执行|安装)|ダウンロード"
    r".{0,60}?実行|다운로드.{0,60}?실행"
)
_NEVER = LateRegex(
    r"\b(?:nicht|nie|niemals|kein\w*|jamais|ne|pas|nunca|jamás|não|non|mai)\b|не |никогда|不要|请勿|切勿|禁止"
    r"|不得|しない|지 ?마|않"
)
_OVERRIDE_RE = LateRegex("|".join(_OVERRIDE))
_CONCEAL_RE = LateRegex("|".join(_CONCEAL))
_SEND_RE = LateRegex("|".join(_SEND))
_DATA_RE = LateRegex(_DATA)
_RUN_RE = LateRegex(_RUN)
_SECRET = LateRegex(
    r"\.env|\.ssh|id_rsa|passw|zugangs|umgebungs|mots? de passe|identifiants|environnement|credencia|contraseñ"
    r"|entorno|senha|ambiente|credenzial|парол|ключ|переменн|密钥|密码|凭|环境变量|令牌|パスワード|認証"
    r"|環境変数|비밀번호|자격|환경"
)


def find_foreign_orders(text: str) -> Iterator[SentenceOrder]:
    """The orders that a sentence gives in a language other than English."""
    if match := _OVERRIDE_RE.search(text):
        yield SentenceOrder(Kind.OVERRIDE, "previous instructions", match.start(), match[0])
    conceal = _CONCEAL_RE.search(text)
    if conceal:
        yield SentenceOrder(Kind.CONCEAL, "the user", conceal.start(), conceal[0])
    if (_NEVER.search(text) and not conceal) or not (address := find_address(text)):
        return
    where = address[0].rstrip(".,;:。")
    if (match := _SEND_RE.search(text)) and (data := _DATA_RE.search(text)):
        how = "secret" if _SECRET.search(text) else "private"
        source = SentenceOrder(Kind.READ, data[0], data.start(), f"{how}: {data[0]}")
        yield SentenceOrder(Kind.SEND, where, match.start(), text[:160], (source,))
    if match := _RUN_RE.search(text):
        yield SentenceOrder(
            Kind.EXEC, "", match.start(), match[0], (SentenceOrder(Kind.FETCH, where, match.start(), match[0]),)
        )
