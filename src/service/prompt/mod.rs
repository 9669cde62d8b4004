//! Composes prompts from their parts: a pure function of the request and of the files that it names. It sends and decides
//! nothing.
//!
//! The words around the parts are templates in `stdlib/prompt/`. A part is included verbatim, with its hash and its length,
//! between fences that do not occur in it.

mod block;
mod directive;
mod part;
mod size;
mod template;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use self::size::{check_fit, estimate};
use self::{
    block::Block,
    part::{Item, as_told, wrong},
    template::Template,
};
use base::{call::Parts, error::Error, hash::Sha256};
use system::schema::Schema;

/// A prompt, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Composed {
    /// The prompt.
    pub text: String,
    /// The hash of the text.
    pub sha256: Sha256,
    /// Its parts, in the order of the text.
    pub parts: Vec<Part>,
    /// The estimate of its tokens, see [`estimate`].
    pub tokens: u64,
}

/// A part that a prompt includes verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its name, such as `goal`, `file:src/a.rs` or `reply:1`.
    pub name: String,
    /// The hash of its bytes.
    pub sha256: Sha256,
    /// The number of its bytes.
    pub bytes: usize,
}

/// Composes a prompt. `adapters` are the names of the approved ones, `read` gives the text of a file.
///
/// The same parts and the same files give the same bytes. A defective part is `invalid_input` with the `field`; an error of
/// `read` is passed on.
pub fn compose(
    parts: &Parts,
    adapters: &[&str],
    read: &mut dyn FnMut(&str) -> Result<String, Error>,
) -> Result<Composed, Error> {
    let mut made = Making::default();
    if let Some(role) = &parts.role {
        said("role", role)?;
        made.tell("role".to_owned(), role);
        made.one("role", role);
    }
    said("goal", &parts.goal)?;
    made.tell("goal".to_owned(), &parts.goal);
    made.one("goal", &parts.goal);
    for (index, constraint) in parts.constraints.iter().enumerate() {
        made.tell(format!("constraint:{}", index + 1), constraint);
        made.put("constraints", constraint.as_str().into());
    }
    for name in &parts.directives {
        let text = directive::text(name, adapters)?;
        made.tell(format!("directive:{name}"), &text);
        made.put("directives", text.into());
    }
    for (index, value) in parts.context.iter().enumerate() {
        made.block("context", part::context(index, value, read)?)?;
    }
    for (index, value) in parts.prior.iter().enumerate() {
        for item in part::prior(index, value)? {
            made.block("prior", item)?;
        }
    }
    if let Some(schema) = &parts.schema {
        let text = contract(schema).map_err(|error| error.detail("field", "schema"))?;
        let sha256 = made.tell("schema".to_owned(), &text);
        made.one("schema", &Block { title: "Schema", content: &text, sha256 }.text()?);
    }
    made.done()
}

/// A prompt in the making: the values of its template, and the parts so far.
#[derive(Debug, Default)]
struct Making {
    values: BTreeMap<&'static str, minijinja::Value>,
    lists: BTreeMap<&'static str, Vec<minijinja::Value>>,
    parts: Vec<Part>,
}

impl Making {
    /// Records a part; returns its hash.
    fn tell(&mut self, name: String, text: &str) -> Sha256 {
        let sha256 = Sha256::of(text.as_bytes());
        self.parts.push(Part { name, sha256, bytes: text.len() });
        sha256
    }

    fn one(&mut self, key: &'static str, text: &str) {
        self.values.insert(key, text.into());
    }

    fn put(&mut self, key: &'static str, value: minijinja::Value) {
        self.lists.entry(key).or_default().push(value);
    }

    fn block(&mut self, key: &'static str, item: Item) -> Result<(), Error> {
        let sha256 = self.tell(item.name, &item.text);
        let block = Block { title: &item.title, content: &item.text, sha256 }.text()?;
        self.put(key, block.into());
        Ok(())
    }

    fn done(mut self) -> Result<Composed, Error> {
        // A template gets every value that it may name: a missing one is a mistake in it.
        for key in ["role", "schema"] {
            self.values.entry(key).or_insert_with(|| ().into());
        }
        for key in ["constraints", "directives", "context", "prior"] {
            let list = self.lists.remove(key).unwrap_or_default();
            self.values.insert(key, list.into());
        }
        let text = Template::Prompt.render(self.values)?;
        let (sha256, tokens) = (Sha256::of(text.as_bytes()), estimate(&text));
        Ok(Composed { text, sha256, parts: self.parts, tokens })
    }
}

/// A schema in the form for the model.
fn contract(schema: &Value) -> Result<String, Error> {
    Schema::compile(schema)?;
    as_told(schema)
}

fn said(field: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(wrong(field, format!("the `{field}` of a prompt says nothing")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
