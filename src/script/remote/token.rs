//! Tokens for repositories by https: each is for one host, and reaches git in a variable, never in an argument or a file.

use std::collections::BTreeMap;

use crate::base::error::{Code, Error};

/// The variable that says which variable has the token of which host: `HOST=VARIABLE`, with `USER@` before the host where the server wants
/// a certain user; several are separated by commas.
const TOKENS: &str = "NRV_GIT_TOKENS";

/// The user of servers that look at the token alone.
const USER: &str = "x-access-token";

/// Looks at the setting before any work: a machine that lacks a token has no trouble with a repository.
///
/// `invalid_input` if it is wrong or names a variable that is not set.
pub fn check_tokens(environment: &BTreeMap<String, String>) -> Result<(), Error> {
    variables(environment).map(drop)
}

/// The variables of git's process: no credential helper but one for each host, and the tokens.
///
/// Git asks the helper only when that host refuses a request without credentials, so that a redirect to another host gets none.
/// `invalid_input` if the setting is wrong or names a variable that is not set.
pub(super) fn variables(environment: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Error> {
    let mut helpers = vec![("credential.helper".to_owned(), String::new())];
    let mut made = BTreeMap::new();
    let text = environment.get(TOKENS).map_or("", String::as_str);
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    for (n, entry) in entries.enumerate() {
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("`{TOKENS}` is wrong at `{}`: {why}", entry.escape_debug()))
                .hint("give `HOST=VARIABLE`, such as `github.com=GITHUB_TOKEN`; several are separated by commas")
        };
        let (place, variable) = entry.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (user, host) = place.split_once('@').unwrap_or((USER, place));
        let is_plain = |text: &str, marks: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
        };
        if !is_plain(host, ".-:") || !is_plain(user, ".-_") {
            return Err(wrong("the host or the user has characters that neither has"));
        }
        let token = environment.get(variable).map(|token| token.trim()).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| wrong(&format!("the variable `{}` is not set", variable.escape_debug())))?;
        if token.chars().any(char::is_control) {
            return Err(wrong(&format!("the variable `{variable}` has more than one line")));
        }
        let name = format!("NRV_GIT_TOKEN_{n}");
        let helper =
            format!("!f() {{ test \"$1\" = get && printf 'username={user}\\npassword=%s\\n' \"${name}\"; }}; f");
        helpers.push((format!("credential.https://{host}.helper"), helper));
        made.insert(name, token.to_owned());
    }
    made.insert("GIT_CONFIG_COUNT".to_owned(), helpers.len().to_string());
    for (n, (key, value)) in helpers.into_iter().enumerate() {
        made.insert(format!("GIT_CONFIG_KEY_{n}"), key);
        made.insert(format!("GIT_CONFIG_VALUE_{n}"), value);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<BTreeMap<String, String>, Error> {
        let set = [(TOKENS, text), ("A_TOKEN", "canary-1 \n"), ("EMPTY", " "), ("LINES", "canary\ncanary")];
        variables(&set.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    #[test]
    fn each_host_has_a_helper_of_its_own() {
        assert_eq!(of("").unwrap()["GIT_CONFIG_COUNT"], "1");
        let made = of("github.com=A_TOKEN, oauth2@git.example.com:8443=A_TOKEN").unwrap();
        assert_eq!(made["GIT_CONFIG_COUNT"], "3");
        assert_eq!(made["GIT_CONFIG_KEY_2"], "credential.https://git.example.com:8443.helper");
        assert!(made["GIT_CONFIG_VALUE_2"].contains("username=oauth2\\n"), "{made:?}");
        assert_eq!(made["NRV_GIT_TOKEN_0"], "canary-1");
        assert!(!made["GIT_CONFIG_VALUE_1"].contains("canary"), "{made:?}");
    }

    #[test]
    fn a_wrong_setting_is_refused_without_the_token() {
        for text in ["github.com", "github.com=MISSING", "github.com=EMPTY", "a b=A_TOKEN", "u'x@h=A_TOKEN", "h=LINES"]
        {
            let error = of(text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{text}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
    }
}
