//! JSON without duplicate keys: readers differ in which of two values they take, so a reviewer might see the other one.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// A value without duplicate keys.
struct Distinct(Value);

/// Reads a value; an object that has a key twice is an error, with its place like all others.
pub fn parse_distinct(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Distinct(value)| value)
}

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Reader).map(Distinct)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Distinct(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the key `{}` stands twice", name.escape_debug())));
            }
            let Distinct(value) = fields.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_an_error_at_any_depth() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#, r#"{"\u0061": 1, "a": 2}"#] {
            let error = parse_distinct(text).unwrap_err();
            assert!(error.to_string().contains("the key `a` stands twice at line 1"), "{error}");
        }
    }

    #[test]
    fn everything_else_is_read_as_it_is() {
        let value =
            json!([null, true, -1, 18_446_744_073_709_551_615_u64, 1.5, "ä\n", {"a": {"a": []}, "b": [{}, {}]}]);
        assert_eq!(parse_distinct(&value.to_string()).unwrap(), value);
        for text in ["", "{", "[1,]", "1 2", &"[".repeat(10_000)] {
            parse_distinct(text).unwrap_err();
        }
    }
}
