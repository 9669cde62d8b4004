//! The tables of a policy that a person has to trust before they are obeyed: those that start programs, those that send requests, and those
//! by which gates let more pass than by default. They have a hash, and words.
//!
//! Only values that differ from the built-in ones count, so that neither comments and order nor a later version's keys change the hash.

use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Adapter, Destructive, Exec, Gates, McpServer, Paths, Sandbox, Secrets, Settings,
    exec::quoted,
    provider::{COMMAND, LlmProvider},
    rules::{AllowedCommand, AllowedSecret, CommandException, Objection},
    table::Section,
};
use base::{error::Error, hash::Sha256, json};

/// The tables of a policy that a person has to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrusted {
    /// The hash of the tables.
    pub sha256: Sha256,
    /// Sentences, without final period, about the actions of the tables and the limits that they loosen.
    pub told: Vec<String>,
    /// True if they start programs.
    pub starts: bool,
    /// True if they send requests, or keys, to a server.
    pub sends: bool,
    /// True if gates let more pass by them than by default.
    pub weakens: bool,
}

impl Entrusted {
    /// The tables of these settings; none if they start nothing, send nothing and weaken nothing.
    pub(super) fn of(settings: &Settings) -> Result<Option<Self>, Error> {
        let providers: Map<String, Value> = (settings.llm.providers.iter())
            .filter_map(|(name, provider)| Some((name.clone(), table(provider)?)))
            .collect();
        let commitments: Vec<Value> =
            settings.commitments.iter().filter(|one| command(&one.assertion).is_some()).map(|one| json!(one)).collect();
        let is_program = |provider: &LlmProvider| provider.dialect == COMMAND;
        let adapters: Map<String, Value> = (settings.adapters.named.iter())
            .filter(|(_, adapter)| adapter.starts_program())
            .map(|(name, adapter)| (name.clone(), json!([adapter.program, adapter.measure_program])))
            .collect();
        let starts = !settings.exec.allow.is_empty()
            || !adapters.is_empty()
            || !commitments.is_empty()
            || !settings.language_servers.is_empty()
            || settings.mcp.servers.values().any(McpServer::starts_program)
            || settings.llm.providers.values().any(is_program);
        let sends = settings.llm.providers.values().any(LlmProvider::needs_trust_to_send)
            || settings.mcp.servers.values().any(|server| server.url.is_some());
        let weaker = weaker(settings);
        if !starts && !sends && weaker.is_empty() {
            return Ok(None);
        }
        let rule = |rule: &AllowedCommand| differing(json!(rule), &json!(AllowedCommand::default()));
        let mut exec = differing(json!(settings.exec), &json!(Exec::default()));
        exec["allow"] = settings.exec.allow.iter().map(rule).collect();
        let mut tables = json!({"exec": exec, "commitments": commitments, "providers": providers});
        if !adapters.is_empty() {
            tables["adapters"] = adapters.into();
        }
        if !settings.language_servers.is_empty() {
            tables["language_servers"] = json!(settings.language_servers);
        }
        if !settings.mcp.servers.is_empty() {
            tables["mcp_servers"] = json!(settings.mcp.servers);
        }
        let weakens = !weaker.is_empty();
        if weakens {
            tables["weaker"] = weaker.into();
        }
        let sha256 = json::sha256(&tables)?;
        Ok(Some(Entrusted { sha256, told: told(settings), starts, sends, weakens }))
    }

    /// The actions of the tables in a few words, such as "starts programs and weakens gates".
    pub fn verbs(&self) -> String {
        let all = [(self.starts, "starts programs"), (self.sends, "sends requests"), (self.weakens, "weakens gates")];
        all.iter().filter(|(does, _)| *does).map(|(_, verb)| *verb).collect::<Vec<_>>().join(" and ")
    }
}

/// The tables by which gates let more pass than by default. Rules of a policy's own only add to those that are built in.
fn weaker(settings: &Settings) -> Map<String, Value> {
    let Gates { destructive, secrets, .. } = settings.gates.clone();
    let paths = &settings.paths;
    let opens = !paths.allow_protected.is_empty() || opened(paths).next().is_some();
    let tables = [
        ("destructive", weaker_table(&Destructive { rule: Vec::new(), ..destructive })),
        ("secrets", weaker_table(&Secrets { rule: Vec::new(), ..secrets })),
        ("paths", opens.then(|| json!([paths.allow_protected, paths.read_deny]))),
    ];
    tables.into_iter().filter_map(|(name, table)| Some((name.to_owned(), table?))).collect()
}

/// The settings of a table that differ from the default ones, if some of them are weaker.
fn weaker_table<T: Section + PartialEq + Serialize>(own: &T) -> Option<Value> {
    (T::strictest(&T::preset(), own) != *own).then(|| differing(json!(own), &json!(T::preset())))
}

/// The globs that are closed to readers by default, and open under these paths.
fn opened(paths: &Paths) -> impl Iterator<Item = String> {
    Paths::preset().read_deny.into_iter().filter(|glob| !paths.read_deny.contains(glob))
}

impl Adapter {
    /// True if it is a program that a person has to trust.
    pub fn starts_program(&self) -> bool {
        !self.program.is_empty() || !self.measure_program.is_empty()
    }
}

impl LlmProvider {
    /// True if a person has to trust the policy before this provider is sent anything: it is a server elsewhere, or one that gets a key.
    pub fn needs_trust_to_send(&self) -> bool {
        let has_key = self.api_key_env.is_some() || self.api_key_file.is_some();
        self.dialect != COMMAND && self.base_url.as_ref().is_some_and(|url| has_key || !is_of_this_machine(url))
    }

    /// The key that it gets, in words.
    fn key(&self) -> Option<String> {
        let file = || self.api_key_file.as_ref().map(|file| format!("the key in the file `{file}`"));
        self.api_key_env.as_ref().map(|name| format!("the key in `{name}`")).or_else(file)
    }
}

/// True if a URL surely leads to this machine. Every odd form of it does not count.
fn is_of_this_machine(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => authority,
    };
    matches!(host, "localhost" | "[::1]") || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// The table of a provider as far as it counts; none if the provider needs no trust.
fn table(provider: &LlmProvider) -> Option<Value> {
    let LlmProvider { dialect, base_url, api_key_env, api_key_file, .. } = provider;
    match provider.dialect == COMMAND {
        true => Some(differing(json!(provider), &json!(LlmProvider::default()))),
        // Whatever else it says does not change who gets what.
        false => provider.needs_trust_to_send().then(|| {
            json!({"dialect": dialect, "base_url": base_url, "api_key_env": api_key_env, "api_key_file": api_key_file})
        }),
    }
}

/// The keys of a map whose values are not the default ones.
fn differing(value: Value, default: &Value) -> Value {
    match value {
        Value::Object(map) => map.into_iter().filter(|(key, value)| default.get(key) != Some(value)).collect(),
        other => other,
    }
}

/// The command of an assertion, if it is one.
fn command(assertion: &Value) -> Option<&Value> {
    assertion.get("command")
}

fn told(settings: &Settings) -> Vec<String> {
    let mut told: Vec<String> = settings.exec.allow.iter().map(rule).collect();
    for (name, adapter) in &settings.adapters.named {
        for program in [&adapter.program, &adapter.measure_program].into_iter().filter(|program| !program.is_empty()) {
            let program = program.join(" ");
            told.push(format!(
                "the adapter `{name}` starts `{program}`, without the network and the tree as far as the machine can confine it"
            ));
        }
    }
    for (name, server) in &settings.language_servers {
        let command = server.command.join(" ");
        told.push(format!(
            "a rename starts the language server `{name}`, `{command}`, without the network, on a view of the tree that is thrown away"
        ));
    }
    told.extend(settings.mcp.servers.iter().map(|(name, server)| mcp_server(name, server)));
    for one in &settings.commitments {
        let Some(command) = command(&one.assertion) else { continue };
        let words = [&command["program"]].into_iter().chain(command["args"].as_array().into_iter().flatten());
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        told.push(format!("every run starts `{}` when it ends", words.join(" ")));
    }
    told.extend(settings.llm.providers.iter().filter_map(|(name, provider)| asked(name, provider)));
    let commits = settings.commitments.iter().any(|one| command(&one.assertion).is_some());
    let serves = !settings.language_servers.is_empty() || settings.mcp.servers.values().any(McpServer::starts_program);
    if !settings.exec.allow.is_empty() || serves || commits {
        told.extend(loosened(&settings.exec));
    } else if settings.adapters.named.values().any(Adapter::starts_program) && !settings.exec.read.is_empty() {
        told.push(format!("adapters may read {}", named(&settings.exec.read)));
    }
    told.extend(weakened(settings));
    told
}

/// Sentences about the things that gates let pass beyond the defaults.
fn weakened(settings: &Settings) -> Vec<String> {
    let Settings { gates: Gates { destructive, secrets, .. }, paths, .. } = settings;
    let off = |enabled: bool, decision: Objection, off: &str, warns: &str| match (enabled, decision) {
        (false, _) => Some(off.to_owned()),
        (true, Objection::Warn) => Some(warns.to_owned()),
        (true, Objection::RequireConfirmation | Objection::Block) => None,
    };
    let (commands, texts) = ("destructive commands are not stopped", "secrets are not looked for");
    let mut told = Vec::new();
    told.extend(off(destructive.enabled, destructive.decision, commands, "destructive commands only get a warning"));
    told.extend(destructive.allow.iter().map(exception));
    if !destructive.disposable.is_empty() {
        told.push(format!("commands may delete {}", named(&destructive.disposable)));
    }
    told.extend(off(secrets.enabled, secrets.decision, texts, "secrets only get a warning"));
    told.extend(secrets.allow.iter().map(allowed_secret));
    told.extend(opened(paths).map(|glob| format!("scripts and agents may read `{glob}`")));
    told.extend(paths.allow_protected.iter().map(|path| format!("runs and agents may write `{path}`")));
    told
}

fn exception(one: &CommandException) -> String {
    let CommandException { rule, command, prefix, tokens, .. } = one;
    let commands = [
        (!command.is_empty()).then(|| format!("`{}`", words(command))),
        (!prefix.is_empty()).then(|| format!("`{} …`", words(prefix))),
        (!tokens.is_empty()).then(|| format!("commands with the words {}", named(tokens))),
    ];
    format!("the rule `{rule}` does not hold for {}", commands.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn allowed_secret(one: &AllowedSecret) -> String {
    let AllowedSecret { rule, path, hash } = one;
    let place = path.iter().map(|path| format!(" in `{path}`"));
    let hash = hash.iter().map(|hash| format!(" of the hash `{hash}`"));
    format!("findings of the rule `{rule}`{} are no secrets", place.chain(hash).collect::<String>())
}

/// The sentence about a server of tools.
fn mcp_server(name: &str, server: &McpServer) -> String {
    let tools = named(&server.tools);
    if let Some(url) = &server.url {
        let token = server.token_env.as_ref().map(|variable| format!(", with the token in `{variable}`"));
        let token =
            token.or_else(|| server.token_file.as_ref().map(|file| format!(", with the token in the file `{file}`")));
        return format!(
            "calls of the tools {tools} of the MCP server `{name}` go to `{url}`{}",
            token.unwrap_or_default()
        );
    }
    let network = if server.network { "with" } else { "without" };
    let mut told = format!(
        "the tools {tools} of the MCP server `{name}` start `{}`, {network} the network, on a view of the tree that is thrown away",
        server.command.join(" ")
    );
    if !server.env.is_empty() {
        told.push_str(&format!(", with the variables {} of your environment", named(&server.env)));
    }
    told
}

/// The sentence about requests to a provider; none if they need no trust.
fn asked(name: &str, provider: &LlmProvider) -> Option<String> {
    if provider.dialect == COMMAND {
        let key = provider.key().map(|key| format!(", and gets {key}")).unwrap_or_default();
        return Some(format!(
            "the provider `{name}` starts `{}`, which nothing confines{key}",
            provider.program.join(" ")
        ));
    }
    let url = provider.base_url.as_deref().filter(|_| provider.needs_trust_to_send())?;
    let key = provider.key().map(|key| format!(", with {key}")).unwrap_or_default();
    Some(format!("requests to the provider `{name}` go to `{url}`{key}"))
}

/// Sentences about the rights of commands beyond the defaults.
fn loosened(exec: &Exec) -> Vec<String> {
    let default = Exec::default();
    let mut told = Vec::new();
    if exec.sandbox == Sandbox::Off {
        told.push("commands are not confined: they reach all that you reach".to_owned());
    }
    if exec.network {
        told.push("commands may use the network".to_owned());
    }
    if !exec.read.is_empty() {
        told.push(format!("commands may read {}", named(&exec.read)));
    }
    let more: Vec<String> = exec.env.iter().filter(|name| !default.env.contains(name)).cloned().collect();
    if !more.is_empty() {
        told.push(format!("commands get the variables {} of your environment", named(&more)));
    }
    if !exec.scratch.is_empty() {
        told.push(format!("commands keep what they write to {}", named(&exec.scratch)));
    }
    told
}

fn named(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The words of a command, each with its alternatives.
fn words(words: &[Vec<String>]) -> String {
    let either = |words: &Vec<String>| match words.as_slice() {
        [one] => one.clone(),
        several => quoted(several),
    };
    words.iter().map(either).collect::<Vec<_>>().join(" ")
}

fn rule(rule: &AllowedCommand) -> String {
    let mut told = format!("runs may start `{} …`", words(&rule.prefix));
    if rule.from_workspace {
        told.push_str(", also as a file of the workspace");
    }
    if !rule.env.is_empty() {
        told.push_str(&format!(", with the variables {}", named(&rule.env)));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::{FILE, Policy};

    fn entrusted(text: &str) -> Option<super::Entrusted> {
        Policy::parse(text, FILE).unwrap().entrusted().cloned()
    }

    const RULE: &str = "[[exec.allow]]\nprefix = ['make', ['a', 'b']]\n";

    #[test]
    fn a_policy_that_starts_and_sends_nothing_needs_no_trust() {
        for text in [
            "",
            "[exec]\nnetwork = true\nsandbox = 'off'",
            "[llm.providers.a]\ndialect = 'ollama'\nbase_url = 'http://localhost'",
            "[llm.providers.a]\ndialect = 'ollama'\nbase_url = 'http://127.0.0.1:11434'",
            "[llm.providers.a]\ndialect = 'ollama'\nbase_url = 'http://[::1]:11434/v1'",
            "[llm.providers.a]\ndialect = 'heuristic'",
            "[[commitments]]\ndescription = 'a'\nassertion = { file_exists = 'b' }",
        ] {
            assert_eq!(entrusted(text), None, "{text}");
        }
    }

    #[test]
    fn a_server_elsewhere_and_one_that_gets_a_key_need_trust() {
        let told = |url: &str, key: &str| {
            let text = format!("[llm.providers.a]\ndialect = 'openai_chat'\nbase_url = '{url}'\n{key}");
            let entrusted = entrusted(&text).unwrap_or_else(|| panic!("{url}"));
            assert_eq!(
                (entrusted.starts, entrusted.sends, entrusted.verbs().as_str()),
                (false, true, "sends requests")
            );
            entrusted.told.concat()
        };
        assert_eq!(
            told("https://api.example.com/v1", "api_key_env = 'AWS_SECRET_ACCESS_KEY'"),
            "requests to the provider `a` go to `https://api.example.com/v1`, with the key in `AWS_SECRET_ACCESS_KEY`"
        );
        assert_eq!(
            told("http://127.0.0.1:8080", "api_key_file = '~/.netrc'"),
            "requests to the provider `a` go to `http://127.0.0.1:8080`, with the key in the file `~/.netrc`"
        );
        for url in [
            "https://api.example.com",
            "http://localhost.api.example.com",
            "http://127.0.0.1.api.example.com",
            "http://0.0.0.0",
            "http://192.168.0.7",
            "HTTP://api.example.com",
        ] {
            assert_eq!(told(url, ""), format!("requests to the provider `a` go to `{url}`"));
        }
    }

    #[test]
    fn an_odd_address_is_none_of_this_machine() {
        use super::is_of_this_machine as own;
        assert!(own("http://localhost") && own("https://127.1.2.3:80/v1") && own("http://[::1]:80?x"));
        for url in [
            "",
            "localhost",
            "http://",
            "http://localhost.",
            "http://127.0.0.1@a.example",
            "http://localhost:80@a.example",
            "http://127.0.0.1\\@a.example",
            "http://a.example/@localhost",
            "http://[::ffff:1.2.3.4]",
            "http://localhost:",
        ] {
            assert!(!own(url), "{url}");
        }
    }

    #[test]
    fn of_a_server_the_hash_covers_its_address_and_its_key() {
        const SERVER: &str = "[llm.providers.a]\ndialect = 'openai_chat'\nbase_url = 'https://a.example.com'\n";
        let hash = |text: &str| entrusted(text).unwrap().sha256;
        let of = |more: &str| hash(&format!("{SERVER}{more}"));
        for same in ["model = 'm'", "rate_per_min = 3", "stream = false"] {
            assert_eq!(of(same), of(""), "{same}");
        }
        assert_ne!(of("api_key_env = 'KEY'"), of(""));
        assert_ne!(of("api_key_env = 'KEY'"), of("api_key_env = 'OTHER'"));
        assert_ne!(hash(&SERVER.replace("a.example", "b.example")), of(""));
        let local = "[llm.providers.local]\ndialect = 'ollama'\nbase_url = 'http://localhost:1'\n";
        assert_eq!(hash(&format!("{local}{SERVER}")), of(""));
        assert_eq!(hash(&format!("{local}{RULE}")), hash(RULE));
    }

    #[test]
    fn the_hash_covers_what_starts_programs_and_nothing_else() {
        let hash = |text: &str| entrusted(text).unwrap().sha256;
        let rule = hash(RULE);
        for same in ["# c\n[budget]\ncalls = 7\n", "[exec]\nsandbox = 'auto'\n", "[paths]\ndeny = ['a']\n", "[llm]\n"] {
            assert_eq!(hash(&format!("{same}{RULE}")), rule, "{same}");
        }
        for other in [
            "[exec]\nnetwork = true\n",
            "[exec]\nread = ['~/.ssh']\n",
            "[exec]\nmemory = '1GiB'\n",
            "[[exec.allow]]\nprefix = ['c']\n",
            "[llm.providers.a]\ndialect = 'command'\nprogram = ['/x']\n",
            "[[commitments]]\ndescription = 'a'\nassertion = { command = { program = 'make' } }\n",
        ] {
            assert_ne!(hash(&format!("{other}{RULE}")), rule, "{other}");
        }
        assert_ne!(hash(&format!("{RULE}from_workspace = true")), rule);
    }

    #[test]
    fn gates_that_let_more_pass_than_by_default_need_trust() {
        const ALLOW: &str = "[[gates.destructive.allow]]\nrule = 'fs.rm'\nreason = 'r'\n";
        const SECRET: &str = "[[gates.secrets.allow]]\nrule = 'aws'\n";
        let commands = format!("{ALLOW}command = ['rm', '-rf', ['dist', 'out']]");
        let (prefix, tokens) = (format!("{ALLOW}prefix = ['rm']"), format!("{ALLOW}tokens = ['rm', 'x']"));
        let (path, hash) = (format!("{SECRET}path = 'tests/**'"), format!("{SECRET}hash = 'abcdef012345'"));
        let told = [
            ("[gates.destructive]\nenabled = false", "destructive commands are not stopped"),
            ("[gates.destructive]\ndecision = 'warn'", "destructive commands only get a warning"),
            (&commands, "the rule `fs.rm` does not hold for `rm -rf [\"dist\", \"out\"]`"),
            (&prefix, "the rule `fs.rm` does not hold for `rm …`"),
            (&tokens, "the rule `fs.rm` does not hold for commands with the words `rm`, `x`"),
            ("[gates.destructive]\ndisposable = ['dist', 'out']", "commands may delete `dist`, `out`"),
            ("[gates.secrets]\nenabled = false", "secrets are not looked for"),
            ("[gates.secrets]\ndecision = 'warn'", "secrets only get a warning"),
            (&path, "findings of the rule `aws` in `tests/**` are no secrets"),
            (&hash, "findings of the rule `aws` of the hash `abcdef012345` are no secrets"),
            ("[paths]\nread_deny = ['**/*.pem', '**/*.key', '**/id_*']", "scripts and agents may read `.env*`"),
            ("[paths]\nallow_protected = ['.envrc']", "runs and agents may write `.envrc`"),
        ];
        let mut hashes = std::collections::BTreeSet::new();
        for (text, words) in told {
            let found = entrusted(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.verbs().as_str(), found.told), ("weakens gates", vec![words.to_owned()]), "{text}");
            assert!(hashes.insert(found.sha256), "{text}");
            let both = entrusted(&format!("{text}\n{RULE}")).unwrap();
            assert_eq!(both.verbs(), "starts programs and weakens gates", "{text}");
            assert_ne!(both.sha256, entrusted(RULE).unwrap().sha256, "{text}");
        }
    }

    #[test]
    fn gates_that_stop_as_much_as_by_default_need_no_trust() {
        for text in [
            "[gates.destructive]\nenabled = true\ndecision = 'block'",
            "[gates.destructive]\ndecision = 'require-confirmation'",
            "[[gates.destructive.rule]]\nid = 'a'\nprefix = ['x']\nreason = 'r'\ndecision = 'warn'",
            "[gates.secrets]\ndecision = 'block'",
            "[[gates.secrets.rule]]\nid = 'a'\nregex = 'abc[0-9]+'",
            "[gates.tools]\nenabled = true\nallowed = ['apply']",
            "[gates.diff_size]\nwarn_lines = 9000\nblock_lines = 10000",
            "[paths]\nwrite = ['src/**']\ndeny = ['old']",
            "[paths]\nread_deny = ['.env*', '**/*.pem', '**/*.key', '**/id_*', 'private/**']",
        ] {
            assert_eq!(entrusted(text), None, "{text}");
            assert_eq!(
                entrusted(&format!("{text}\n{RULE}")).unwrap().sha256,
                entrusted(RULE).unwrap().sha256,
                "{text}"
            );
        }
    }

    #[test]
    fn what_tightens_a_policy_does_not_change_what_it_starts() {
        let policy = Policy::parse(&format!("[exec]\nnetwork = true\n{RULE}"), FILE).unwrap();
        for other in [policy.for_cases().unwrap(), policy.in_ci().unwrap(), policy.locked().unwrap()] {
            assert_eq!(other.entrusted(), policy.entrusted());
        }
    }

    #[test]
    fn it_is_told_in_words() {
        let text = "[exec]\nnetwork = true\nenv = ['PATH', 'TOKEN']\nread = ['~']\n[[exec.allow]]\nprefix = ['make', ['a', 'b']]\n\
                    from_workspace = true\n[llm.providers.own]\ndialect = 'command'\nprogram = ['sh', '-c', 'x']\n[[commitments]]\n\
                    description = 'd'\nassertion = { command = { program = 'make', args = ['a'] } }";
        assert_eq!(
            entrusted(text).unwrap().told,
            [
                "runs may start `make [\"a\", \"b\"] …`, also as a file of the workspace",
                "every run starts `make a` when it ends",
                "the provider `own` starts `sh -c x`, which nothing confines",
                "commands may use the network",
                "commands may read `~`",
                "commands get the variables `TOKEN` of your environment",
            ]
        );
    }
}
