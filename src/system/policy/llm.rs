//! Language models: what a provider has to be given, which one a request goes to, and whether a script may ask it.
//!
//! Nothing is reached from here. What a server or a program answers is not the policy's to know.

use std::collections::BTreeMap;

use super::{
    Permissions, Policy, Refusal, exec, hash,
    provider::{COMMAND, DIALECTS, HEURISTIC, Llm, LlmProvider},
};
use base::error::{self, Code, Error, nearest};

/// The table of the providers.
const PROVIDERS: &str = "llm.providers";

/// The rule of a header.
const HEADER: &str = "header.permissions.llm";

impl Policy {
    /// The provider of a request that names this one, or none; `added` are those that the program brings along.
    ///
    /// It is the one that the request names, else `llm.default`, else the only one there is. Where there is none it is the only one
    /// that the script's header names, of which there may be recorded replies, else `heuristic`.
    pub fn llm_provider<'a>(&'a self, asked: Option<&'a str>, added: impl Iterator<Item = &'a str>) -> &'a str {
        let Llm { default, providers, .. } = &self.settings.llm;
        let mut known: Vec<&str> = providers.keys().map(String::as_str).chain(added).collect();
        known.sort_unstable();
        known.dedup();
        let only = match (known.as_slice(), self.ceilings.last().map(|header| header.llm.as_slice())) {
            ([only], _) => Some(*only),
            ([], Some([only])) if only != "*" => Some(only.as_str()),
            _ => None,
        };
        asked.or(default.as_deref()).or(only).unwrap_or(HEURISTIC)
    }

    /// This policy with another provider for requests that name none: one of `[llm.providers]`.
    pub fn asking(&self, provider: &str) -> Result<Policy, Error> {
        let known = self.settings.llm.providers.keys().map(String::as_str);
        if !self.settings.llm.providers.contains_key(provider) {
            let error = Error::new(Code::NotFound, format!("`nrv.toml` has no provider `{}`", provider.escape_debug()));
            let names: Vec<String> = known.clone().map(|name| format!("`{name}`")).collect();
            return Err(match (nearest(provider, known), names.as_slice()) {
                (Some(near), _) => error.hint(format!("did you mean `{near}`?")),
                (None, []) => error.hint("`[llm.providers.NAME]` adds one"),
                (None, names) => error.hint(format!("it has {}", names.join(", "))),
            });
        }
        let mut policy = self.clone();
        policy.settings.llm.default = Some(provider.to_owned());
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }

    /// The refusal of a provider that a script's header does not permit; none if all headers permit it. `heuristic` is no exception.
    ///
    /// The provider need not exist: a program may bring providers along of which the policy knows nothing.
    pub fn llm_refusal(&self, provider: &str) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.llm_refusal(provider));
        }
        let permits = |header: &Permissions| header.llm.iter().any(|name| name == provider || name == "*");
        if self.ceilings.iter().all(permits) {
            return None;
        }
        let names = exec::quoted(&[provider.to_owned()]);
        let meant = match self.settings.llm.providers.contains_key(provider) || provider == HEURISTIC {
            true => None,
            false => error::nearest(provider, self.settings.llm.providers.keys().map(String::as_str)),
        };
        Some(Refusal {
            code: Code::PermissionDenied,
            rule: HEADER.to_owned(),
            reason: format!("the model provider `{}` is not permitted by the script's header", provider.escape_debug()),
            remediation: match meant {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add `permissions: #{{ llm: {names} }}` to the script's `WORKFLOW`"),
            },
        })
    }
}

/// The first error in the settings: the key, and a phrase that goes on after it. `lines` has every key of the file.
pub(super) fn wrong(llm: &Llm, lines: &BTreeMap<String, usize>) -> Option<(String, String)> {
    let begun = lines.keys().filter_map(|key| key.strip_prefix(PROVIDERS)?.strip_prefix('.'));
    let mut names = begun.filter_map(|rest| rest.split('.').next());
    // A table without keys leaves nothing but its line.
    if let Some(empty) = names.find(|name| !llm.providers.keys().any(|known| known.split('.').next() == Some(name))) {
        return Some((format!("{PROVIDERS}.{empty}"), without_dialect()));
    }
    let found = llm.providers.iter().find_map(|(name, provider)| {
        let (inner, why) = named(name).or_else(|| wrong_provider(name, provider))?;
        let table = format!("{PROVIDERS}.{}", name.escape_debug());
        Some((if inner.is_empty() { table } else { format!("{table}.{inner}") }, why))
    });
    let unknown = |name: &&String| !llm.providers.contains_key(*name) && *name != HEURISTIC;
    found.or_else(|| {
        let name = llm.default.as_ref().filter(unknown)?;
        let advice = match error::nearest(name, llm.providers.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write `[{PROVIDERS}.NAME]`, or \"{HEURISTIC}\" for none"),
        };
        Some(("llm.default".to_owned(), format!("names no provider, `{}`: {advice}", name.escape_debug())))
    })
}

/// The error in a provider's name; none if the name is valid.
fn named(name: &str) -> Option<(&'static str, String)> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (name.is_empty() || !name.chars().all(plain))
        .then(|| ("", "is no name for a provider: use letters, digits, `-` and `_`".to_owned()))
}

fn without_dialect() -> String {
    let known = DIALECTS.iter().map(|dialect| format!("\"{dialect}\"")).collect::<Vec<_>>().join(", ");
    format!("lacks `dialect`, which is one of {known}")
}

/// The first error in a provider: the key in its table, and the reason. The key is empty for the table itself.
fn wrong_provider(name: &str, provider: &LlmProvider) -> Option<(&'static str, String)> {
    let LlmProvider { dialect, base_url, program, api_key_env, api_key_file, .. } = provider;
    let say = |key: &'static str, why: &str| Some((key, why.to_owned()));
    if dialect.is_empty() {
        return Some(("", without_dialect()));
    }
    if name == HEURISTIC && dialect != HEURISTIC {
        return say("", "has the name of the table of patterns, which reaches nothing: choose another one");
    }
    let has_key = api_key_env.is_some() || api_key_file.is_some();
    match dialect.as_str() {
        COMMAND if base_url.is_some() => say("base_url", "is for servers: a `command` has a `program`"),
        COMMAND => wrong_program(program),
        HEURISTIC if base_url.is_some() || !program.is_empty() || has_key => {
            say("", "has a `base_url`, a `program` or a key, but its dialect is \"heuristic\", which reaches nothing")
        }
        HEURISTIC => None,
        _ if !program.is_empty() => say("program", "is for the dialect \"command\": a server has a `base_url`"),
        _ if base_url.is_none() => {
            say("", "lacks `base_url`, which says where the server is, such as \"http://127.0.0.1:8080/v1\"")
        }
        _ => None,
    }
    .or_else(|| wrong_key(api_key_env.as_deref(), api_key_file.is_some()))
}

fn wrong_program(program: &[String]) -> Option<(&'static str, String)> {
    let Some(first) = program.first() else {
        let why = "lacks `program`, the program and its arguments, such as [\"my-model\", \"--json\"]";
        return Some(("", why.to_owned()));
    };
    // A run may write the workspace, and what answers runs outside of every view.
    exec::is_of_workspace(first).then(|| {
        let why = "names a file of the workspace, which runs may write: give an absolute path, or a name of the `PATH`";
        ("program", why.to_owned())
    })
}

/// A value is never shown: it may be the key itself.
fn wrong_key(variable: Option<&str>, has_file: bool) -> Option<(&'static str, String)> {
    let variable = variable?;
    let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !variable.starts_with(|c: char| c.is_ascii_digit());
    let why = match (is_name, has_file) {
        (false, _) => "is no variable's name: write the name, such as \"ANTHROPIC_API_KEY\", and never the key",
        (true, true) => "stands beside `api_key_file`: the key comes from one of them",
        (true, false) => return None,
    };
    Some(("api_key_env", why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::{Cassettes, Ceiling, FILE, LlmPrices};
    use super::*;

    const LOCAL: &str = "[llm.providers.local]\ndialect = 'openai_chat'\nbase_url = 'http://127.0.0.1:8080/v1'\n";
    const FAR: &str = "[llm.providers.far]\ndialect = 'anthropic'\nbase_url = 'https://api.example.com'\n";

    fn policy(text: &str) -> Policy {
        Policy::parse(text, FILE).unwrap()
    }

    #[test]
    fn providers_are_read_with_their_defaults() {
        let text = format!(
            "[llm]\ndefault = 'local'\ncassettes = 'auto'\n{LOCAL}model = 'tiny'\nprices = {{input = 3.0, output = 0.25}}\n\
             timeouts.read_ms = 5\n[llm.providers.mine]\ndialect = 'command'\nprogram = ['my-model', '--json']\n"
        );
        let policy = policy(&text);
        let llm = &policy.settings().llm;
        assert_eq!((llm.default.as_deref(), llm.cassettes), (Some("local"), Some(Cassettes::Auto)));
        let local = &llm.providers["local"];
        assert_eq!(local.prices, Some(LlmPrices { input: 3_000_000, cached: None, output: 250_000 }));
        assert_eq!((local.timeouts.read_ms, local.timeouts.total_ms, local.stream), (5, 600_000, true));
        assert_eq!(llm.providers["mine"].program, ["my-model", "--json"]);
        assert_eq!(policy.origin("llm.providers.local"), "line 4 of `nrv.toml`");
        assert_ne!(policy.sha256(), Policy::default().sha256());
    }

    #[test]
    fn every_dialect_can_be_configured() {
        for dialect in DIALECTS {
            let needs = match *dialect {
                COMMAND => "program = ['x']",
                HEURISTIC => "",
                _ => "base_url = 'https://a.example.com/v1'\napi_key_env = 'A_KEY'",
            };
            policy(&format!("[llm.providers.a]\ndialect = '{dialect}'\n{needs}"));
        }
    }

    #[track_caller]
    fn refused(text: &str, line: usize, message: &str) {
        let error = Policy::parse(text, FILE).unwrap_err();
        assert_eq!((error.code(), &error.details()["line"]), (Code::InvalidPolicy, &line.into()), "{error}");
        assert_eq!(error.message(), format!("line {line} of `nrv.toml` is refused: {message}"));
    }

    #[test]
    fn a_provider_has_what_its_dialect_needs_and_nothing_else() {
        let known = "\"anthropic\", \"command\", \"heuristic\", \"ollama\", \"openai_chat\", \"openai_responses\"";
        let lacks = format!("`llm.providers.a` lacks `dialect`, which is one of {known}");
        for (table, line) in [("[llm.providers.a]", 1), ("\n[llm.providers.a]\nmodel = 'x'", 2)] {
            refused(table, line, &lacks);
        }
        let a = |rest: &str| format!("[llm.providers.a]\n{rest}");
        let or = known.replace(", ", " or ");
        let wrong = format!("`llm.providers.a.dialect` must be {or}, not \"openai\"");
        refused(&a("dialect = 'openai'"), 2, &wrong);
        let url =
            "`llm.providers.a` lacks `base_url`, which says where the server is, such as \"http://127.0.0.1:8080/v1\"";
        refused(&a("dialect = 'ollama'"), 1, url);
        let program =
            "`llm.providers.a` lacks `program`, the program and its arguments, such as [\"my-model\", \"--json\"]";
        refused(&a("dialect = 'command'"), 1, program);
        refused(
            &a("dialect = 'command'\nprogram = ['tools/model']"),
            3,
            "`llm.providers.a.program` names a file of the workspace, which runs may write: give an absolute path, or a \
             name of the `PATH`",
        );
        refused(
            &a("dialect = 'command'\nprogram = ['x']\nbase_url = 'http://a'"),
            4,
            "`llm.providers.a.base_url` is for servers: a `command` has a `program`",
        );
        refused(
            &a("dialect = 'ollama'\nbase_url = 'http://a'\nprogram = ['x']"),
            4,
            "`llm.providers.a.program` is for the dialect \"command\": a server has a `base_url`",
        );
        refused(
            &a("dialect = 'heuristic'\napi_key_env = 'A'"),
            1,
            "`llm.providers.a` has a `base_url`, a `program` or a key, but its dialect is \"heuristic\", which reaches nothing",
        );
    }

    #[test]
    fn a_name_says_what_it_stands_for() {
        refused(
            "[llm.providers.\"a b\"]\ndialect = 'heuristic'",
            1,
            "`llm.providers.a b` is no name for a provider: use letters, digits, `-` and `_`",
        );
        refused(
            &LOCAL.replace("local", "heuristic"),
            1,
            "`llm.providers.heuristic` has the name of the table of patterns, which reaches nothing: choose another one",
        );
        refused(
            &format!("llm.default = 'locla'\n{LOCAL}"),
            1,
            "`llm.default` names no provider, `locla`: did you mean `local`?",
        );
        refused(
            "[llm]\ndefault = 'x'",
            2,
            "`llm.default` names no provider, `x`: write `[llm.providers.NAME]`, or \"heuristic\" for none",
        );
        policy("llm.default = 'heuristic'");
    }

    #[test]
    fn a_key_is_named_and_never_written_or_shown() {
        let key = ["sk", "-ant-", "0123456789"].concat();
        for (value, why) in [
            (format!("base_url = 'https://me:{key}@a.example.com'"), "without user, password"),
            (format!("base_url = 'https://a.example.com/?key={key}'"), "without user, password"),
            (format!("base_url = '{key}'"), "must be a URL such as"),
            (format!("base_url = 'ftp://{key}'"), "must be a URL such as"),
            (format!("api_key_env = '{key}'"), "is no variable's name"),
            (format!("api_key_file = '{key}'"), "must be an absolute path"),
            ("api_key_file = '~/../k'".to_owned(), "must be an absolute path"),
            ("api_key_file = '~'".to_owned(), "must be an absolute path"),
            ("api_key_env = 'A'\napi_key_file = '~/k'".to_owned(), "stands beside `api_key_file`"),
        ] {
            let url = if value.starts_with("base_url") { "" } else { "base_url = 'https://a.example.com'\n" };
            let text = format!("[llm.providers.a]\ndialect = 'anthropic'\n{url}{value}");
            let error = Policy::parse(&text, FILE).unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert!(!format!("{error:?}").contains(&key), "{error:?}");
        }
        for file in ["/run/secrets/key", "~/.config/nrv/key"] {
            policy(&format!("{FAR}api_key_file = '{file}'"));
        }
    }

    #[track_caller]
    fn asks(text: &str, asked: Option<&str>, added: &[&str], expected: &str) {
        assert_eq!(policy(text).llm_provider(asked, added.iter().copied()), expected);
    }

    #[test]
    fn a_request_goes_where_it_says_or_to_the_default_or_to_the_only_one() {
        let both = format!("{LOCAL}{FAR}");
        let with_default = format!("llm.default = 'far'\n{both}");
        asks(&with_default, Some("local"), &[], "local");
        asks(&with_default, None, &["mine"], "far");
        asks(LOCAL, None, &[], "local");
        asks(LOCAL, None, &["local"], "local");
        asks(LOCAL, None, &["mine"], "heuristic");
        asks("", None, &["mine"], "mine");
        asks(&both, None, &[], "heuristic");
        asks("", None, &[], "heuristic");
    }

    #[test]
    fn headers_permit_providers_by_name_and_change_none() {
        let open = policy(&format!("{LOCAL}{FAR}"));
        let header = |names: &[&str]| {
            let llm = names.iter().map(|name| (*name).to_owned()).collect();
            open.tightened(&Ceiling { llm, ..Ceiling::default() }).unwrap()
        };
        let rule = |policy: &Policy, name: &str| policy.llm_refusal(name).map(|refusal| refusal.rule);
        assert_eq!(rule(&open, "local"), None);
        assert_eq!(rule(&header(&["local"]), "local"), None);
        assert_eq!(rule(&header(&["local"]), "far").as_deref(), Some(HEADER));
        assert_eq!(rule(&header(&[]), "heuristic").as_deref(), Some(HEADER));
        assert_eq!(rule(&header(&["*"]).tightened(&Ceiling::default()).unwrap(), "far").as_deref(), Some(HEADER));
        assert_eq!(header(&["local"]).settings().llm, open.settings().llm);
        assert_ne!(header(&["local"]).sha256(), header(&[]).sha256());
    }

    #[track_caller]
    fn strictest(one: &str, other: &str) -> Llm {
        Policy::strictest(&policy(one), &policy(other)).unwrap().settings().llm.clone()
    }

    #[test]
    fn under_two_policies_the_providers_of_both_are_left() {
        let both = format!("{LOCAL}{FAR}");
        let left = |one: &str, other: &str| strictest(one, other).providers.into_keys().collect::<Vec<_>>();
        assert_eq!(left(&both, LOCAL), ["local"]);
        assert_eq!(left(LOCAL, FAR), [""; 0]);
        for other in [LOCAL.replace("8080", "8081"), LOCAL.replace("chat", "responses"), format!("{LOCAL}model = 'm'")]
        {
            assert_eq!(left(&other, LOCAL), [""; 0], "{other}");
        }
    }

    #[test]
    fn under_two_policies_the_smaller_limits_and_the_larger_prices_count() {
        let one = format!("{LOCAL}rate_per_min = 3\ntimeouts.total_ms = 9\nprices = {{input = 1, output = 5}}");
        let other = format!("{LOCAL}rate_per_min = 5\ntimeouts.total_ms = 7\nprices = {{input = 2, cached = 0.5}}");
        for (one, other) in [(&one, &other), (&other, &one)] {
            let local = strictest(one, other).providers.remove("local").unwrap();
            assert_eq!((local.rate_per_min, local.timeouts.total_ms), (Some(3), 7));
            let prices = LlmPrices { input: 2_000_000, cached: Some(1_000_000), output: 5_000_000 };
            assert_eq!(local.prices, Some(prices));
        }
        let word = |mode: &str| format!("llm.cassettes = '{mode}'");
        assert_eq!(strictest(&word("replay"), &word("record")).cassettes, Some(Cassettes::Replay));
        assert_eq!(strictest("budget.calls = 1", &word("off")).cassettes, Some(Cassettes::Off));
    }

    #[test]
    fn under_two_policies_no_request_goes_where_neither_would_send_it() {
        let with = |default: &str, rest: &str| format!("llm.default = '{default}'\n{rest}");
        let both = format!("{LOCAL}{FAR}");
        let default = |one: &str, other: &str| strictest(one, other).default;
        assert_eq!(default(&with("far", &both), &with("local", &both)).as_deref(), Some("far"));
        assert_eq!(default(&with("far", &both), &with("local", LOCAL)).as_deref(), Some("local"));
        assert_eq!(default(&with("far", &both), LOCAL).as_deref(), Some("far"), "it is not there any more");
        assert_eq!(default(&with("heuristic", &both), &with("far", &both)).as_deref(), Some("heuristic"));
    }
}
