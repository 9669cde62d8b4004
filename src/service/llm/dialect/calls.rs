//! The tool calls of a reply, put together from pieces that servers number in many ways.
//!
//! A number alone does not identify a call: some servers number every call 0, others number none, and some make a new id for every
//! piece. A piece that may belong to two calls is an error.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::{
    error::{Kind, lasting, quoted},
    message::ToolCall,
};
use base::{error::Error, json};

/// The most tool calls that a reply may have.
const MAX_CALLS: usize = 4096;

/// The number of the one call that has none, in the form from before there were several.
pub(super) const LEGACY: u64 = u64::MAX;

/// A piece of a tool call, as an event has it.
#[derive(Debug, Default)]
pub(super) struct CallPiece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl CallPiece {
    /// A piece with its number and id, and with what its function has of the name and the arguments: text, or a value for all of them.
    pub(super) fn new(index: Option<u64>, id: &Value, function: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = if id.is_number() { id.to_string() } else { text(id) };
        let arguments = ["arguments", "parameters", "input"].map(|field| &function[field]);
        let arguments = match arguments.into_iter().find(|value| !value.is_null()) {
            None => String::new(),
            Some(Value::String(more)) => more.clone(),
            Some(value) => value.to_string(),
        };
        CallPiece { index, id, name: text(&function["name"]), arguments }
    }

    /// More arguments of the call with this number.
    pub(super) fn more(index: u64, arguments: &str) -> Self {
        CallPiece { index: Some(index), arguments: arguments.to_owned(), ..CallPiece::default() }
    }

    fn is_empty(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }
}

/// The tool calls so far, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<CallPiece>);

impl Calls {
    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of calls.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the pieces of one event, and returns the length of the longest arguments that they extend.
    pub(super) fn take(&mut self, pieces: Vec<CallPiece>) -> Result<usize, Error> {
        // Two named pieces of one event are two calls.
        let mut taken = Vec::new();
        let mut longest = 0;
        for piece in pieces {
            let at = match self.place(&piece, &taken)? {
                Place::Nowhere => continue,
                Place::New => self.begin(piece)?,
                Place::At(at) => self.extend(at, piece)?,
            };
            taken.push(at);
            longest = longest.max(self.0[at].arguments.len());
        }
        Ok(longest)
    }

    /// Takes a whole call, and returns the length of its arguments.
    pub(super) fn take_whole(&mut self, call: CallPiece) -> Result<usize, Error> {
        let at = self.begin(call)?;
        Ok(self.0[at].arguments.len())
    }

    fn begin(&mut self, piece: CallPiece) -> Result<usize, Error> {
        if self.0.len() >= MAX_CALLS {
            return Err(lasting(Kind::Server, format!("the reply calls more than {MAX_CALLS} tools")));
        }
        self.0.push(piece);
        Ok(self.0.len() - 1)
    }

    fn extend(&mut self, at: usize, piece: CallPiece) -> Result<usize, Error> {
        let call = &mut self.0[at];
        if !call.name.is_empty() && !piece.name.is_empty() && call.name != piece.name {
            let names = format!("one of them is `{}` and `{}`", quoted(&call.name), quoted(&piece.name));
            return Err(doubtful(&names));
        }
        // A later id is another spelling: some servers make one for every piece.
        for (known, told) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if known.is_empty() {
                *known = told;
            }
        }
        call.arguments.push_str(&piece.arguments);
        Ok(at)
    }

    fn place(&self, piece: &CallPiece, taken: &[usize]) -> Result<Place, Error> {
        let has_id = |call: &&CallPiece| !piece.id.is_empty() && call.id == piece.id;
        let is_numbered = |call: &&CallPiece| piece.index.is_some() && call.index == piece.index;
        let find = |test: &dyn Fn(&&CallPiece) -> bool| self.0.iter().rposition(|call| test(&call));
        let same = find(&|call| has_id(call) && (piece.index.is_none() || call.index.is_none() || is_numbered(call)));
        let numbered = find(&is_numbered);
        match (same, piece.name.is_empty()) {
            _ if piece.is_empty() => Ok(Place::Nowhere),
            (Some(at), false) if taken.contains(&at) => Ok(Place::New),
            (Some(at), _) => Ok(Place::At(at)),
            // A second number for a call, or a second call with its id.
            (None, false) if find(&has_id).is_some_and(|at| !self.0[at].has_all()) => {
                Err(doubtful(&format!("the id `{}` has several numbers", quoted(&piece.id))))
            }
            (None, false) => self.named(piece, numbered, taken),
            // The id says more than a number that changes.
            (None, true) => match find(&has_id).or(numbered) {
                Some(at) => Ok(Place::At(at)),
                None => self.nameless(piece, taken),
            },
        }
    }

    /// The place of a piece with a name, and with an id that is new, or without one.
    fn named(&self, piece: &CallPiece, numbered: Option<usize>, taken: &[usize]) -> Result<Place, Error> {
        let last = || self.0.len().checked_sub(1).filter(|_| piece.index.is_none());
        let Some(at) = numbered.or_else(last).filter(|at| !taken.contains(at)) else { return Ok(Place::New) };
        let call = &self.0[at];
        let is_another = (!piece.id.is_empty() && !call.id.is_empty()) || call.has_all();
        if is_another {
            return Ok(Place::New);
        }
        if call.name.is_empty() {
            return Ok(Place::At(at));
        }
        match (call.name == piece.name, call.arguments.trim().is_empty()) {
            (true, false) => Ok(Place::At(at)),
            (true, true) => Err(doubtful(&format!("`{}` is called once, or twice", quoted(&piece.name)))),
            (false, _) => Ok(Place::New),
        }
    }

    /// The place of a piece of arguments whose number is new, or which has none.
    fn nameless(&self, piece: &CallPiece, taken: &[usize]) -> Result<Place, Error> {
        let open: Vec<usize> = (0..self.0.len()).filter(|at| !self.0[*at].has_all()).collect();
        match (piece.index, open.as_slice()) {
            // White space behind the calls says nothing; inside of one it may be a part of a text.
            (_, []) if piece.id.is_empty() && piece.arguments.trim().is_empty() => Ok(Place::Nowhere),
            // Its name may follow.
            _ if !piece.id.is_empty() => Ok(Place::New),
            // A number that counts calls, after a call that was begun with another.
            (Some(index), [at]) if *at as u64 == index && at + 1 == self.0.len() => Ok(Place::At(*at)),
            (None, [at]) if !taken.contains(at) => Ok(Place::At(*at)),
            _ => Err(doubtful(&format!("arguments belong to no call: `{}`", quoted(&piece.arguments)))),
        }
    }

    /// True if other calls are the same: these may be repeated.
    pub(super) fn are(&self, others: &Calls) -> bool {
        let is_same = |one: &CallPiece, other: &CallPiece| {
            let ids = one.id.is_empty() || other.id.is_empty() || one.id == other.id;
            ids && one.name == other.name && one.value().ok() == other.value().ok()
        };
        self.0.len() == others.0.len() && self.0.iter().zip(&others.0).all(|(one, other)| is_same(one, other))
    }

    /// The calls with their arguments as values, and each with an id of its own. `cut` is true if the reply was cut off.
    pub(super) fn whole(self, cut: bool) -> Result<Vec<ToolCall>, Error> {
        let last = self.0.len().saturating_sub(1);
        if last > 0 && self.0.iter().any(|call| call.index == Some(LEGACY)) {
            return Err(doubtful("one comes as `function_call`, and others as `tool_calls`"));
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        let given: Vec<String> = self.0.iter().map(|call| call.id.clone()).collect();
        for (at, call) in self.0.into_iter().enumerate() {
            let arguments = call.checked(cut, at == last)?;
            // Not every server gives calls an id, or each its own.
            let is_own = !call.id.is_empty() && !given[..at].contains(&call.id);
            let id = if is_own { call.id } else { free_id(at, &given, &calls) };
            calls.push(ToolCall { id, name: call.name, arguments });
        }
        Ok(calls)
    }
}

/// The place of a piece.
enum Place {
    /// It belongs to the call at this position.
    At(usize),
    /// It begins a call.
    New,
    /// It says nothing.
    Nowhere,
}

impl CallPiece {
    /// True if the arguments are complete.
    fn has_all(&self) -> bool {
        serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
    }

    fn value(&self) -> serde_json::Result<Value> {
        json::parse_distinct(if self.arguments.trim().is_empty() { "{}" } else { &self.arguments })
    }

    fn checked(&self, cut: bool, is_last: bool) -> Result<Value, Error> {
        let name = quoted(&self.name);
        if self.name.is_empty() {
            return Err(lasting(Kind::Server, "the reply calls a tool without a name")
                .detail("excerpt", quoted(&self.arguments))
                .hint(HINT));
        }
        let is_cut = || lasting(Kind::Truncated, format!("the call of `{name}` was cut off"));
        match self.value() {
            // It may have been cut off before its arguments.
            Ok(_) if cut && is_last && self.arguments.trim().is_empty() => Err(is_cut()),
            Ok(arguments) => Ok(arguments),
            Err(_) if cut => Err(is_cut()),
            Err(error) => Err(lasting(Kind::MalformedJson, format!("the arguments of `{name}` are not JSON: {error}"))
                .detail("excerpt", quoted(&self.arguments))),
        }
    }
}

/// An id for a call without one of its own.
fn free_id(at: usize, given: &[String], calls: &[ToolCall]) -> String {
    let mut id = format!("call_{}", at + 1);
    while given.contains(&id) || calls.iter().any(|call| call.id == id) {
        id.push('_');
    }
    id
}

/// The next step where calls are unclear.
const HINT: &str = "set `stream = false` for the provider, so that calls come whole, or use another server";

fn doubtful(why: &str) -> Error {
    lasting(Kind::Server, format!("the tool calls of the reply can't be told apart: {why}")).hint(HINT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The ways servers number the pieces of consecutive calls.
    type Numbering = fn(call: usize, piece: usize) -> (Option<u64>, String);

    const NUMBERINGS: [Numbering; 6] = [
        |call, piece| (Some(call as u64), if piece == 0 { format!("c{call}") } else { String::new() }),
        |call, piece| (Some(0), if piece == 0 { format!("c{call}") } else { String::new() }),
        |call, piece| (None, if piece == 0 { format!("c{call}") } else { String::new() }),
        |call, _| (None, format!("c{call}")),
        |call, piece| (Some(call as u64), format!("c{call}{}", "x".repeat(piece))),
        |call, piece| {
            (
                Some(if piece == 0 { 0 } else { call as u64 }),
                if piece == 0 { format!("c{call}") } else { String::new() },
            )
        },
    ];

    proptest! {
        #[test]
        fn calls_are_whole_however_they_are_cut_and_numbered(
            texts in prop::collection::vec("[ a\"\\\\{}\n]{0,12}", 1..4), size in 1_usize..6, numbering in 0..NUMBERINGS.len(),
        ) {
            let mut calls = Calls::default();
            for (call, text) in texts.iter().enumerate() {
                let arguments = json!({"text": text}).to_string();
                let cut: Vec<char> = arguments.chars().collect();
                let pieces = std::iter::once(String::new()).chain(cut.chunks(size).map(|piece| piece.iter().collect()));
                for (piece, more) in pieces.enumerate() {
                    let (index, id) = NUMBERINGS[numbering](call, piece);
                    let name = if piece == 0 { "write" } else { "" };
                    let function = json!({"name": name, "arguments": more});
                    calls.take(vec![CallPiece::new(index, &json!(id), &function)]).unwrap();
                }
            }
            let found: Vec<_> = calls.whole(false).unwrap().into_iter().map(|call| (call.id, call.arguments)).collect();
            let expected: Vec<_> = texts.iter().enumerate().map(|(call, text)| (format!("c{call}"), json!({"text": text}))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
