//! Random graphs: the same tree and record on any number of threads as one node after another, and no effect twice after a kill.
//!
//! Still more than the long tier: `NRV_GRAPHS=200 NRV_GRAPH_KILLS=100 cargo test --test it dag::random -- --nocapture`.
#![expect(clippy::print_stdout, reason = "the numbers of a long run are of interest")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    time::Duration,
};

use serde_json::Value;

use super::SHELL;
use crate::support::{
    chance::{Chance, setting},
    hold::{killed_after, recorded_events},
    long,
    site::{NEW, OLD, Site, Tree},
};

/// The way in which a node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Verified,
    Done,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A closure writes a file of what its node waits for.
    Function,
    /// A command does.
    Command,
    /// A command appends to a file that others append to as well.
    Shared,
    /// The adapter moves the links of a page of its own.
    Links,
}

#[derive(Clone, Debug)]
struct Node {
    id: String,
    after: Vec<usize>,
    needs_done: bool,
    kind: Kind,
    way: Way,
}

fn graph(chance: &mut Chance) -> Vec<Node> {
    let n = 2 + chance.below(9) as usize;
    let mut nodes: Vec<Node> = Vec::new();
    for index in 0..n {
        let after: BTreeSet<usize> = (0..chance.below(4)).map(|_| chance.below(index.max(1) as u64) as usize).collect();
        let after = if index == 0 { Vec::new() } else { after.into_iter().collect() };
        let kind = [Kind::Function, Kind::Command, Kind::Command, Kind::Shared, Kind::Links][chance.below(5) as usize];
        let way = match (kind, chance.below(8)) {
            (Kind::Links, _) => Way::Verified,
            (_, 0) => Way::Failed,
            (Kind::Command | Kind::Shared, 1) => Way::Done,
            _ => Way::Verified,
        };
        // Names whose order is not that in which they are stated.
        let id = format!("n{}", (index * 7) % 11);
        nodes.push(Node { id, after, needs_done: chance.below(4) == 0, kind, way });
    }
    nodes
}

/// The script of a graph. `pause` is what each command sleeps, in seconds.
fn script(nodes: &[Node], pause: &str) -> String {
    let mut text =
        r#"const WORKFLOW = #{ name: "graph", permissions: #{ write: ["out/**", "site/**"], exec: ["/bin/sh"] } };
fn joined(id, paths) {
    let text = id + "\n";
    for path in paths { if nrv.files.exists(path) { text += nrv.files.read(path); } }
    nrv.apply.create(`out/${id}.txt`, text);
}
let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
let states = #{};
try {
    let ended = nrv.dag([
"#
        .to_owned();
    for node in nodes {
        let Node { id, after, needs_done, kind, way } = node;
        let paths: Vec<String> = after.iter().map(|at| format!("out/{}.txt", nodes[*at].id)).collect();
        let ids: Vec<String> = after.iter().map(|at| format!("{:?}", nodes[*at].id)).collect();
        let status = match way {
            Way::Verified => 0,
            Way::Done => 3,
            Way::Failed => 1,
        };
        let work = match (kind, way) {
            (Kind::Function, Way::Failed) => "script: || { false }".to_owned(),
            (Kind::Function, _) => format!("script: || {{ joined({id:?}, {paths:?}); }}"),
            (Kind::Links, _) => {
                format!("dta: \"link_updater\", input: #{{ target: #{{ glob: \"site/{id}/**\" }}, params: hosts }}")
            }
            (Kind::Command, _) => format!(
                "exec: [\"/bin/sh\", \"-c\", \"sleep {pause}; {{ echo {id}; cat {} /dev/null 2>/dev/null; }} >> out/{id}.txt; exit {status}\"], \
                 input: #{{ writes: [\"out/{id}.txt\"], check: {} }}",
                paths.join(" "),
                *way != Way::Done
            ),
            (Kind::Shared, _) => format!(
                "exec: [\"/bin/sh\", \"-c\", \"sleep {pause}; echo {id} >> out/shared.txt; exit {status}\"], \
                 input: #{{ writes: [\"out/shared.txt\"], check: {} }}",
                *way != Way::Done
            ),
        };
        let needs = if *needs_done { ", needs: \"done\"" } else { "" };
        writeln!(text, "        #{{ id: {id:?}, after: [{}], {work}{needs} }},", ids.join(", ")).unwrap();
    }
    text.push_str(
        "    ]);\n    for id in ended.nodes.keys() { states[id] = ended.nodes[id].state; }\n} catch (e) {\n    \
         for id in e.details.nodes.keys() { states[id] = e.details.nodes[id].state; }\n}\nstates\n",
    );
    text
}

/// The files and states after each node was done on its own, those that can begin first, in the order in which they are stated.
fn oracle(nodes: &[Node]) -> (BTreeMap<String, String>, BTreeMap<String, &'static str>) {
    let (mut files, mut states): (BTreeMap<String, String>, BTreeMap<String, &'static str>) = Default::default();
    let of = |states: &BTreeMap<String, &'static str>, at: usize| states.get(&nodes[at].id).copied();
    loop {
        let mut ready = Vec::new();
        for (at, node) in nodes.iter().enumerate().filter(|(at, _)| of(&states, *at).is_none()) {
            let before: Vec<Option<&str>> = node.after.iter().map(|at| of(&states, *at)).collect();
            let suits = |state: &str| state == "verified" || node.needs_done && state == "done";
            if before.iter().flatten().any(|state| !suits(state)) {
                ready.push((at, true));
            } else if before.iter().all(Option::is_some) {
                ready.push((at, false));
            }
        }
        if ready.is_empty() {
            return (files, states);
        }
        // What is blocked may block others before anything begins.
        let blocked: Vec<usize> = ready.iter().filter(|(_, blocked)| *blocked).map(|(at, _)| *at).collect();
        if !blocked.is_empty() {
            states.extend(blocked.into_iter().map(|at| (nodes[at].id.clone(), "blocked")));
            continue;
        }
        for (at, _) in ready {
            let node = &nodes[at];
            let state = match node.way {
                Way::Verified => "verified",
                Way::Done => "done",
                Way::Failed => "failed",
            };
            states.insert(node.id.clone(), state);
            if node.way == Way::Failed {
                continue;
            }
            match node.kind {
                Kind::Function | Kind::Command => {
                    let parts = node.after.iter().filter_map(|at| files.get(&format!("out/{}.txt", nodes[*at].id)));
                    let text = [&format!("{}\n", node.id)].into_iter().chain(parts).cloned().collect();
                    files.insert(format!("out/{}.txt", node.id), text);
                }
                Kind::Shared => writeln!(files.entry("out/shared.txt".to_owned()).or_default(), "{}", node.id).unwrap(),
                Kind::Links => drop(files.insert(format!("site/{}/p.html", node.id), link(NEW))),
            }
        }
    }
}

fn link(host: &str) -> String {
    let scheme = if host == NEW { "https" } else { "http" };
    format!("<a href=\"{scheme}://{host}/x\">x</a>\n")
}

fn site_of(nodes: &[Node], pause: &str) -> Site {
    let site = Site::new(0).policy(SHELL);
    site.write("out/keep", "");
    for node in nodes.iter().filter(|node| node.kind == Kind::Links) {
        site.write(&format!("site/{}/p.html", node.id), link(OLD));
    }
    site.script("scripts/graph.rhai", &script(nodes, pause));
    site.git(&["add", "-A"]);
    site.commit();
    site
}

/// A tree as texts.
fn texts(tree: &Tree) -> BTreeMap<&String, String> {
    let written = tree.iter().filter(|(path, _)| path.starts_with("out") || path.starts_with("site"));
    written.map(|(path, (kind, mode, bytes))| (path, format!("{kind} {mode:o} {}", bytes.escape_ascii()))).collect()
}

/// The tree with the files that a graph writes.
fn with(before: &Tree, files: BTreeMap<String, String>) -> Tree {
    let mut tree = before.clone();
    tree.extend(files.into_iter().map(|(path, text)| (path, ('f', 0o644, text.into_bytes()))));
    tree
}

#[test]
fn the_tree_and_the_record_are_those_of_one_node_after_another() {
    let mut chance = Chance(setting("NRV_GRAPH_SEED", 11));
    let mut failed = 0;
    let graphs = long::rounds("NRV_GRAPHS", 1, 30);
    for round in 0..graphs + 20 {
        if round >= graphs && failed > 0 {
            break;
        }
        let nodes = graph(&mut chance);
        let (files, states) = oracle(&nodes);
        let site = site_of(&nodes, "0");
        let before = site.tree();
        let after = with(&before, files);
        let mut records = Vec::new();
        for threads in ["1", "2", "8"] {
            let ran = site.nrv(&["run", "scripts/graph.rhai", "--json", "--yes", "--threads", threads]).exits(0);
            let found: BTreeMap<String, String> = serde_json::from_value(ran.json()["result"].clone()).unwrap();
            let found: BTreeMap<String, &str> = found.iter().map(|(id, state)| (id.clone(), state.as_str())).collect();
            assert_eq!(found, states, "round {round}: {nodes:#?}");
            assert_eq!(texts(&site.tree()), texts(&after), "round {round}: {nodes:#?}");
            records.push(site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout);
            site.nrv(&["replay", "last"]).exits(0);
            site.reset(&before);
        }
        assert!(records.iter().all(|record| *record == records[0]), "round {round}: {nodes:#?}");
        failed += usize::from(states.values().any(|state| *state == "failed"));
    }
    println!("graphs with a failed node: {failed}");
    assert!(failed > 0);
}

#[test]
fn a_graph_that_is_killed_at_any_moment_goes_on_without_an_effect_twice() {
    let mut chance = Chance(setting("NRV_GRAPH_SEED", 5));
    let mut nodes = graph(&mut chance);
    while nodes.len() < 8 {
        nodes = graph(&mut chance);
    }
    let (files, _) = oracle(&nodes);
    let site = site_of(&nodes, "0.02");
    let before = site.tree();
    let after = with(&before, files);
    site.nrv(&["run", "scripts/graph.rhai", "--yes", "--json"]).exits(0);
    let events = recorded_events(&site);
    assert!(site.tree() == after);
    site.reset(&before);
    let mut went_on = 0;
    let kills = long::rounds("NRV_GRAPH_KILLS", 1, 24);
    for kill in 0..kills + 20 {
        if kill >= kills && went_on > 0 {
            break;
        }
        let running = site.start_heard(&["run", "scripts/graph.rhai", "--yes", "--json", "--threads", "2"]);
        let until = chance.below(events);
        let ended = killed_after(&site, running, until, &mut chance, Duration::from_millis(20)).code == 0;
        if !ended {
            site.nrv(&["recover"]).exits(0);
            let state = site.runs().first().map(|run| run["state"].clone()).unwrap_or(Value::Null);
            let resumed = (state == "interrupted").then(|| site.nrv(&["resume", "last", "--yes"]));
            match resumed {
                // Without `run.json` or a first record it had not begun.
                Some(ran)
                    if ["before it had begun", "`run.json` is missing"]
                        .iter()
                        .all(|words| !ran.stderr.contains(words)) =>
                {
                    ran.exits(0);
                    site.nrv(&["replay", "last"]).exits(0);
                    went_on += 1;
                }
                _ if state == "done" => {}
                _ => drop(site.nrv(&["run", "scripts/graph.rhai", "--yes"]).exits(0)),
            }
        }
        assert_eq!(texts(&site.tree()), texts(&after), "{nodes:#?}");
        site.reset(&before);
    }
    println!("killed runs that went on: {went_on}");
    assert!(went_on > 0);
}
