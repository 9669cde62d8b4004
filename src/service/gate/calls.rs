//! The gate `calls`: of the calls that a program adds and the tools of servers, runs make only those that exist, are approved and are
//! permitted.

use super::{Decision, Finding, Gate, Offered, Rules, Subject};
use base::{
    call::{Call, tool_of_call},
    error::{self, Code},
};
use system::policy::Policy;

/// See the module's documentation.
pub(crate) struct Calls;

impl Gate for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn doc(&self) -> &'static str {
        "Calls that the program adds, and tools of MCP servers, are made if they exist, the policy approves of them and the script's header permits them."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        let Subject::Call { call, calls, .. } = subject else { return None };
        let finding = match call {
            Call::McpTools { server } => judge_server(server, calls, policy),
            call => judge(call.touches().custom?.name, calls, policy),
        };
        Some(finding.into_iter().collect())
    }
}

/// The finding on a question for the tools of a server; none if a run may use one of them.
fn judge_server(server: &str, offered: &[Offered<'_>], policy: &Policy) -> Option<Finding> {
    let of_server = |name: &str| tool_of_call(name).is_some_and(|(known, _)| known == server);
    let mut refusals =
        offered.iter().filter(|call| of_server(call.name)).map(|call| policy.call_refusal(call.name, true));
    match refusals.next() {
        Some(first) if refusals.all(|refusal| refusal.is_some()) => first.map(Finding::from),
        Some(_) => None,
        None => Some(unknown(
            format!("there is no MCP server `{}`", server.escape_debug()),
            "name one in `[mcp.servers.NAME]` of `nrv.toml`".to_owned(),
        )),
    }
}

fn judge(name: &str, offered: &[Offered<'_>], policy: &Policy) -> Option<Finding> {
    if let Some(call) = offered.iter().find(|call| call.name == name) {
        return policy.call_refusal(name, call.needs_permission).map(Finding::from);
    }
    let names = || offered.iter().map(|call| call.name);
    let remediation = match error::nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if offered.is_empty() => "this program adds no calls to nrv's own; one that embeds nrv may".to_owned(),
        None => format!("this program adds {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    Some(unknown(format!("there is no call `{}`", name.escape_debug()), remediation))
}

fn unknown(reason: String, remediation: String) -> Finding {
    let (decision, code, rule) = (Decision::Block, Code::NotFound, "calls".to_owned());
    Finding { decision, code, rule, reason, remediation, place: None }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{super::decide, *};
    use system::policy::{Ceiling, FILE};

    const OFFERED: &[Offered<'static>] = &[
        Offered { name: "tickets.create", needs_permission: true },
        Offered { name: "tickets.list", needs_permission: false },
    ];

    #[track_caller]
    fn check(policy: &str, name: &str, offered: &[Offered<'_>], expected: Option<(Code, &str)>) {
        let policy = Policy::parse(policy, FILE).unwrap().tightened(&Ceiling::default()).unwrap();
        let call = Call::Custom { name: name.to_owned(), params: Value::Null };
        let verdict = decide(
            &Subject::Call { call: &call, adapters: &[], calls: offered, tool: None },
            &policy,
            Rules::built_in(),
        );
        let error = verdict.into_error();
        let found = error.as_ref().map(|error| (error.code(), error.hint_text().unwrap_or_default()));
        assert_eq!(found, expected);
    }

    #[test]
    fn an_unknown_call_names_the_nearest_or_what_there_is() {
        check("", "tickets.craete", OFFERED, Some((Code::NotFound, "did you mean `tickets.create`?")));
        check("", "x.y", OFFERED, Some((Code::NotFound, "this program adds `tickets.create`, `tickets.list`")));
        let none = "this program adds no calls to nrv's own; one that embeds nrv may";
        check("", "tickets.create", &[], Some((Code::NotFound, none)));
    }

    #[test]
    fn a_call_that_needs_a_permission_says_how_to_get_it() {
        let hint = "add `permissions: #{ calls: [\"tickets.create\"] }` to the script's `WORKFLOW`";
        check("", "tickets.create", OFFERED, Some((Code::PermissionDenied, hint)));
        check("", "tickets.list", OFFERED, None);
        let hint = "add `tickets.list` to `calls.approved`, if runs may make it";
        check("[calls]\napproved = []", "tickets.list", OFFERED, Some((Code::NotApproved, hint)));
    }
}
