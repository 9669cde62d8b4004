//! The policy on language models: in calls of a run, on the command line, and in the documentation.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use nrv::{
    Call, Code, Context, Error, Host, Options, Policy, Position, Request, Silent, Workspace,
    base::call::Ask,
    gate,
    llm::dialect::PROVIDERS,
    system::policy::{Ceiling, DIALECTS, FILE},
};
use serde_json::Value;

use crate::{repository, support::site::Site};

/// A server that does not exist; nothing may reach it.
const LOCAL: &str =
    "[llm.providers.local]\ndialect = 'openai_chat'\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'tiny'\n";

/// A token of a well-known form that no one has; in pieces, so that no scanner takes this file for a leak.
fn canary() -> String {
    ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
}

fn ask(prompt: &str) -> Call {
    let ask = Ask { prompt: Some(prompt.to_owned()), max_tokens: Some(8), ..Ask::default() };
    Call::LlmComplete(Box::new(ask))
}

/// Makes a call in a run whose script's header permits these providers; returns its result.
fn performed(site: &Site, permitted: &[&str], call: Call) -> Result<Value, Error> {
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let llm = permitted.iter().map(|name| (*name).to_owned()).collect();
    let policy = context.policy.tightened(&Ceiling { llm, ..Ceiling::default() }).unwrap();
    let request = Request { policy, ..Request::program(&context, "ask") };
    let mut host = Host::start(&context, request, &mut Silent).unwrap();
    let outcome = host.perform(&Position::nth(1), call, &mut Silent);
    host.finish(outcome.clone(), &mut Silent).unwrap();
    outcome
}

#[test]
fn a_provider_that_the_header_does_not_permit_is_not_asked() {
    for (policy, permitted) in [("", &[][..]), (LOCAL, &["heuristic"]), (LOCAL, &[])] {
        let site = Site::new(0).policy(policy);
        for call in [ask("hi"), Call::LlmCapabilities { provider: None }] {
            let error = performed(&site, permitted, call).unwrap_err();
            assert_eq!((error.code(), error.code().exit_code()), (Code::PermissionDenied, 3), "{policy}");
            assert!(error.hint_text().unwrap().starts_with("add `permissions: #{ llm: [\""), "{error:?}");
        }
    }
}

#[test]
fn a_provider_that_the_header_permits_is_not_blocked() {
    for (policy, permitted) in [("", &["heuristic"][..]), (LOCAL, &["local"]), (LOCAL, &["*"])] {
        let outcome = performed(&Site::new(0).policy(policy), permitted, ask("hi"));
        assert_ne!(outcome.map_err(|error| error.code()), Err(Code::PermissionDenied));
    }
}

#[test]
fn where_none_is_configured_the_only_provider_that_the_header_names_is_meant() {
    let error = performed(&Site::new(0), &["local"], ask("hi")).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::NotFound, "there is no provider `local`"));
}

#[test]
fn a_request_that_tells_a_secret_waits_for_a_confirmation() {
    let site = Site::new(0).policy(LOCAL);
    let error = performed(&site, &["local"], ask(&format!("use {}", canary()))).unwrap_err();
    assert_eq!(error.code(), Code::Suspended, "{error}");
    assert!(!format!("{error:?}").contains(&canary()));
    let site = Site::new(0).policy(&format!("{LOCAL}[gates.secrets]\ndecision = 'block'"));
    let error = performed(&site, &["local"], ask(&canary())).unwrap_err();
    assert_eq!((error.code(), &error.details()["gates"]), (Code::Blocked, &serde_json::json!(["secrets"])));
}

#[test]
fn a_wrong_policy_is_refused_by_every_command_with_its_line() {
    let site = Site::new(0).policy("[llm]\ndefault = 'locl'\n[llm.providers.local]\ndialect = 'heuristic'\n");
    let ran = site.nrv(&["gate", "command", "--", "ls"]).exits(1);
    assert!(ran.stderr.contains("line 2 of `nrv.toml`") && ran.stderr.contains("did you mean `local`?"), "{ran:?}");
    let url = LOCAL.replace("/v1", &format!("/{}", canary()));
    let ran = Site::new(0).policy(&url).nrv(&["gate", "command", "--", "ls"]).exits(1);
    assert!(ran.stderr.contains("holds what looks like a key") && !ran.stderr.contains(&canary()), "{ran:?}");
}

#[test]
fn the_policy_knows_every_dialect_of_a_server() {
    let mut known: Vec<&str> = PROVIDERS.iter().map(|dialect| dialect.name()).chain(["command", "heuristic"]).collect();
    known.sort_unstable();
    assert_eq!(DIALECTS, known);
}

#[test]
fn policies_that_pages_show_can_be_used() {
    let page = repository::text("docs/models.md").expect("pages are UTF-8");
    let shown: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!shown.is_empty());
    for text in shown {
        let policy = Policy::parse(text, FILE).unwrap_or_else(|error| panic!("{error}\n{text}"));
        gate::Rules::of(&policy).unwrap();
    }
}

#[test]
fn a_script_that_asks_a_model_without_leave_ends_with_3() {
    let site = Site::new(0).policy(LOCAL);
    let script = |header: &str| {
        format!(
            "const WORKFLOW = #{{ name: \"ask\", {header} }};\ntry {{ nrv.llm.complete(#{{ prompt: \"hi\", max_tokens: 8 }}) }} catch {{ 1 }}\n"
        )
    };
    site.script("ask.rhai", &script("permissions: #{ llm: [\"heuristic\"] }"));
    let error = site.nrv(&["run", "ask.rhai", "--json"]).exits(3).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["details"]["gates"]),
        (&"permission_denied".into(), &serde_json::json!(["llm"]))
    );
    let help = site.nrv(&["run", "ask.rhai", "--help"]).exits(0);
    assert!(help.stdout.contains("May ask models of: heuristic"), "{help:?}");
}
