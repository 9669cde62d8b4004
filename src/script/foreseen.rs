//! The permissions and budgets of a header that the policy of the workspace does not give, known before anything runs.

use super::load::Loaded;
use base::{
    error::{Code, Error, Location},
    path::RepoPath,
};
use system::policy::Policy;

/// The rule of such a warning.
const RULE: &str = "beyond_policy";

/// The characters of a pattern, which stands for more than one path.
const PATTERN: &[char] = &['*', '?', '[', '{', '!'];

/// A warning for each thing that the header asks for and the policy refuses in any case.
///
/// Patterns are not compared with patterns, and with no provider of language models recorded replies answer.
pub(super) fn beyond_policy(loaded: &Loaded, policy: &Policy) -> Vec<Error> {
    if loaded.is_module {
        return Vec::new();
    }
    let ceiling = &loaded.header.ceiling;
    let warning = |place: &str, message: String, hint: String| {
        let warning = Error::new(Code::PermissionDenied, message).detail("rule", RULE).hint(hint);
        at(warning, loaded.places.get(place))
    };
    let mut found = Vec::new();
    for program in ceiling.exec.iter().filter(|program| *program != "*") {
        if let Some(refusal) = policy.program_refusal(program) {
            found.push(warning("permissions.exec", refusal.reason, refusal.remediation));
        }
    }
    for path in ceiling.write.iter().filter(|path| !path.contains(PATTERN)) {
        let path = RepoPath::parse(path).ok();
        if let Some(refusal) = path.and_then(|path| policy.write_refusal(&path)) {
            found.push(warning("permissions.write", refusal.reason, refusal.remediation));
        }
    }
    let tools = policy.mcp_calls();
    for call in ceiling.calls.iter().filter(|call| call.starts_with("mcp.") && !tools.contains(call)) {
        let message = format!("the policy has no tool `{call}`");
        found.push(warning(
            "permissions.calls",
            message,
            "name its server and the tool in `[mcp.servers.NAME]`".to_owned(),
        ));
    }
    let providers = &policy.settings().llm.providers;
    for name in ceiling.llm.iter().filter(|name| *name != "*" && !providers.is_empty()) {
        if !providers.contains_key(name) {
            let message = format!("the policy has no provider `{name}`");
            found.push(warning("permissions.llm", message, format!("describe it in `[llm.providers.{name}]`")));
        }
    }
    // A header that is content with less needs no word about a default that nobody chose.
    for (key, wanted, most) in ceiling.budget.above(&policy.settings().budget) {
        let key = format!("budget.{key}");
        if !policy.is_set(&key) {
            continue;
        }
        let message = format!("`{key}` of the header is {wanted}, and the policy allows {most}");
        let hint = format!("the limit comes from {}", policy.origin(&key));
        found.push(warning(&key, message, hint));
    }
    found
}

/// The error with its place, if that is known.
pub(super) fn at(error: Error, place: Option<&Location>) -> Error {
    match place {
        Some(place) => error.at(place.clone()),
        None => error,
    }
}
