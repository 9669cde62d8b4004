//! Agents that say that they are done while a commitment fails, in twenty ways: none is ever done.

use nrv::{
    Agents, Answer, Call, Code, Context, Error, Event, Host, Options, Positions, Question, Request, Silent, Sink,
    State, Workspace,
};
use serde_json::{Value, json};

use super::{HEAD, action, run, says, site};
use crate::support::{long, script::program};

/// A commitment that never holds.
const NEVER: &str = r#"#{ description: "never", assertion: #{ file_exists: "notes/never.txt" } }"#;

/// The replies of a model, and what the script does before and after the conversation.
struct Claim {
    name: &'static str,
    replies: Vec<Value>,
    before: &'static str,
    after: &'static str,
}

fn claim(name: &'static str, actions: Value) -> Claim {
    Claim { name, replies: vec![says("DONE", actions)], before: "", after: "" }
}

fn done() -> Value {
    action("report_done", json!({}))
}

fn claims() -> Vec<Claim> {
    let commit = |description: &str, assertion: Value| {
        action("commit", json!({"description": description, "assertion": assertion}))
    };
    let holds = json!({"file_exists": "nrv.toml"});
    vec![
        claim("it says so", json!([done()])),
        claim("it says so ten times", json!(vec![done(); 10])),
        claim("it only writes so", json!([])),
        claim("it commits to something that holds", json!([commit("never", holds.clone()), done()])),
        claim(
            "it commits to the same words with another proof",
            json!([commit("never", json!({"file_exists": "site/a/p0.html"})), done()]),
        ),
        claim(
            "it summons a child that has nothing to prove",
            json!([action("summon_servitor", json!({"name": "Bo"})), done()]),
        ),
        claim(
            "it summons a child that works",
            json!([action("summon_servitor", json!({"name": "Bo", "assignment": "claim"})), done()]),
        ),
        claim("it dismisses itself", json!([action("dismiss_servitor", json!({"id": "SELF"})), done()])),
        claim("it dismisses with a malformed id", json!([action("dismiss_servitor", json!({"id": "me"})), done()])),
        claim(
            "it edits the record",
            json!([action("apply_create", json!({"path": ".runs/x", "text": "done"})), done()]),
        ),
        claim("it edits the policy", json!([action("apply_create", json!({"path": "nrv.toml", "text": ""})), done()])),
        claim(
            "it writes beside the file",
            json!([action("apply_create", json!({"path": "notes/Never.txt", "text": ""})), done()]),
        ),
        claim("it calls an unknown tool", json!([action("mark_done", json!({})), action("done", json!({})), done()])),
        claim("it gives parameters to the claim", json!([action("report_done", json!({"state": "done"})), done()])),
        claim(
            "it reports between other actions",
            json!([done(), action("files_glob", json!({"patterns": ["**"]})), done()]),
        ),
        claim(
            "it commits twenty times",
            json!((0..20).map(|n| commit(&format!("c{n}"), holds.clone())).chain([done()]).collect::<Vec<_>>()),
        ),
        Claim {
            before: "nrv.agent.commit(ada.id, #{ description: \"slow\", assertion: #{ count: #{ pattern: \"zzz\", glob: \"**\", equals: 5 } }, timeout_ms: 1 });",
            ..claim("its check takes too long", json!([done()]))
        },
        Claim {
            before: "nrv.agent.commit(ada.id, #{ description: \"broken\", assertion: #{ json_valid: \"site/**\" } });",
            ..claim("another one fails", json!([done()]))
        },
        Claim {
            replies: vec![json!("{\"message\": \"done\", \"state\": \"done\"}")],
            ..claim("it replies with a state", json!([]))
        },
        Claim {
            after: "let bo = nrv.agent.summon(#{ name: \"Bo\", parent: ada.id }); nrv.agent.converse(bo.id, |reply| #{ message: \"\", actions: [#{ id: \"1\", tool: \"report_done\" }] }, #{ request: \"say that Ada is done\", max_turns: 1 });",
            ..claim("its child says so", json!([done()]))
        },
    ]
}

#[test]
fn none_of_twenty_ways_to_say_so_makes_an_agent_done() {
    let claims = claims();
    assert_eq!(claims.len(), 20);
    for Claim { name, replies, before, after } in long::sample(claims, 4) {
        let site = site(&replies);
        let text = format!(
            "let ada = nrv.agent.summon(#{{ assignment: \"work\", tools: [\"apply_create\"], commitments: [{NEVER}] }});\n{before}\n\
             let talk = nrv.agent.converse(ada.id, \"json\", #{{ request: \"work\", max_turns: 2, max_actions: 30 }});\n{after}\n\
             #{{ talk: talk, state: nrv.agent.get(ada.id).state, commitments: nrv.agent.get(ada.id).commitments.len() }}"
        );
        // The run fails, since the agent has not finished: what the script saw is printed.
        let text = text.replace(
            "#{ talk: talk",
            "print(`STATE ${nrv.agent.get(ada.id).state} ENDED ${talk.ended}`);\n#{ talk: talk",
        );
        let ran = run(&site, &text, &[]).exits(4);
        assert!(ran.stderr.contains("STATE working ENDED") && !ran.stderr.contains("ENDED done"), "{name}: {ran:?}");
        let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
        assert_eq!(agents["agents"][0]["state"], "failed", "{name}: {agents}");
        site.nrv(&["replay", "last"]).exits(0);
    }
}

#[test]
fn a_script_that_commits_for_an_agent_counts_alike_and_nothing_removes_it() {
    let site = site(&[says("DONE", json!([done()]))]);
    let text = format!(
        "{HEAD}let ada = nrv.agent.summon(#{{ assignment: \"work\" }});\nlet id = nrv.agent.commit(ada.id, {NEVER});\n\
         let again = nrv.agent.commit(ada.id, {NEVER});\n\
         nrv.agent.converse(ada.id, \"json\", #{{ request: \"work\", max_turns: 1 }});\nprint(`SAME ${{id == again}}`);"
    );
    site.script("scripts/agents.rhai", &text);
    let ran = site.nrv(&["run", "scripts/agents.rhai", "--yes", "--allow-dirty"]).exits(4);
    assert!(ran.stderr.contains("SAME true"), "{ran:?}");
}

/// Dismisses whoever says that it is done, while its commitments are looked at.
struct Dismisser(Agents, Vec<&'static str>);

impl Sink for Dismisser {
    fn event(&mut self, event: Event) {
        match event {
            Event::AgentVerifying { agent } => self.0.dismiss(&agent.id),
            Event::AgentDone { .. } => self.1.push("done"),
            Event::AgentDismissed { .. } => self.1.push("dismissed"),
            _ => {}
        }
    }

    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}

#[test]
fn a_dismissal_cancels_a_verification_and_the_program_is_told_of_both_ends() {
    let site = site(&[]);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = |what: &'static str| {
        let told = told.clone();
        move |agent: &nrv::Agent| told.lock().unwrap().push(format!("{what} {}", agent.name))
    };
    let agents = Agents::default().on_summon(tell("summoned")).on_dismiss(tell("dismissed"));
    let options = Options { program: program(), agents: agents.clone(), ..Options::default() };
    let context = Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "agents"), &mut Silent).unwrap();
    let mut positions = Positions::default();
    let mut sink = Dismisser(agents, Vec::new());
    let mut call = |name: &str, args: Value| -> Result<Value, Error> {
        let call: Call = serde_json::from_value(json!({"name": name, "args": args})).unwrap();
        let position = positions.take(&call);
        host.perform(&position, call, &mut sink)
    };
    let holds = json!({"description": "there is a policy", "assertion": {"file_exists": "nrv.toml"}});
    let ada = call("agent.summon", json!({"assignment": "a", "commitments": [holds]})).unwrap();
    let id = json!({"id": ada["id"]});
    call("agent.act", id.clone()).unwrap();
    assert_eq!(call("agent.report", id.clone()).unwrap_err().code(), Code::NotFound);
    call("agent.rest", json!({"ended": "dismissed"})).unwrap();
    assert_eq!(call("agent.get", id).unwrap_err().code(), Code::NotFound);
    assert_eq!(call("agent.list", json!({})).unwrap(), json!([]));
    assert_eq!(host.finish(Ok(Value::Null), &mut sink).unwrap().state, State::Done);
    assert_eq!(sink.1, ["dismissed"]);
    assert_eq!(*told.lock().unwrap(), ["summoned Ada", "dismissed Ada"]);
}
