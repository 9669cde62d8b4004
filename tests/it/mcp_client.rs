//! `nrv.mcp`: tools of servers that the policy names and a person has approved.

mod agents;
mod calls;
mod far;
mod hostile;
mod life;
mod peers;

use serde_json::Value;

use crate::support::site::{Ran, Site};

/// A server that does what its argument says.
pub(crate) const SERVER: &str = include_str!("mcp_client/server.py");

/// The policy with a server in one of its modes.
fn policy(mode: &str, more: &str) -> String {
    format!(
        "[mcp.servers.fake]\ncommand = [\"/usr/bin/python3\", \"server.py\", \"{mode}\"]\ntools = [\"search\", \"create\", \"where\"]\n{more}"
    )
}

/// A tree with a server that is not approved yet.
fn unapproved(mode: &str, more: &str) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("server.py", SERVER);
    site.write("nrv.toml", policy(mode, more));
    site
}

/// A tree with a server whose tools are approved as an honest one defines them.
fn site(mode: &str, more: &str) -> Site {
    let site = unapproved("honest", more);
    site.nrv(&["mcp", "approve", "--yes"]).exits(0);
    site.write("nrv.toml", policy(mode, more));
    site.commit();
    site
}

const HEAD: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**\"], calls: [\"mcp.fake.search\", \"mcp.fake.create\", \"mcp.fake.where\"] } };\n\
                    let fake = nrv.mcp(\"fake\");\n";

/// Runs a script that has `fake`.
fn run(site: &Site, text: &str, more: &[&str]) -> Ran {
    site.write("scripts/tools.rhai", format!("{HEAD}{text}"));
    site.nrv(&[&["run", "scripts/tools.rhai", "--json", "--allow-dirty", "--yes"], more].concat())
}

fn result(ran: Ran) -> Value {
    ran.exits(0).json()["result"].clone()
}

/// The error of a run that ended with this code.
#[track_caller]
fn error(ran: Ran, exit: i32) -> Value {
    ran.exits(exit).json()["error"].clone()
}
