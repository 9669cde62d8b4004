//! Members of a reply that hold for one time only: a record keeps them apart.

use serde_json::{Map, Value};

use record::event::Free;

/// Members of a reply that differ each time. A record keeps them apart from the data that is compared.
pub(crate) const VOLATILE: &[&str] = &["cpu_ms", "duration_ms", "first_token_ms", "peak_bytes", "total_ms"];

/// A reply without what differs each time, and that.
pub(crate) fn parted(reply: &Value) -> (Value, Free) {
    let mut stable = reply.clone();
    let mut volatile = Map::new();
    if let Some(map) = stable.as_object_mut() {
        volatile.extend(VOLATILE.iter().filter_map(|key| map.remove_entry(*key)));
    }
    (stable, Free(Value::Object(volatile)))
}

/// A reply of which those parts were kept apart, as it was.
pub(crate) fn joined(mut reply: Value, volatile: Option<&Free>) -> Value {
    if let (Some(reply), Some(volatile)) = (reply.as_object_mut(), volatile.and_then(|parts| parts.0.as_object())) {
        let parts = VOLATILE.iter().filter_map(|key| volatile.get_key_value(*key));
        reply.extend(parts.map(|(key, value)| (key.clone(), value.clone())));
    }
    reply
}
