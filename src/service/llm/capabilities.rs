//! The capabilities of a provider: the server's report, merged with the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::named::named;

named! {
    /// The kind of a request to a model.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Workload {
        /// Text for text.
        #[default]
        Chat = "chat",
        /// Vectors for text.
        Embedding = "embedding",
    }
}

/// The models of a provider, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities {
    models: BTreeMap<String, Model>,
}

/// The known facts of a model; nothing is checked against an unknown one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Other names of it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub aliases: BTreeSet<String>,
    /// Tokens of request and reply together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Its workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workloads: Option<BTreeSet<Workload>>,
    /// True if it supports tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// True if its server enforces a schema of replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<bool>,
}

impl Capabilities {
    /// A provider with these models.
    pub fn new(models: impl IntoIterator<Item = (String, Model)>) -> Self {
        Capabilities { models: models.into_iter().collect() }
    }

    /// The models, sorted by name.
    pub fn models(&self) -> &BTreeMap<String, Model> {
        &self.models
    }

    /// A model by its name or one of its aliases.
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models.get(name).or_else(|| self.models.values().find(|model| model.aliases.contains(name)))
    }

    /// The union of both; where they differ, `self` holds.
    pub fn or(mut self, others: Capabilities) -> Self {
        for (name, other) in others.models {
            let known = self.models.remove(&name).unwrap_or_default();
            self.models.insert(name, known.or(other));
        }
        self
    }
}

impl Model {
    /// The union of both; where they differ, `self` holds.
    pub fn or(self, other: Model) -> Self {
        Model {
            aliases: self.aliases.into_iter().chain(other.aliases).collect(),
            context_tokens: self.context_tokens.or(other.context_tokens),
            max_output_tokens: self.max_output_tokens.or(other.max_output_tokens),
            workloads: self.workloads.or(other.workloads),
            tools: self.tools.or(other.tools),
            structured_output: self.structured_output.or(other.structured_output),
        }
    }

    /// True if it supports the workload, as far as is known.
    pub fn does(&self, workload: Workload) -> bool {
        self.workloads.as_ref().is_none_or(|workloads| workloads.contains(&workload))
    }

    /// The capabilities from a list of words such as `completion`, `tools`, `embedding`.
    pub(super) fn of_words(words: Option<&Value>) -> Self {
        let Some(words) = words.and_then(Value::as_array) else { return Model::default() };
        let has = |word: &str| words.iter().any(|one| one == word);
        let mut workloads = BTreeSet::new();
        if has("completion") || has("chat") {
            workloads.insert(Workload::Chat);
        }
        if has("embedding") || has("embeddings") {
            workloads.insert(Workload::Embedding);
        }
        let tools = has("tools").then_some(true);
        Model { workloads: (!workloads.is_empty()).then_some(workloads), tools, ..Model::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_configured_holds_and_the_rest_is_filled_in() {
        let configured = Model { context_tokens: Some(512), ..Model::default() };
        let reported = Model { context_tokens: Some(2048), tools: Some(true), ..Model::default() };
        let merged = Capabilities::new([("b".to_owned(), configured)])
            .or(Capabilities::new([("b".to_owned(), reported.clone()), ("a".to_owned(), reported)]));
        assert_eq!(
            serde_json::to_value(&merged).unwrap(),
            json!({"a": {"context_tokens": 2048, "tools": true}, "b": {"context_tokens": 512, "tools": true}}),
        );
        assert_eq!(merged.models().keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_model_is_found_by_its_alias() {
        let model = Model { aliases: BTreeSet::from(["small".to_owned()]), ..Model::default() };
        let caps = Capabilities::new([("a".to_owned(), model)]);
        assert!(caps.model("small").is_some() && caps.model("large").is_none());
    }

    #[test]
    fn words_of_servers_say_what_a_model_does() {
        let embedder = Model::of_words(Some(&json!(["embedding"])));
        assert!(embedder.does(Workload::Embedding) && !embedder.does(Workload::Chat));
        let unknown = Model::of_words(None);
        assert!(unknown.does(Workload::Chat) && unknown.tools.is_none());
        assert_eq!(Model::of_words(Some(&json!(["completion", "tools"]))).tools, Some(true));
    }
}
