//! Tokens for repositories by https: each is for one host, and reaches git in a variable, never in an argument or a file.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use url::Url;

use base::error::{Code, Error};

/// The variable that says which variable has the token of which host: `HOST=VARIABLE`, with `USER@` before the host where the server wants
/// a certain user; several are separated by commas.
const TOKENS: &str = "NRV_GIT_TOKENS";

/// The variable of git's process that has the token.
const HELD: &str = "NRV_GIT_TOKEN";

/// The user of servers that look at the token alone.
const USER: &str = "x-access-token";

/// Words in the names of variables whose values nobody may see, and the length from which a value is a secret.
const SECRET: &[&str] = &["TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "_PAT"];
const SHORTEST: usize = 8;

/// One entry of the setting.
struct Entry<'e> {
    host: &'e str,
    user: &'e str,
    token: &'e str,
}

/// A text without the values of the variables that hold secrets.
pub fn without_secrets(text: &str, environment: &BTreeMap<String, String>) -> String {
    let is_secret = |name: &str| SECRET.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let own = entries(environment).unwrap_or_default();
    // As a header of HTTP has it.
    let headers: Vec<String> =
        own.iter().map(|entry| STANDARD.encode(format!("{}:{}", entry.user, entry.token))).collect();
    let values =
        environment.iter().filter(|(name, _)| is_secret(name) && *name != TOKENS).map(|(_, value)| value.as_str());
    let values = values.chain(own.iter().map(|entry| entry.token)).chain(headers.iter().map(String::as_str));
    let mut values: Vec<&str> =
        values.flat_map(str::lines).map(str::trim).filter(|value| value.len() >= SHORTEST).collect();
    // One value can be the beginning of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(text.to_owned(), |text, value| text.replace(value, "[key]"))
}

/// Looks at the setting before any work: a machine that lacks a token has no trouble with a repository.
///
/// `invalid_input` if it is wrong or names a variable that is not set.
pub fn check_tokens(environment: &BTreeMap<String, String>) -> Result<(), Error> {
    entries(environment).map(drop)
}

/// The entries of the setting.
fn entries(environment: &BTreeMap<String, String>) -> Result<Vec<Entry<'_>>, Error> {
    let text = environment.get(TOKENS).map_or("", String::as_str);
    let mut found: Vec<Entry<'_>> = Vec::new();
    for (n, entry) in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).enumerate() {
        // What stands there may be the token itself.
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("entry {} of `{TOKENS}` is wrong: {why}", n + 1))
                .hint("give `HOST=VARIABLE`, such as `github.com=GITHUB_TOKEN`; several are separated by commas")
        };
        let (place, variable) = entry.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (user, host) = place.split_once('@').unwrap_or((USER, place));
        let is_user = !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        let is_host = Url::parse(&format!("https://{host}/")).is_ok_and(|url| {
            url.path() == "/" && url.username().is_empty() && !host.is_empty() && !host.ends_with(':')
        });
        if !is_user || !is_host {
            return Err(wrong("the part before `=` is no host, or no user and host"));
        }
        if found.iter().any(|other| other.host.eq_ignore_ascii_case(host)) {
            return Err(wrong("the host stands there twice"));
        }
        let token = environment.get(variable).map(|token| token.trim()).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| wrong("the variable that it names is not set"))?;
        if token.chars().any(char::is_control) {
            return Err(wrong("the variable that it names has more than one line"));
        }
        found.push(Entry { host, user, token });
    }
    Ok(found)
}

/// The variables of git's process for a repository: no credential helper, or the one of its host with the token.
///
/// Git asks the helper only when that host refuses a request without credentials, so that a redirect to another host gets none.
pub(super) fn variables(environment: &BTreeMap<String, String>, url: &str) -> Result<BTreeMap<String, String>, Error> {
    let mut settings = vec![("credential.helper".to_owned(), String::new())];
    let mut made = BTreeMap::new();
    let place = |text: &str| {
        let url = Url::parse(text).ok().filter(|url| url.scheme() == "https")?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()))
    };
    let wanted = place(url);
    let is_of = |entry: &Entry<'_>| wanted.is_some() && place(&format!("https://{}/", entry.host)) == wanted;
    if let Some(Entry { host, user, token }) = entries(environment)?.into_iter().find(is_of) {
        let helper =
            format!("!f() {{ test \"$1\" = get && printf 'username={user}\\npassword=%s\\n' \"${HELD}\"; }}; f");
        settings.push((format!("credential.https://{host}.helper"), helper));
        made.insert(HELD.to_owned(), token.to_owned());
    }
    made.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    for (n, (key, value)) in settings.into_iter().enumerate() {
        made.insert(format!("GIT_CONFIG_KEY_{n}"), key);
        made.insert(format!("GIT_CONFIG_VALUE_{n}"), value);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> BTreeMap<String, String> {
        let set = [
            (TOKENS, text),
            ("A_TOKEN", "canary-1 \n"),
            ("OTHER", "canary-2"),
            ("EMPTY", " "),
            ("LINES", "canary\ncanary"),
        ];
        set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_repository_gets_the_token_of_its_host_alone() {
        let set = set("GitHub.com=A_TOKEN, oauth2@git.example.com:8443=OTHER,[::1]:8443=OTHER");
        for (url, token) in [
            ("https://github.com/x", Some("canary-1")),
            ("https://github.com:443/x", Some("canary-1")),
            ("https://git.example.com:8443/x", Some("canary-2")),
            ("https://[::1]:8443/x", Some("canary-2")),
            ("https://git.example.com/x", None),
            ("https://github.com.example.com/x", None),
            ("ssh://git@github.com/x", None),
            ("file:///x", None),
            ("", None),
        ] {
            let made = variables(&set, url).unwrap();
            assert_eq!(made.get(HELD).map(String::as_str), token, "{url}");
            assert_eq!(made["GIT_CONFIG_COUNT"], if token.is_some() { "2" } else { "1" }, "{url}");
            assert!(made.iter().all(|(name, value)| name == HELD || !value.contains("canary")), "{made:?}");
        }
        assert_eq!(without_secrets("sent canary-1 and canary-2", &set), "sent [key] and [key]");
        let header = STANDARD.encode("x-access-token:canary-1");
        assert_eq!(without_secrets(&format!("Basic {header}."), &set), "Basic [key].");
    }

    #[test]
    fn a_wrong_setting_is_refused_without_the_token() {
        for text in [
            "github.com",
            "github.com=ghp_canary",
            "github.com:ghp_canary",
            "github.com=EMPTY",
            "a b=A_TOKEN",
            "u'x@h=A_TOKEN",
            "h=LINES",
            "::1=A_TOKEN",
            "h:=A_TOKEN",
            "h:99999=A_TOKEN",
            "h=A_TOKEN,H=OTHER",
        ] {
            let error = check_tokens(&set(text)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{text}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
    }
}
