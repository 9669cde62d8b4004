//! Code of a match that belongs to no variable.

use std::ops::Range;

use ast_grep_core::{
    NodeMatch,
    meta_var::{MetaVarEnv, MetaVariable},
    tree_sitter::StrDoc,
};

use super::grammar::Grammar;

/// True if a range is within the nodes of a variable.
fn holds(env: &MetaVarEnv<'_, StrDoc<Grammar>>, range: &Range<usize>) -> bool {
    let covers = |first: Range<usize>, last: Range<usize>| first.start <= range.start && range.end <= last.end;
    env.get_matched_variables().any(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).is_some_and(|node| covers(node.range(), node.range())),
        MetaVariable::MultiCapture(name) => {
            let nodes = env.get_multiple_matches(&name);
            nodes.first().zip(nodes.last()).is_some_and(|(first, last)| covers(first.range(), last.range()))
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => false,
    })
}

/// True if a match has code that was not understood and belongs to no variable. A pattern goes over it, so that it would be lost.
pub(super) fn has_lost_error(found: &NodeMatch<'_, StrDoc<Grammar>>) -> bool {
    let node = found.get_node();
    node.get_inner_node().has_error()
        && node.dfs().any(|inner| inner.is_error() && !holds(found.get_env(), &inner.range()))
}
