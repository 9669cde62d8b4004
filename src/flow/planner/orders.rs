//! The orders to whoever carries out a plan: adapters make the changes, in a dry run first.

use std::collections::BTreeSet;

/// The orders for these adapters, each named once, in their order.
pub fn orders<'t>(tools: impl IntoIterator<Item = &'t str>) -> String {
    let mut named = BTreeSet::new();
    let mut lines: Vec<String> = tools
        .into_iter()
        .filter(|tool| named.insert(*tool))
        .map(|tool| format!("Use the {tool} DTA in dry-run mode first."))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    lines.push("Attach the generated patch to your PR summary and wait for Gate.".to_owned());
    lines.push("Do NOT write files directly; only through the adapter.".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orders_are_word_for_word() {
        let expected = "Use the link_updater DTA in dry-run mode first.\n\
                        Attach the generated patch to your PR summary and wait for Gate.\n\
                        Do NOT write files directly; only through the adapter.";
        assert_eq!(orders(["link_updater"]), expected);
        let both = orders(["link_updater", "rename_refactor", "link_updater"]);
        assert_eq!(both.lines().count(), 4);
        assert_eq!(orders([]), "");
    }
}
