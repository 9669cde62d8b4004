//! `link_updater`: moves every link from old hosts to new ones, and changes no other byte.
//!
//! The reader of a format defines its links and the accepted spellings of a host. HTML has these links:
//!
//! - the attributes that the standard gives URLs, `srcset`, `ping` and `<meta http-equiv=refresh>` among them;
//! - `og:` and `twitter:` URLs;
//! - CSS in `style` attributes and `<style>`;
//! - links in `<template>` and `<noscript>`, and JSON-LD on request.
//!
//! Text, comments, other scripts, `data-*`, `alt`, `title` and `srcdoc` stay. A link of one or no slash (`http:/host`) depends
//! on the page's own address and stays. One that begins with `//` is read as on an https page. `format.rs` lists the other
//! formats; a file of its own defines the links of each.
//!
//! A file with more than one reading is skipped with that reason. An example is a page in which browsers must repair tags
//! around `<svg>`, `<math>`, `<select>` or the like, so that text could be markup.
//!
//! `verify` and its modules share nothing with the proposing side but `params`, the wire types.

mod census;
mod format;
mod left;
mod link_text;
mod origin;
mod params;
mod parts;
mod propose;
mod rewrite;
mod target;
mod verify;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests;

use self::format::Format;
use crate::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    envelope,
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct LinkUpdater;

impl Adapter for LinkUpdater {
    fn name(&self) -> &str {
        "link_updater"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "move every link from old hosts to new ones"
    }

    fn params_schema(&self) -> &str {
        include_str!("params.schema.json")
    }

    fn counts(&self) -> Counted<'_> {
        let own = [
            ("links_total", "URLs in the scanned files, relative ones too where a format has them."),
            ("links_to_update", "URLs that have to move."),
            ("files_*", "Scanned files, for each format that occurs."),
            ("links_*", "URLs in them, for each format that occurs."),
            ("updates_*", "URLs that have to move, for each format that occurs."),
            ("left_*", "Files and lines in which an old host stands after the move, if there are some."),
        ];
        let changes = vec![envelope::FILES, ("link_updates", "Links.")];
        Counted { baseline: [&envelope::SURVEYED[..], &own].concat(), changes, work: Some("links_to_update") }
    }

    fn domain(&self) -> Vec<&str> {
        format::GLOBS.iter().map(|(glob, _)| *glob).collect()
    }

    fn looks_at(&self, input: &Invocation) -> Vec<&str> {
        Format::globs(&input.params)
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.looks_at(input))
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        verify::measure(ctx, input, evidence)
    }
}
