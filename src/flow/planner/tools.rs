//! The approved adapters, as the door tells of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::Door;
use base::{
    call::Call,
    error::{Code, Error, nearest},
};

/// The approved adapters of a run. Each is described when it is first asked about.
pub(crate) struct Tools {
    listed: Vec<Listed>,
    described: BTreeMap<String, Tool>,
}

/// An adapter in the list.
#[derive(Deserialize)]
struct Listed {
    name: String,
    version: String,
    summary: String,
}

/// An adapter.
#[derive(Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(super) version: String,
    pub(crate) summary: String,
    /// The count of the baseline that is above zero if there is work to do; none if only a proposal tells.
    pub(super) work: Option<String>,
    /// The schema of an invocation.
    pub(crate) input_schema: Value,
    pub(super) max_files: Value,
    pub(super) timeout_ms: Value,
}

impl Tools {
    pub(crate) fn of(door: &mut dyn Door) -> Result<Self, Error> {
        let listed = door.perform(Call::DtaList {})?;
        let listed = serde_json::from_value(listed).map_err(|error| unexpected("dta.list", &error))?;
        Ok(Tools { listed, described: BTreeMap::new() })
    }

    /// The names, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(|listed| listed.name.as_str())
    }

    /// An approved adapter. Another one is `invalid_input`; the error names it and the nearest.
    pub(crate) fn find(&mut self, door: &mut dyn Door, name: &str) -> Result<Tool, Error> {
        if let Some(tool) = self.described.get(name) {
            return Ok(tool.clone());
        }
        let Some(listed) = self.listed.iter().find(|listed| listed.name == name) else {
            let error = Error::new(Code::InvalidInput, format!("`{}` is no approved adapter", name.escape_debug()));
            let approved = self.names().collect::<Vec<_>>().join(", ");
            return Err(error.detail("tool", name).hint(match nearest(name, self.names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("approved are: {approved}"),
            }));
        };
        let described = door.perform(Call::DtaDescribe { tool: name.to_owned() })?;
        let tool = Tool {
            name: listed.name.clone(),
            version: listed.version.clone(),
            summary: listed.summary.clone(),
            work: described["applies_if"]["count"].as_str().map(str::to_owned),
            input_schema: described["input_schema"].clone(),
            max_files: described["policy"]["max_files"].clone(),
            timeout_ms: described["policy"]["timeout_ms"].clone(),
        };
        self.described.insert(name.to_owned(), tool.clone());
        Ok(tool)
    }
}

impl Tool {
    /// The schema of the parameters.
    pub(crate) fn params(&self) -> &Value {
        &self.input_schema["properties"]["params"]
    }
}

/// The error of a reply in another form than the door gives.
pub(super) fn unexpected(call: &str, error: &serde_json::Error) -> Error {
    Error::new(Code::Internal, format!("the reply of `{call}` has another form: {error}"))
}
