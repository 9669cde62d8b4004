//! Keys and scalars of TOML.

use serde_json::Value;

use super::super::quote::quoted;

/// The text of a key.
pub(in super::super) fn key(name: &str, like: Option<&str>) -> String {
    let is_bare =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match like.and_then(|like| like.chars().next()) {
        Some('\'') if is_literal(name) => format!("'{name}'"),
        Some('"') => escaped(name),
        _ if is_bare => name.to_owned(),
        _ => escaped(name),
    }
}

/// The text of a scalar.
pub(in super::super) fn text(value: &Value, like: Option<&str>) -> Result<String, String> {
    match value {
        Value::Null => Err("TOML has no null".to_owned()),
        Value::Number(number) if number.is_u64() && !number.is_i64() => Err(format!("TOML has no integer {number}")),
        Value::String(text) => {
            let is_single = like.is_some_and(|like| like.starts_with('\'')) && is_literal(text);
            Ok(if is_single { format!("'{text}'") } else { escaped(text) })
        }
        _ => Ok(value.to_string()),
    }
}

fn is_literal(text: &str) -> bool {
    text.chars().all(|next| next != '\'' && (next == '\t' || !next.is_control()))
}

fn escaped(text: &str) -> String {
    quoted(text).replace('\u{7f}', "\\u007f")
}

/// The value of a scalar or of an array without tables.
pub(super) fn read(value: &toml_edit::Value) -> Result<Value, String> {
    Ok(match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => {
            let float = serde_json::Number::from_f64(*number.value());
            Value::Number(float.ok_or_else(|| format!("`{}` is no JSON value", number.value()))?)
        }
        toml_edit::Value::Boolean(flag) => Value::Bool(*flag.value()),
        toml_edit::Value::Datetime(date) => Value::String(date.value().to_string()),
        toml_edit::Value::Array(items) => Value::Array(items.iter().map(read).collect::<Result<_, _>>()?),
        toml_edit::Value::InlineTable(table) => {
            let pairs = table.iter().map(|(name, value)| Ok((name.to_owned(), read(value)?)));
            Value::Object(pairs.collect::<Result<_, String>>()?)
        }
    })
}

/// The value of a table with a header.
pub(super) fn read_table(table: &toml_edit::Table) -> Result<Value, String> {
    let pair = |(name, item): (&str, &toml_edit::Item)| {
        let value = match item {
            toml_edit::Item::None => return Ok(None),
            toml_edit::Item::Value(value) => read(value)?,
            toml_edit::Item::Table(table) => read_table(table)?,
            toml_edit::Item::ArrayOfTables(tables) => {
                Value::Array(tables.iter().map(read_table).collect::<Result<_, String>>()?)
            }
        };
        Ok(Some((name.to_owned(), value)))
    };
    let pairs = table.iter().filter_map(|entry| pair(entry).transpose());
    Ok(Value::Object(pairs.collect::<Result<_, String>>()?))
}
