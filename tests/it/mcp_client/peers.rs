//! Servers of others: one of each official SDK, over stdio and HTTP.
#![expect(clippy::disallowed_methods, reason = "tests run programs and open sockets")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{error, result};
use crate::{
    mcp::tools,
    support::site::{Ran, Running, Site, wait_until},
};

/// A server of others, and the way to it.
struct Peer {
    site: Site,
    _running: Option<Running>,
}

impl Peer {
    /// One that is started for each run, with folders that it reads.
    fn over_pipes(command: &[&str], read: &[&Path], tools: &[&str]) -> Self {
        let policy = format!(
            "[exec]\nread = {}\n[mcp.servers.peer]\ncommand = {}\ntools = {}\n",
            json!(read),
            json!(command),
            json!(tools)
        );
        Peer::new(&policy, None)
    }

    /// One that listens at a port, which replaces `PORT` in the command.
    fn over_http(command: &[&str], tools: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let words: Vec<String> = command.iter().map(|word| word.replace("PORT", &port.to_string())).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("PORT", port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(command.spawn().unwrap());
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let policy = format!(
            "[mcp.servers.peer]\nurl = \"http://127.0.0.1:{port}/mcp\"\ntimeout_ms = 20000\ntools = {}\n",
            json!(tools)
        );
        Peer::new(&policy, Some(running))
    }

    fn new(policy: &str, running: Option<Running>) -> Self {
        let site = Site::empty();
        site.git(&["init", "-q", "-b", "main"]);
        site.write("nrv.toml", policy);
        site.nrv(&["mcp", "approve", "--yes"]).exits(0);
        Peer { site, _running: running }
    }

    fn run(&self, calls: &[&str], text: &str) -> Ran {
        let calls: Vec<String> = calls.iter().map(|name| format!("mcp.peer.{name}")).collect();
        let head = format!(
            "const WORKFLOW = #{{ permissions: #{{ calls: {} }} }};\nlet peer = nrv.mcp(\"peer\");\n",
            json!(calls)
        );
        self.site.write("scripts/peer.rhai", format!("{head}{text}"));
        self.site.nrv(&["run", "scripts/peer.rhai", "--json", "--allow-dirty"])
    }

    fn result(&self, calls: &[&str], text: &str) -> Value {
        result(self.run(calls, text))
    }
}

#[test]
fn tools_of_a_server_in_python_are_used() {
    let Some(tools) = tools() else { return };
    let (python, script) = (tools.join("python/bin/python"), tools.join("server.py"));
    let prefix = Command::new(&python).args(["-c", "import sys; print(sys.base_prefix)"]).output().unwrap();
    let prefix = String::from_utf8_lossy(&prefix.stdout).trim().to_owned();
    let command = [python.to_str().unwrap(), script.to_str().unwrap(), "PORT"];
    let names = ["add", "fail", "ask", "work"];
    for peer in
        [Peer::over_pipes(&command[..2], &[tools, Path::new(&prefix)], &names), Peer::over_http(&command, &names)]
    {
        let sum = peer.result(&["add"], "peer.invoke(\"add\", #{ a: 1, b: 2 })");
        assert_eq!(sum["structured"], json!({"sum": 3}));
        assert_eq!(peer.result(&["work"], "peer.invoke(\"work\", #{}).text"), "worked");
        let wrong = error(peer.run(&["add"], "peer.invoke(\"add\", #{ a: \"x\", b: 2 })"), 1);
        assert_eq!(wrong["code"], "command_failed", "{wrong}");
        let failed = error(peer.run(&["fail"], "peer.invoke(\"fail\", #{})"), 1);
        assert!(failed["message"].as_str().is_some_and(|words| words.contains("`fail` failed")), "{failed}");
        // Nobody is there who could be asked.
        let asked = error(peer.run(&["ask"], "peer.invoke(\"ask\", #{})"), 1);
        assert_eq!(asked["code"], "command_failed", "{asked}");
        let tools = peer.result(&["add"], "peer.tools()");
        assert_eq!((tools.as_array().map(Vec::len), &tools[0]["read_only"]), (Some(4), &json!(true)));
        peer.site.nrv(&["replay", "last"]).exits(0);
    }
}

#[test]
fn tools_of_a_server_in_typescript_are_used() {
    let Some(tools) = tools() else { return };
    let script = tools.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let node = Command::new("sh").args(["-c", "command -v node"]).output().unwrap();
    let node = String::from_utf8_lossy(&node.stdout).trim().to_owned();
    let command = [node.as_str(), script.to_str().unwrap(), "streamableHttp"];
    let names = ["echo", "get-sum", "get-structured-content", "get-tiny-image"];
    for peer in [Peer::over_pipes(&command[..2], &[tools], &names), Peer::over_http(&command, &names)] {
        assert_eq!(peer.result(&["echo"], "peer.invoke(\"echo\", #{ message: \"hi\" }).text"), "Echo: hi");
        let sum = "peer.invoke(\"get-sum\", #{ a: 1, b: 2 }).text";
        assert_eq!(peer.result(&["get-sum"], sum), "The sum of 1 and 2 is 3.");
        let weather = "peer.invoke(\"get-structured-content\", #{ location: \"Chicago\" }).structured.temperature";
        assert!(peer.result(&["get-structured-content"], weather).is_number());
        let image = peer.result(&["get-tiny-image"], "peer.invoke(\"get-tiny-image\", #{}).content");
        assert!(image.as_array().is_some_and(|parts| parts.iter().any(|part| part["mimeType"] == "image/png")));
        peer.site.nrv(&["replay", "last"]).exits(0);
    }
}
