//! The file `nrv.lock`: TOML in a stable order, made to be read in a review.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Pin, PinnedTrust};
use crate::pack::Pack;
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
    text::{escape, escape_in_json},
    toml_file::TomlFile,
};
use host::ApprovedTools;
use system::mcp_client::Definition;

/// The file, in the workspace's root.
pub const FILE: &str = "nrv.lock";

/// The bounds of its text.
pub const BOUNDS: TomlFile = TomlFile { most: 1 << 20, values: 1 << 15, code: Code::InvalidInput };

/// The signature beside it, if there is one.
pub const SIGNATURE: &str = "nrv.lock.sig";

/// A line feed in the words of a pinned tool.
pub const LINE_FEED: &str = "\\n";

/// The version of the file format that this program writes.
const VERSION: u32 = 1;

const HEAD: &str = "# The scripts that were approved, what they import and what they may do. `nrv approve` writes this file.\n\
                    # A change of it is reviewed as one of the scripts: whatever stands here runs where `CI` is set.\n\n";

/// Every approval of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the file format.
    version: u32,
    /// The permissions of the policies, by the policy's path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trust: BTreeMap<String, PinnedTrust>,
    /// The packs from elsewhere, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub packs: BTreeMap<String, Pack>,
    /// The approved adapters of users, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adapters: BTreeMap<String, PinnedAdapter>,
    /// The approved tools of MCP servers, by server and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, BTreeMap<String, PinnedTool>>,
    /// The approved scripts, by path.
    #[serde(default)]
    pub scripts: BTreeMap<String, Pin>,
}

/// One approved adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedAdapter {
    /// Its file.
    pub path: String,
    /// The hash of everything that it is made of.
    pub sha256: Sha256,
}

/// One approved tool of an MCP server: all that its server says of it, with signs that change how a text reads escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// The hash of its definition.
    pub sha256: Sha256,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its parameters.
    pub parameters: String,
    /// The JSON Schema of its structured reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// Hints on its effects, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<String>,
}

impl PinnedTool {
    /// The pin of a tool as its server defines it.
    pub fn of(tool: &Definition) -> Result<Self, Error> {
        // On one line, so that no word of a server looks like a key or a table of the file.
        let plain = |words: &String| words.lines().map(escape).collect::<Vec<_>>().join(LINE_FEED);
        let json = |value: &Value| json::canonical_value(&json::exact(value)).map(|text| escape_in_json(&text));
        Ok(PinnedTool {
            sha256: tool.sha256()?,
            title: tool.title.as_ref().map(plain),
            description: tool.description.as_ref().map(plain),
            parameters: json(&tool.input_schema.clone().into())?,
            reply: tool.output_schema.clone().map(|schema| json(&schema.into())).transpose()?,
            hints: tool.annotations.as_ref().map(json).transpose()?,
        })
    }

    /// Its parts, each by its name.
    pub fn parts(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("title", self.title.as_deref()),
            ("description", self.description.as_deref()),
            ("parameters", Some(&self.parameters)),
            ("reply", self.reply.as_deref()),
            ("hints", self.hints.as_deref()),
        ]
    }
}

impl Default for Lock {
    /// No approvals.
    fn default() -> Self {
        Lock {
            version: VERSION,
            trust: BTreeMap::new(),
            packs: BTreeMap::new(),
            adapters: BTreeMap::new(),
            mcp: BTreeMap::new(),
            scripts: BTreeMap::new(),
        }
    }
}

impl Lock {
    /// Reads the text of a file.
    ///
    /// An unknown key or a wrong value is `invalid_input`: skipping it would read the approval as less than it says.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("`{FILE}` can't be read: {}", why.trim().replace('\n', " ")))
                .hint("bring it back from version control; it is written by `nrv approve` alone")
        };
        BOUNDS.check(text, FILE)?;
        let lock: Lock = toml_edit::de::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        if lock.version != VERSION {
            return Err(wrong(&format!("its form is version {}, and this nrv knows {VERSION}", lock.version)));
        }
        if let Some(fault) = lock.packs.iter().find_map(|(name, pack)| pack.fault(name)) {
            return Err(wrong(&fault));
        }
        Ok(lock)
    }

    /// The lock of a file's text; without a file nothing is approved.
    pub fn of(text: Option<&str>) -> Result<Self, Error> {
        text.map_or_else(|| Ok(Lock::default()), Lock::parse)
    }

    /// The approved tools of MCP servers.
    pub fn tools(&self) -> ApprovedTools {
        let of_server = |tools: &BTreeMap<String, PinnedTool>| {
            tools.iter().map(|(name, tool)| (name.clone(), tool.sha256)).collect()
        };
        ApprovedTools(self.mcp.iter().map(|(server, tools)| (server.clone(), of_server(tools))).collect())
    }

    /// The text of the file: the same approvals give the same bytes.
    pub fn render(&self) -> Result<String, Error> {
        let body = toml_edit::ser::to_string_pretty(self)
            .map_err(|error| Error::new(Code::Internal, format!("`{FILE}` can't be written: {error}")))?;
        Ok(format!("{HEAD}{body}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_bytes_are_stable() {
        let sha256 = "a".repeat(64);
        let text = format!(
            "version = 1\n[scripts.\"b.rhai\"]\nsha256 = \"{sha256}\"\n[scripts.\"a.rhai\"]\nsha256 = \"{sha256}\"\nstdlib = \"1\"\n\
             grants = [\"*\"]\npermissions = {{ write = [\"**/*.md\"], exec = [\"cargo\"] }}\nbudget = {{ files = 3 }}\n\
             imports = {{ \"lib/x.rhai\" = \"{sha256}\" }}\n"
        );
        let lock = Lock::parse(&text).unwrap();
        let written = lock.render().unwrap();
        assert_eq!(Lock::parse(&written).unwrap(), lock);
        assert_eq!(Lock::parse(&written).unwrap().render().unwrap(), written);
        assert!(written.find("a.rhai").unwrap() < written.find("b.rhai").unwrap(), "{written}");
        let expected = format!(
            "[scripts.\"a.rhai\"]\nsha256 = \"{sha256}\"\nstdlib = \"1\"\ngrants = [\"*\"]\n\n\
             [scripts.\"a.rhai\".imports]\n\"lib/x.rhai\" = \"{sha256}\"\n\n\
             [scripts.\"a.rhai\".permissions]\nexec = [\"cargo\"]\nwrite = [\"**/*.md\"]\n\n[scripts.\"a.rhai\".budget]\nfiles = 3\n"
        );
        assert!(written.contains(&expected), "{written}");
    }

    #[test]
    fn a_pinned_tool_hides_nothing_from_a_reviewer() {
        let tool = serde_json::json!({
            "name": "a", "title": "A\u{200b}", "description": "one\n\u{202e}two", "inputSchema": {"b": "\u{202e}", "a": 1},
            "outputSchema": {"type": "object"}, "annotations": {"openWorldHint": true},
        });
        let pinned = PinnedTool::of(&serde_json::from_value(tool).unwrap()).unwrap();
        let parts = [
            ("title", Some("A\\u{200b}")),
            ("description", Some("one\\n\\u{202e}two")),
            ("parameters", Some(r#"{"a":1,"b":"\u202e"}"#)),
            ("reply", Some(r#"{"type":"object"}"#)),
            ("hints", Some(r#"{"openWorldHint":true}"#)),
        ];
        assert_eq!(pinned.parts(), parts);
    }

    #[test]
    fn what_is_unknown_is_refused() {
        let pack = |name: &str, file: &str| {
            let hash = "a".repeat(64);
            format!(
                "version = 1\n[packs.\"{name}\"]\nsource = \"x\"\nlicence = \"MIT\"\n[packs.\"{name}\".files]\n\"{file}\" = \"{hash}\"\n"
            )
        };
        assert!(Lock::parse(&pack("p", "scripts/vendor/p/a.rhai")).is_ok());
        for (text, words) in [
            ("version = 2", "its form is version 2"),
            ("", "version"),
            ("version = 1\nextra = 1", "extra"),
            ("version = 1\n[scripts.\"a.rhai\"]\nsha256 = \"abc\"", "sha256"),
            ("version = 1\n[scripts", "nrv.lock"),
            (&pack("p", "notes/b.txt"), "`notes/b.txt` outside of its folders"),
            (&pack("p", "scripts/vendor/q/a.rhai"), "outside of its folders"),
            (&pack("../q", "dta/a.rhai"), "name of a pack"),
        ] {
            let error = Lock::parse(text).unwrap_err();
            assert!(error.code() == Code::InvalidInput && error.message().contains(words), "{error}");
        }
    }
}
