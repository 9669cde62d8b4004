//! Random edits of documents with random formatting.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Document, edit::Edit, syntax::Syntax};

/// A text with many habits of one syntax.
fn texts() -> impl Strategy<Value = (Syntax, String)> {
    let json = (values(), any::<u64>()).prop_map(|(value, seed)| (Syntax::Json, Writer::new(seed, false).json(&value)));
    let jsonc =
        (values(), any::<u64>()).prop_map(|(value, seed)| (Syntax::Jsonc, Writer::new(seed, true).json(&value)));
    let yaml = (values(), any::<u64>()).prop_map(|(value, seed)| (Syntax::Yaml, Writer::new(seed, true).yaml(&value)));
    let toml = (values(), any::<u64>()).prop_map(|(value, seed)| (Syntax::Toml, Writer::new(seed, true).toml(&value)));
    prop_oneof![json, jsonc, yaml, toml]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        Just(json!(1.5)),
        "[a-c '\"#:-]{0,5}".prop_map(Value::from),
        Just(json!("two\nlines\n")),
    ];
    let any = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]{1,2}|x y|on", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    });
    prop::collection::btree_map("[a-e]{1,2}", any, 0..5).prop_map(|map| map.into_iter().collect())
}

/// Writes values with formatting that a seed chooses.
struct Writer {
    seed: u64,
    has_comments: bool,
}

impl Writer {
    fn new(seed: u64, has_comments: bool) -> Writer {
        Writer { seed: seed | 1, has_comments }
    }

    fn pick(&mut self, n: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 20) % n
    }

    fn space(&mut self, sign: &str) -> String {
        match self.pick(12) {
            0 | 1 => " ".to_owned(),
            2 => "\n  ".to_owned(),
            3 => "\r\n\t".to_owned(),
            4 if self.has_comments => format!(" {sign} c{}\n ", self.pick(1_000)),
            5 if self.has_comments && sign == "//" => format!(" /* c{} */", self.pick(1_000)),
            _ => String::new(),
        }
    }

    fn json(&mut self, value: &Value) -> String {
        let (open, close, children): (_, _, Vec<String>) = match value {
            Value::Array(items) => ("[", "]", items.iter().map(|item| self.json(item)).collect()),
            Value::Object(members) => {
                let pair = |(name, value): (&String, &Value)| {
                    let (before, after) = (self.space("//"), self.space("//"));
                    format!("{}{before}:{after}{}", json!(name), self.json(value))
                };
                ("{", "}", members.iter().map(pair).collect())
            }
            _ => return value.to_string(),
        };
        let mut text = open.to_owned();
        let n_children = children.len();
        for (index, child) in children.into_iter().enumerate() {
            text += &self.space("//");
            text += &child;
            text += &self.space("//");
            if index + 1 < n_children || self.has_comments && self.pick(3) == 0 {
                text.push(',');
            }
        }
        text + self.space("//").as_str() + close
    }

    fn line_end(&mut self) -> String {
        match self.pick(8) {
            0 if self.has_comments => format!(" # c{}\n", self.pick(1_000)),
            1 if self.has_comments => format!("\n\n# c{}\n", self.pick(1_000)),
            2 => "\r\n".to_owned(),
            _ => "\n".to_owned(),
        }
    }

    fn yaml(&mut self, value: &Value) -> String {
        let text = self.yaml_at(value, "");
        if self.pick(3) == 0 { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    }

    /// A value behind an indicator, to its line end.
    fn yaml_at(&mut self, value: &Value, indent: &str) -> String {
        let is_root = indent.is_empty();
        match value {
            Value::Object(members) if !members.is_empty() && (is_root || self.pick(4) > 0) => {
                let mut text = if is_root { String::new() } else { self.line_end() };
                for (name, value) in members {
                    let deeper = format!("{indent}{}", [" ", "  ", "    "][self.pick(3) as usize]);
                    text += &format!("{indent}{}:{}", json!(name), self.yaml_at(value, &deeper));
                }
                text
            }
            Value::Array(items) if !items.is_empty() && !is_root && self.pick(4) > 0 => {
                let mut text = self.line_end();
                for item in items {
                    text += &format!("{indent}-{}", self.yaml_at(item, &format!("{indent}  ")));
                }
                text
            }
            Value::String(text) if text.ends_with('\n') && !is_root => {
                format!(" |\n{indent} {}\n", text.trim_end().replace('\n', &format!("\n{indent} ")))
            }
            _ => format!("{}{}{}", if is_root { "" } else { " " }, value, self.line_end()),
        }
    }

    fn toml(&mut self, value: &Value) -> String {
        let mut text = String::new();
        let (tables, pairs): (Vec<_>, Vec<_>) =
            value.as_object().into_iter().flatten().partition(|(_, value)| value.is_object() && self.pick(3) > 0);
        for (name, value) in pairs {
            text += &format!(
                "{}{}= {}{}",
                json!(name),
                if self.pick(2) == 0 { " " } else { "" },
                self.inline(value),
                self.line_end()
            );
        }
        for (name, value) in tables {
            text += &format!("[{}]{}", json!(name), self.line_end());
            for (name, value) in value.as_object().into_iter().flatten() {
                text += &format!("{} = {}{}", json!(name), self.inline(value), self.line_end());
            }
        }
        text
    }

    fn inline(&mut self, value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| self.space("#") + self.inline(item).as_str()).collect();
                format!("[{}{}]", items.join(","), self.space("#"))
            }
            Value::Object(members) => {
                let pairs: Vec<String> =
                    members.iter().map(|(name, value)| format!("{} = {}", json!(name), self.inline(value))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
            _ => value.to_string(),
        }
    }
}

/// Every place of a value.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), out));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), out))
        }
        _ => {}
    }
}

/// An edit that can be made of a value.
fn edit(value: &Value, choice: (u8, u16, Value)) -> Edit {
    let (kind, at, new) = choice;
    let mut all = Vec::new();
    pointers(value, "", &mut all);
    let pointer = all[at as usize % all.len()].clone();
    let is_container = value.pointer(&pointer).is_some_and(|value| value.is_object() || value.is_array());
    let is_array = value.pointer(&pointer).is_some_and(Value::is_array);
    match kind % 5 {
        0 if is_container => Edit::Insert { pointer: pointer + if is_array { "/0" } else { "/new" }, value: new },
        1 if is_container => Edit::Insert { pointer: pointer + if is_array { "/-" } else { "/new" }, value: new },
        _ if pointer.is_empty() => Edit::Insert { pointer: "/new".to_owned(), value: new },
        2 => Edit::Remove { pointer },
        3 => Edit::WrapArray { pointer },
        _ => Edit::Set { pointer, value: new },
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(debug_assertions) { 512 } else { 300_000 },
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn edits_are_made_and_proven((syntax, text) in texts(), choices in prop::collection::vec((any::<u8>(), any::<u16>(), values()), 1..4)) {
        let document = match Document::parse(syntax, &text) {
            // Such a text is refused; the next one is as good.
            Err(error) if error.to_string().contains("block scalar") => return Err(TestCaseError::reject("no line end")),
            document => document.expect(&text),
        };
        prop_assert_eq!(&document.apply(&[]).expect("no edit").text, &text);
        let mut edited = document;
        for choice in choices {
            let edit = edit(edited.value(), choice);
            match edited.apply(std::slice::from_ref(&edit)) {
                Ok(result) => edited = Document::parse(syntax, &result.text).expect("proven"),
                // The root of TOML has sections, and their arrays hold objects alone.
                Err(refused) => prop_assert!(is_allowed(&refused.reason), "{refused}\n{edit:?}\n{}", edited.text()),
            }
        }
    }
}

fn is_allowed(reason: &str) -> bool {
    [
        "objects alone",
        "can't be",
        "of another",
        "another line",
        "such a member",
        "comments stand between",
        "block scalar",
    ]
    .iter()
    .any(|part| reason.contains(part))
}
