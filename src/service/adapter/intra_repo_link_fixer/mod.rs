//! `intra_repo_link_fixer`: repairs links between the files of a repository, and changes no other byte.
//!
//! `docs/internals/link-rules.md` defines links, targets, anchors and repairs. A broken link is repaired if one target is certain;
//! else it is listed with the candidates. The steps: `page` reads a file, `resolve` follows its links through `tree`,
//! `diagnosis` finds defects, `repair` decides, `spelling` writes a destination, and `rewrite` proves the new file.
//!
//! `verify` and its modules share nothing with the proposing side but `params`, the wire types.

mod blocks;
mod diagnosis;
mod heading;
mod hidden;
mod history;
mod includes;
mod near;
mod page;
mod params;
mod propose;
mod reference;
mod repair;
mod resolve;
mod rewrite;
mod roots;
mod scheme;
mod site;
mod slug;
mod spelling;
mod tree;
mod verify;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "corpora are files of the repository")]
mod tests;

use crate::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    envelope,
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct IntraRepoLinkFixer;

impl Adapter for IntraRepoLinkFixer {
    fn name(&self) -> &str {
        "intra_repo_link_fixer"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "repair broken links between files of a repository"
    }

    fn params_schema(&self) -> &str {
        include_str!("params.schema.json")
    }

    fn counts(&self) -> Counted<'_> {
        let own = [
            ("links_total", "Links within the repository."),
            ("links_broken", "Those without a target or an anchor, allowed ones aside."),
            ("links_broken_target", "Broken links whose path leads to nothing."),
            ("links_broken_anchor", "Broken links whose target lacks the anchor."),
            ("links_allowed", "Links without a target or an anchor that `params.allow_broken` names."),
            ("links_unknown", "Links whose target another copy of the tree may have: they are not judged."),
        ];
        let repairs = [
            envelope::FILES,
            ("repairs", "Repaired links. Each counts in one of the kinds below."),
            ("repairs_chosen", "Repairs that `params.choose` names."),
            ("repairs_decoded", "Repairs by decoding the path or anchor again."),
            ("repairs_case", "Repairs of upper and lower case."),
            ("repairs_moved", "Repairs after files that Git's history shows to have moved."),
            ("repairs_content", "Repairs by a content that Git's history knows at the old path."),
            ("repairs_name", "Repairs by the only file of that name."),
            ("repairs_anchor", "Repairs by the only near anchor."),
        ];
        Counted {
            baseline: [&envelope::SURVEYED[..], &own].concat(),
            changes: repairs.to_vec(),
            work: Some("links_broken"),
        }
    }

    fn domain(&self) -> Vec<&str> {
        vec![
            "**/*.md",
            "**/*.markdown",
            "**/*.mdown",
            "**/*.mkd",
            "**/*.mkdn",
            "**/*.mdx",
            "**/*.MD",
            "**/*.MARKDOWN",
            "**/*.MDX",
        ]
    }

    fn looks_at(&self, _input: &Invocation) -> Vec<&str> {
        let pages = ["**/*.html", "**/*.htm", "**/*.xhtml", "**/*.HTML", "**/*.HTM", "**/*.XHTML"];
        [self.domain(), pages.to_vec()].concat()
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.looks_at(input))
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        verify::measure(ctx, input, evidence)
    }
}
