//! The value that edits lead to, made by code that knows nothing of texts.

use serde_json::Value;

use super::edit::{Edit, Refused};

/// Makes edits of a value.
pub(super) fn apply(mut root: Value, edits: &[Edit]) -> Result<Value, Refused> {
    for edit in edits {
        let refuse = || Refused::new(edit.pointer(), "the value has no such place");
        step(&mut root, edit).ok_or_else(refuse)?;
    }
    Ok(root)
}

fn step(root: &mut Value, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Set { pointer, value } => *root.pointer_mut(pointer)? = value.clone(),
        Edit::Insert { pointer, value } => insert(root, pointer, value.clone())?,
        Edit::Remove { pointer } => drop(remove(root, pointer)?),
        Edit::Rename { pointer, key } => {
            let (parent, _) = pointer.rsplit_once('/')?;
            let value = remove(root, pointer)?;
            let previous = root.pointer_mut(parent)?.as_object_mut()?.insert(key.clone(), value);
            return previous.is_none().then_some(());
        }
        Edit::Move { from, to } => {
            let value = remove(root, from)?;
            insert(root, to, value)?;
        }
        Edit::WrapArray { pointer } => {
            let place = root.pointer_mut(pointer)?;
            *place = Value::Array(vec![place.take()]);
        }
    }
    Some(())
}

fn insert(root: &mut Value, pointer: &str, value: Value) -> Option<()> {
    let (parent, name) = pointer.rsplit_once('/')?;
    match root.pointer_mut(parent)? {
        Value::Array(items) => {
            let at = if name == "-" { items.len() } else { index(name)? };
            if at > items.len() {
                return None;
            }
            items.insert(at, value);
        }
        Value::Object(members) => {
            let previous = members.insert(unescaped(name), value);
            return previous.is_none().then_some(());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    }
    Some(())
}

fn remove(root: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, name) = pointer.rsplit_once('/')?;
    match root.pointer_mut(parent)? {
        Value::Array(items) => {
            let at = index(name).filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        Value::Object(members) => members.remove(&unescaped(name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The tokens of a JSON Pointer.
pub(super) fn tokens(pointer: &str) -> Result<Vec<String>, String> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer.strip_prefix('/').ok_or("a JSON Pointer begins with `/`")?;
    Ok(rest.split('/').map(unescaped).collect())
}

fn unescaped(token: &str) -> String {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~") } else { token.to_owned() }
}

/// The index that a token is: digits without a leading zero.
pub(super) fn index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || (token.bytes().all(|byte| byte.is_ascii_digit()) && !token.starts_with('0'));
    is_plain.then(|| token.parse().ok()).flatten()
}
