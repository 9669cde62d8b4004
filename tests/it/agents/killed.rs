//! Runs with agents that are killed at any moment: they go on where they were, and no agent does anything twice.
//!
//! Still more than the long tier: `NRV_AGENT_KILLS=60 cargo test --test it agents::killed -- --nocapture`.
#![expect(clippy::print_stdout, reason = "the numbers of a long run are of interest")]

use std::time::Duration;

use super::{HEAD, action, says};
use crate::support::{
    chance::{Chance, setting},
    hold::{killed_after, recorded_events},
    long,
    site::Site,
};

use serde_json::{Value, json};

/// Ada writes four pages, and summons a child; a command appends a line each time.
const TWO: &str = r#"let ada = nrv.agent.summon(#{ assignment: "write the pages", tools: ["apply_create", "exec_run"], budget: #{ calls: 90 },
    commitments: [#{ description: "four pages", assertion: #{ count: #{ pattern: "page", glob: "notes/p*.txt", equals: 4 } } }] });
let bob = nrv.agent.summon(#{ name: "Bob" });
nrv.agent.commit(bob.id, #{ description: "lines", assertion: #{ file_exists: "notes/lines.txt" } });
let talk = nrv.agent.converse(ada.id, "json", #{ request: "write them" });
nrv.agent.converse(bob.id, |reply| #{ message: reply.text, actions: [#{ id: "1", tool: "report_done", params: #{} }] }, #{ request: "look" });
[talk.ended, talk.actions, talk.results.filter(|one| "error" in one).len()]"#;

/// A site whose model answers by the number of turns that the request tells of, so that one asked again says the same.
fn site() -> Site {
    let site = Site::new(1);
    let folder = site.root().parent().unwrap().join("replies");
    std::fs::create_dir(&folder).unwrap();
    let page = |n: usize| action("apply_create", json!({"path": format!("notes/p{n}.txt"), "text": "page\n"}));
    let line = |n: usize| {
        let argv = json!(["/bin/sh", "-c", format!("echo {n} >> notes/lines.txt")]);
        action("exec_run", json!({"argv": argv, "writes": ["notes/lines.txt"]}))
    };
    let child = action("summon_servitor", json!({"name": "Carl"}));
    let replies: [Value; 4] = [
        says("one", json!([page(1), line(1), action("report_done", json!({}))])),
        says("two", json!([page(2), child, line(2)])),
        says("three", json!([page(3), page(1), line(3)])),
        says("four", json!([page(4), line(4), action("report_done", json!({}))])),
    ];
    for (at, reply) in replies.iter().enumerate() {
        let line = json!({"reply": {"text": reply.to_string()}});
        std::fs::write(folder.join(at.to_string()), format!("{line}\n")).unwrap();
    }
    let program = format!("n=$(grep -o results | wc -l); cat {}/$n", folder.display());
    let site = site.policy(&format!(
        "[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = {}\n\n[[exec.allow]]\nprefix = ['/bin/sh']\nwrites = ['notes/**']\n\n[evaluators]\nfail = []\n",
        json!(["sh", "-c", program])
    ));
    site.write("notes/keep", "");
    let head = HEAD.replace("exec: [\"true\"]", "exec: [\"/bin/sh\"]");
    site.script("scripts/agents.rhai", &format!("{head}{TWO}"));
    site.git(&["add", "-A"]);
    site.commit();
    site
}

#[test]
fn a_run_with_agents_that_is_killed_at_any_moment_goes_on_without_an_action_twice() {
    let site = site();
    let before = site.tree();
    let ran = site.nrv(&["run", "scripts/agents.rhai", "--yes", "--json"]).exits(0).json();
    assert_eq!(ran["result"], json!(["done", 12, 1]));
    let (after, events) = (site.tree(), recorded_events(&site));
    assert_eq!(site.read("notes/lines.txt"), b"1\n2\n3\n4\n");
    let agents = |site: &Site| site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json()["agents"].clone();
    let expected = agents(&site);
    site.reset(&before);
    let mut chance = Chance(setting("NRV_AGENT_SEED", 3));
    let mut went_on = 0;
    let kills = long::rounds("NRV_AGENT_KILLS", 1, 18);
    for kill in 0..kills + 20 {
        if kill >= kills && went_on > 0 {
            break;
        }
        for round in 0.. {
            let begun = site.runs().first().is_some_and(|run| run["state"] == "interrupted");
            let arguments: &[&str] =
                if begun { &["resume", "last", "--yes"] } else { &["run", "scripts/agents.rhai", "--yes"] };
            let (running, recorded) = (site.start_heard(arguments), recorded_events(&site));
            let until = recorded + chance.below(events);
            let ran = match round {
                0..3 => killed_after(&site, running, until, &mut chance, Duration::from_millis(10)),
                _ => running.end(),
            };
            went_on += u32::from(begun);
            if ran.code == 0 {
                break;
            }
            assert!(ran.code == -1 && round < 3, "{ran:?}");
            site.nrv(&["recover"]).exits(0);
            let state = site.runs().first().map(|run| run["state"].clone());
            match state {
                // The kill came when all was done.
                Some(state) if state == "done" => break,
                Some(_) => {}
                None => site.reset(&before),
            }
        }
        assert!(site.tree() == after);
        // Who is summoned, done and dismissed, and what each has spent, is as if nothing had happened.
        assert_eq!(agents(&site), expected);
        site.nrv(&["replay", "last"]).exits(0);
        site.reset(&before);
    }
    println!("killed runs that went on: {went_on}");
    assert!(went_on > 0);
}
