//! Texts of unknown origin on a terminal: none moves the cursor, hides a word or changes the order of others, whichever command shows it.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use regex::Regex;

use crate::{
    reference::commands,
    support::site::{Ran, Site},
};

/// Sequences that begin with ESC, C1 controls, a bell and characters that reorder, in a name of a file or a word of an argument.
const NAME: &str = "\u{1b}[31mX\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{85}\u{202e}Y";

/// The same for a text, which may have a carriage return.
const TEXT: &str = "\u{1b}[31mX\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{85}\r\u{202e}\u{2066}Y";

/// The commands with arguments that make them show such a text. `NAME` and `TEXT` stand for it.
const SHOWING: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "scripts/h.rhai --help",
            "scripts/h.rhai --yes",
            "scripts/ok.rhai --yes",
            "scripts/t.rhai",
            "NAME",
            "scripts/bad.rhai",
        ],
    ),
    ("plan", &["scripts/ok.rhai -o .git/NAME", "NAME -o x"]),
    ("apply", &["p.patch", "q.patch --dry-run", "NAME"]),
    ("test", &["", "NAME"]),
    ("trust", &["", "NAME", "--yes"]),
    ("approve", &["scripts/ok.rhai", "scripts/h.rhai --yes", "--check", "NAME"]),
    ("add", &["NAME", "./NAME"]),
    ("new", &["NAME y", "script NAME"]),
    ("check", &["", "scripts/bad.rhai", "NAME", "nrv.toml"]),
    ("scripts", &["", "--source NAME"]),
    ("repl", &["NAME"]),
    ("dag run", &["NAME", "plan.json"]),
    ("dta list", &[""]),
    ("dta describe", &["blank", "NAME"]),
    ("dta new", &["NAME"]),
    ("dta run", &["blank --input inv.json --yes", "blank --input NAME", "NAME --input inv.json"]),
    ("dta verify", &["last", "NAME"]),
    ("edit add_aria_attribute", &["--path NAME --line 1 --name a --new b"]),
    ("edit update_class_name", &["--path NAME --line 1 --old a --new b"]),
    ("edit update_import", &["--path NAME --line 1 --old a --new b"]),
    ("edit update_prop_value", &["--path NAME --line 1 --name a --new b"]),
    ("edit update_style_value", &["--path NAME --line 1 --name a --new b"]),
    (
        "edit update_text_content",
        &["--path site/NAME.html --line 1 --old old --new TEXT", "--path NAME --line 1 --old a --new b"],
    ),
    ("edit find", &["text --glob **/*.html", "NAME"]),
    ("fleet plan", &["fleet.toml -o -", "NAME"]),
    ("fleet work", &["NAME"]),
    ("fleet submit", &["NAME --engine slurm"]),
    ("fleet status", &["NAME"]),
    ("fleet collect", &["NAME"]),
    ("fleet rollback", &["NAME"]),
    ("gate command", &["-- frob TEXT", "-- rm -rf TEXT"]),
    ("gate tool", &["NAME"]),
    ("gate edit", &["NAME"]),
    ("gate explain command", &["-- frob TEXT"]),
    ("gate explain tool", &["NAME"]),
    ("gate explain edit", &["NAME"]),
    ("gate hook", &["NAME"]),
    ("llm capabilities", &["NAME"]),
    ("llm ping", &["NAME"]),
    ("llm probe", &["NAME"]),
    ("llm record", &["NAME"]),
    ("mcp", &["--http NAME"]),
    ("mcp approve", &["NAME", "--server NAME"]),
    ("mcp install", &["NAME"]),
    ("planner plan", &["NAME"]),
    ("planner validate", &["NAME", "plan.json"]),
    ("runs list", &["", "--state NAME"]),
    ("runs stats", &["--workflow NAME", "NAME"]),
    ("runs show", &["last", "last --canonical", "NAME"]),
    ("runs agents", &["last", "NAME"]),
    ("runs report", &["last", "last -o .git/NAME", "NAME"]),
    ("runs verify", &["last", "NAME"]),
    ("runs export", &["last -o none/NAME", "NAME"]),
    ("runs commit", &["last", "NAME"]),
    ("runs attest", &["last", "NAME"]),
    ("runs import", &["archive.nrv-run", "NAME"]),
    ("runs remove", &["NAME --yes"]),
    ("resume", &["last", "NAME"]),
    ("replay", &["last", "NAME"]),
    ("verify", &["last", "NAME"]),
    ("rollback", &["last --dry-run", "NAME"]),
    ("recover", &["--NAME"]),
    ("hooks install", &["--dry-run"]),
    ("init", &["--dry-run"]),
    ("doctor", &["", "--root NAME"]),
    ("docs", &["NAME"]),
    ("definitions", &["none/NAME"]),
    ("completions", &["NAME"]),
    ("man", &["NAME"]),
];

/// Commands that show nothing of unknown origin, each with the reason.
const PLAIN: &[(&str, &str)] = &[
    ("edit tools", "it shows the schemas of the program"),
    ("runs gc", "it shows ids and numbers"),
    ("hooks status", "it shows words of the program"),
    ("hooks remove", "it shows words of the program"),
];

/// A text as a string of Rhai, JSON and TOML.
fn quoted(text: &str) -> String {
    let plain = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
    let shown = |c: char| if plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    format!("\"{}\"", text.chars().map(shown).collect::<String>())
}

/// A workspace whose policy, scripts, adapter, patches and names of files all hold the text.
fn hostile() -> Site {
    let (text, name) = (quoted(TEXT), quoted(NAME));
    let site = Site::new(1).policy(&format!(
        "[paths]\ndeny = [{name}]\n[[exec.allow]]\nprefix = ['sh']\n[[commitments]]\ndescription = {text}\n\
         assertion = {{ file_exists = {name} }}\n[[gates.destructive.rule]]\nid = 'mine'\nprefix = ['frob']\nreason = {text}\n"
    ));
    let header = format!(
        "/// Doc {}\nconst WORKFLOW = #{{ name: {text}, description: {text}, args: #{{ type: \"object\", properties: #{{ a: #{{ \
         type: \"string\", description: {text}, \"default\": {text} }} }} }}, permissions: #{{ write: [\"n.txt\", {name}], \
         exec: [\"sh\", {text}], llm: [{text}] }} }};\n",
        NAME.replace('\u{85}', "")
    );
    let body =
        format!("nrv.ui.table([#{{ {text}: {text} }}]); nrv.ui.step({text}); nrv.apply.create(\"n.txt\", {text});");
    let fails = "nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"printf '\\\\033[31mX\\\\033[2J'; exit 3\"] });";
    site.script("scripts/h.rhai", &format!("{header}print({text}); {body} {fails} nrv.gate.require(false, {text});"));
    site.script("scripts/ok.rhai", &format!("{header}{body} nrv.ui.show(#{{ {text}: {text} }}); #{{ a: {text} }}"));
    site.script("scripts/t.rhai", &format!("throw {text};"));
    site.script("scripts/bad.rhai", &format!("let {NAME} = ;"));
    site.write("scripts/ok.test/first/case.json", format!("{{\"x\": {text}}}"));
    let adapter = format!(
        "//! Doc {}\nconst ADAPTER = #{{ name: \"blank\", version: \"1.0\", summary: {text}, glob: \"**/*.html\", params: #{{ type: \"object\", \
         description: {text} }}, counts: #{{ lines: {text} }}, work: \"lines\" }};\nfn discover(input, files) {{ #{{ lines: files.len }} }}\n\
         fn propose(input, path, text) {{ text + \"z\" }}\nfn measure(input, path, text) {{ #{{ lines: 0 }} }}\n\
         fn expect(baseline, after) {{ [{text}] }}\n",
        NAME.replace('\u{85}', "")
    );
    site.write("dta/blank.rhai", adapter);
    site.write(&format!("site/{NAME}.html"), format!("<p>old {TEXT}</p>\n"));
    site.write("p.patch", format!("--- a/{NAME}\n+++ b/{NAME}\n@@ -1 +1 @@\n-no {TEXT}\n+new {TEXT}\n"));
    site.write(
        "q.patch",
        format!("--- a/site/a/p0.html\n+++ b/site/a/p0.html\n@@ -1 +1 @@\n-no {TEXT}\n+new {TEXT}\n"),
    );
    site.write("plan.json", format!("{{\"format\": 1, \"x\": {text}}}"));
    site.write(
        "inv.json",
        format!("{{\"target\": {{\"repo_path\": \".\", \"glob\": \"**/*.html\"}}, \"params\": {{}}, \"x\": {text}}}"),
    );
    site.write("fleet.toml", format!("name = 'f'\nscript = {text}\n[[repository]]\nname = {text}\nurl = {text}\n"));
    site.write("archive.nrv-run", TEXT);
    site.commit();
    site.nrv(&["trust", "--yes"]).exits(0);
    site
}

/// The part of an output that a terminal would take for more than text: none of it is a style of the program's own.
fn harmful(ran: &Ran) -> Option<String> {
    let own = Regex::new("\u{1b}\\[(?:[0-4]|2[2-4]|3[1-6]|39|9[1-7])?m").unwrap();
    let shown = format!("{}\n{}", ran.stdout, ran.stderr);
    let at = shown.find("\u{1b}[31mX").or_else(|| {
        let plain = own.replace_all(&shown, |found: &regex::Captures<'_>| " ".repeat(found[0].len()));
        let is_harmful = |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202e}' | '\u{2066}');
        plain.find(is_harmful)
    })?;
    Some(shown[shown[..at].char_indices().rev().nth(60).map_or(0, |(start, _)| start)..].chars().take(120).collect())
}

#[test]
fn no_command_shows_what_moves_the_cursor_or_deceives_a_reader() {
    let site = hostile();
    for (command, forms) in SHOWING {
        for form in *forms {
            let words = command.split(' ').chain(form.split(' ').filter(|word| !word.is_empty()));
            let words: Vec<String> = words.map(|word| word.replace("NAME", NAME).replace("TEXT", TEXT)).collect();
            for style in [&["--color=always"][..], &["--color=always", "--json"]] {
                let arguments: Vec<&str> = style.iter().copied().chain(words.iter().map(String::as_str)).collect();
                let found = harmful(&site.nrv(&arguments));
                assert_eq!(found, None, "{command} {form} {style:?}");
            }
        }
    }
}

/// A server of tools that says its argument wherever it may say something. In its second argument's mode it fails.
const SERVER: &str = r#"
import json, sys
text, mode = json.loads(sys.argv[1]), sys.argv[2]
sys.stderr.write(text + "\n")
sys.stderr.flush()
count = {"name": "count", "title": text, "description": text, "annotations": {"readOnlyHint": True, "title": text},
         "inputSchema": {"type": "object", "description": text, "properties": {text: {"type": "string", "description": text}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        result = {"protocolVersion": text if mode == "version" else "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": text, "version": text}, "instructions": text}
    elif method == "tools/list":
        result = {"tools": [count, {"name": text, "inputSchema": {"type": "object"}}]}
    else:
        result = {"content": [{"type": "text", "text": text}], "isError": mode == "tool", "structuredContent": {text: text}}
    answer = {"error": {"code": -1, "message": text, "data": text}} if mode == method else {"result": result}
    if method not in ("initialize", "tools/list", "tools/call"):
        answer = {"error": {"code": -32601, "message": text}}
    if mode == "junk":
        print(text, flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
    if mode == "ends":
        sys.exit(3)
"#;

/// A program that answers in place of a model: with the text, with actions of an agent that hold it, or with a failure that tells it.
const MODEL: &str = r#"
import json, sys
text, mode = json.loads(sys.argv[1]), sys.argv[2]
actions = [{"id": text, "tool": text, "params": {text: text}}, {"id": "2", "tool": "apply_create", "params": {"path": text, "text": text}}]
if mode == "fails":
    sys.exit(text)
said = json.dumps({"message": text, "actions": actions}, ensure_ascii=False) if mode == "acts" else text
print(json.dumps({
    "errs": {"error": {"kind": "invalid_request", "message": text}},
    "pieces": {"token": text},
}.get(mode, {"reply": {"text": said, "model": text, "finish": text if mode == "ends" else "stop"}})))
"#;

/// Looks at what these commands show.
#[track_caller]
fn shows_nothing_harmful(site: &Site, forms: &[&str], what: &str) {
    for form in forms {
        let arguments: Vec<&str> = ["--color=always"].into_iter().chain(form.split(' ')).collect();
        let ran = site.nrv(&arguments);
        assert_eq!(harmful(&ran), None, "{what}: {form}");
    }
}

#[test]
fn no_server_of_tools_writes_to_the_terminal() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("server.py", SERVER);
    let policy = |mode: &str| {
        let text = quoted(&quoted(TEXT));
        let policy = format!(
            "[mcp.servers.odd]\ncommand = ['/usr/bin/python3', 'server.py', {text}, '{mode}']\ntools = ['count']\n"
        );
        site.write("nrv.toml", policy);
        site.nrv(&["trust", "--yes"]).exits(0);
    };
    site.script(
        "scripts/use.rhai",
        "const WORKFLOW = #{ permissions: #{ calls: [\"mcp.odd.count\"] } }; let odd = nrv.mcp(\"odd\"); nrv.ui.show(odd.tools());
         let said = odd.invoke(\"count\", #{}); nrv.ui.show(said); nrv.ui.step(said.text); throw said.text;",
    );
    policy("fine");
    let approved = site.nrv(&["--color=always", "mcp", "approve", "--yes"]).exits(0);
    assert!(approved.stdout.contains("Y") || approved.stderr.contains("Y"), "the definitions are shown");
    site.commit();
    let forms = [
        "mcp approve --dry-run",
        "run scripts/use.rhai --allow-dirty",
        "runs show last",
        "runs report last",
        "replay last",
    ];
    for mode in ["fine", "version", "initialize", "tools/list", "tools/call", "tool", "junk", "ends"] {
        policy(mode);
        shows_nothing_harmful(&site, &forms, mode);
    }
}

#[test]
fn no_model_writes_to_the_terminal() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("model.py", MODEL);
    let model = site.path("model.py");
    let head = "const WORKFLOW = #{ permissions: #{ write: [\"**\"], llm: [\"*\"] } };";
    let ask =
        "let said = nrv.llm.complete(#{ prompt: \"x\", max_tokens: 9 }); nrv.ui.step(said.text); throw said.text;";
    let fits = "nrv.llm.complete(#{ prompt: \"x\", max_tokens: 9, schema: #{ type: \"object\", required: [\"a\"] } });";
    let text = quoted(TEXT);
    let converse = format!(
        "let a = nrv.agent.summon(#{{ name: {text}, assignment: {text}, commitments: [#{{ description: {text}, assertion: #{{ \
         file_exists: \"no\" }} }}] }}); nrv.ui.show(nrv.agent.converse(a.id, \"json\", #{{ request: {text}, max_turns: 1 }}));"
    );
    for (name, body) in [("ask", ask), ("fits", fits), ("converse", &converse)] {
        site.script(&format!("scripts/{name}.rhai"), &format!("{head}{body}"));
    }
    for mode in ["says", "acts", "fails", "errs", "pieces", "ends"] {
        let (path, text) = (quoted(model.to_str().unwrap()), quoted(&quoted(TEXT)));
        site.write("nrv.toml", format!(
            "[llm]\ndefault = 'odd'\n[llm.providers.odd]\ndialect = 'command'\nmodel = 'm'\nprogram = ['/usr/bin/python3', {path}, {text}, '{mode}']\n"
        ));
        site.nrv(&["trust", "--yes"]).exits(0);
        let own = ["llm probe", "llm capabilities", "planner plan --goal x"];
        shows_nothing_harmful(&site, &own, mode);
        for script in ["ask", "fits", "converse"] {
            let run = format!("run scripts/{script}.rhai --allow-dirty --yes");
            let forms = [run.as_str(), "runs show last", "runs agents last", "runs report last", "replay last"];
            shows_nothing_harmful(&site, &forms, mode);
        }
    }
}

#[test]
fn every_command_is_fed_such_a_text_or_excused() {
    let all = commands(&Site::empty());
    let has_more = |path: &[String]| all.iter().any(|(other, _)| other.len() > path.len() && other.starts_with(path));
    let known: Vec<&str> = SHOWING.iter().map(|(name, _)| *name).chain(PLAIN.iter().map(|(name, _)| *name)).collect();
    for (path, _) in &all {
        let name = path.join(" ");
        assert!(has_more(path) || known.contains(&name.as_str()), "`{name}` stands in no table");
    }
    for name in known {
        assert!(all.iter().any(|(path, _)| path.join(" ") == name), "there is no command `{name}`");
    }
}
