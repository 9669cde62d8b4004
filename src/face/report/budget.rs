//! The amount spent of each budget.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{format, material::Material, model::Spent};
use base::path::RepoPath;
use record::event::Event;

/// The order in which budgets are told; others follow.
const ORDER: &[&str] = &["calls", "files", "diff_lines", "bytes", "wall_s", "exec_s", "tokens", "cost"];

/// Each budget that has a limit, with what was spent of it.
pub(super) fn of(material: &Material<'_>) -> Vec<Spent> {
    let used = used(material);
    let limits = material.limits().as_object().into_iter().flatten();
    let spent = |(name, limit): (&String, &Value)| {
        let used = used.get(name.as_str()).copied().unwrap_or(0.0);
        Some(Spent { name: name.clone(), used, limit: limit.as_f64()? })
    };
    // How large a record is, it does not say of itself.
    let mut all: Vec<Spent> = limits.filter(|(name, _)| *name != "record").filter_map(spent).collect();
    let rank = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    all.sort_by_key(|spent| rank(&spent.name));
    all
}

fn used(material: &Material<'_>) -> BTreeMap<&'static str, f64> {
    let mut used = BTreeMap::new();
    let ended = material.ended();
    let calls = || material.of(Event::call).count() as u64;
    used.insert("calls", ended.and_then(|end| end.calls).unwrap_or_else(calls) as f64);
    used.insert("wall_s", material.duration_ms().unwrap_or(0) as f64 / 1000.0);
    for (name, amount) in material.of(Event::call).flat_map(|(_, call)| call.whole_cost().amounts()) {
        // What programs took is counted finer than it is limited.
        let (name, unit) = if name == "exec_ms" { ("exec_s", 1000.0) } else { (name, 1.0) };
        *used.entry(name).or_default() += amount as f64 / unit;
    }
    if material.of(Event::call).all(|(_, call)| call.cost.is_none()) {
        let entries = || material.of(Event::committed).flat_map(|(_, committed)| &committed.entries);
        let files: BTreeSet<&RepoPath> = entries().map(|entry| &entry.path).collect();
        used.insert("files", files.len() as f64);
        used.insert("bytes", entries().filter_map(|entry| entry.after).map(|after| after.length as f64).sum());
        used.insert("diff_lines", ended.map_or(0.0, |end| end.diff_lines as f64));
    }
    used
}

impl Spent {
    /// The words for it.
    pub fn label(&self) -> &str {
        match self.name.as_str() {
            "diff_lines" => "diff lines",
            "wall_s" => "time",
            "exec_s" => "programs",
            name => name,
        }
    }

    /// How much of the limit was used, from 0 to 1.
    pub fn share(&self) -> f64 {
        if self.limit > 0.0 { (self.used / self.limit).clamp(0.0, 1.0) } else { f64::from(u8::from(self.used > 0.0)) }
    }

    /// An amount of it as people read it.
    pub fn told(&self, amount: f64) -> String {
        match self.name.as_str() {
            "wall_s" | "exec_s" => format::duration((amount * 1000.0) as u64),
            "bytes" => format::bytes(amount as u64),
            // In millionths.
            "cost" => format::millionths(amount as u64),
            _ => format::number(amount as u64),
        }
    }
}
