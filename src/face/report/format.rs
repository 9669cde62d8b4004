//! Numbers, times and values as people read them.

use serde_json::Value;

use base::text::shortened;

/// How much of a value is shown.
const SHOWN: usize = 160;

/// `12,345`.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `12,345 files`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", number(n))
}

/// `512 B`, `44.1 KiB`, `256.0 MiB`.
pub(super) fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..1024 => return format!("{n} B"),
        1024..1_048_576 => ("KiB", 1024),
        1_048_576..1_073_741_824 => ("MiB", 1_048_576),
        _ => ("GiB", 1_073_741_824),
    };
    format!("{}.{} {unit}", n / size, n % size * 10 / size)
}

/// `382 ms`, `2.3 s`, `4 min 5 s`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// A moment to the second: `2026-11-21 20:20:00 UTC`. What is no moment stays as it is.
pub(super) fn moment(at: &str) -> String {
    match (at.get(..10), at.get(10..11), at.get(11..19), at.ends_with('Z')) {
        (Some(day), Some("T"), Some(time), true) => format!("{day} {time} UTC"),
        _ => at.to_owned(),
    }
}

/// The time of day of a moment.
pub(super) fn time(at: &str) -> String {
    at.get(11..19).unwrap_or(at).to_owned()
}

/// `links_to_update` as people write it.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A value in short: texts as they are, lists of texts with commas, anything else as JSON; not more than a line or two.
pub(super) fn value(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Object(map) if map.len() == 2 && map.contains_key("sha256") => match map.get("length") {
            Some(length) => format!("({length} bytes, kept in the record by their hash)"),
            None => value.to_string(),
        },
        // What is counted is no fraction, however it is written.
        Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0 && n.abs() < 1e15) => {
            format!("{:.0}", number.as_f64().unwrap_or_default())
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    shortened(&text, SHOWN)
}

/// The beginning of a hash.
pub(super) fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// A text of the value; empty if it is none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A text of the value, if it is one and says something.
pub(super) fn some_text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Millionths as a number with as many digits as it needs, at least two after the point.
pub(super) fn millionths(amount: u64) -> String {
    let digits = format!("{}.{:06}", amount / 1_000_000, amount % 1_000_000);
    let short = digits.trim_end_matches('0');
    let point = digits.len() - 7;
    digits[..short.len().max(point + 3)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_times_are_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        let times = [0, 999, 2345, 59_999, 245_000, 7_800_000].map(duration);
        assert_eq!(times, ["0 ms", "999 ms", "2.3 s", "59.9 s", "4 min 5 s", "2 h 10 min"]);
        assert_eq!([1023, 45_180, 268_435_456].map(bytes), ["1023 B", "44.1 KiB", "256.0 MiB"]);
        assert_eq!(moment("2026-11-21T20:20:00.123Z"), "2026-11-21 20:20:00 UTC");
        assert_eq!(
            [0, 96, 250_000, 2_500_000, 12_345_678].map(millionths),
            ["0.00", "0.000096", "0.25", "2.50", "12.345678"]
        );
        assert_eq!((moment("ü"), time("ü")), ("ü".to_owned(), "ü".to_owned()));
    }

    #[test]
    fn values_are_short() {
        assert_eq!(value(&json!(["a", "b"])), "a, b");
        assert_eq!(value(&json!({"sha256": "00", "length": 9})), "(9 bytes, kept in the record by their hash)");
        assert_eq!([json!(3.0), json!(0.25)].map(|number| value(&number)), ["3", "0.25"]);
        assert_eq!(value(&json!("ü".repeat(200))).chars().count(), SHOWN + 1);
    }
}
