//! The definition of `nrv edit`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Mutation, StrictTools};
use base::micro::{By, Kind, Tool};

/// Arguments of `nrv edit`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  nrv edit update_class_name --path src/App.tsx --line 12 --old p-2 --new p-4
  nrv edit update_style_value --path site.css --selector .menu --property color --old red --new blue --yes
  nrv edit find --kind class --glob 'src/**/*.tsx' --name p-2 --json
  nrv edit tools --json"
)]
pub(in crate::face::cli) struct EditArguments {
    /// Answer requests on stdin, one JSON document a line; touches no file
    #[arg(long)]
    pub(in crate::face::cli) jsonl: bool,
    #[command(subcommand)]
    pub(in crate::face::cli) command: Option<EditCommand>,
}

/// Commands of `nrv edit`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum EditCommand {
    #[command(flatten)]
    Make(MakeCommand),
    /// Find targets, and print their handles
    #[command(after_help = "Example:\n  nrv edit find --kind class --glob 'src/**/*.tsx' --name p-2 --json")]
    Find(FindArguments),
    /// Print the edits as tools for language models
    #[command(after_help = "Example:\n  nrv edit tools --by selector --json")]
    Tools {
        /// Address of the targets
        #[arg(long, value_enum, default_value_t = Address::Line)]
        by: Address,
    },
}

/// The edits, one a tool.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum MakeCommand {
    /// Add an ARIA attribute to an element
    #[command(
        name = "add_aria_attribute",
        aliases = ["addAriaAttribute", "add-aria-attribute"],
        after_help = "Example:\n  nrv edit add_aria_attribute --path a.html --selector nav --attribute aria-label --value Menu"
    )]
    AddAriaAttribute(OneEdit),
    /// Replace classes of an element
    #[command(
        name = "update_class_name",
        aliases = ["updateClassName", "update-class-name"],
        after_help = "Example:\n  nrv edit update_class_name --path src/App.tsx --line 12 --old p-2 --new p-4"
    )]
    UpdateClassName(OneEdit),
    /// Replace the module path of an import
    #[command(
        name = "update_import",
        aliases = ["updateImport", "update-import"],
        after_help = "Example:\n  nrv edit update_import --path src/App.tsx --old ./old --new ./new"
    )]
    UpdateImport(OneEdit),
    /// Replace the literal value of a prop or attribute
    #[command(
        name = "update_prop_value",
        aliases = ["updatePropValue", "update-prop-value"],
        after_help = "Example:\n  nrv edit update_prop_value --path a.html --line 3 --prop title --old Old --new New"
    )]
    UpdatePropValue(OneEdit),
    /// Replace the value of a property in a style sheet, a style attribute or a style object
    #[command(
        name = "update_style_value",
        aliases = ["updateStyleValue", "update-style-value"],
        after_help = "Example:\n  nrv edit update_style_value --path a.css --selector .a --property color --old red --new blue"
    )]
    UpdateStyleValue(OneEdit),
    /// Replace text between tags
    #[command(
        name = "update_text_content",
        aliases = ["updateTextContent", "update-text-content"],
        after_help = "Example:\n  nrv edit update_text_content --path a.html --line 9 --old Hello --new Welcome"
    )]
    UpdateTextContent(OneEdit),
}

impl MakeCommand {
    /// The tool, with its arguments.
    pub(in crate::face::cli) fn one(&self) -> (Tool, &OneEdit) {
        match self {
            MakeCommand::AddAriaAttribute(one) => (Tool::AddAriaAttribute, one),
            MakeCommand::UpdateClassName(one) => (Tool::UpdateClassName, one),
            MakeCommand::UpdateImport(one) => (Tool::UpdateImport, one),
            MakeCommand::UpdatePropValue(one) => (Tool::UpdatePropValue, one),
            MakeCommand::UpdateStyleValue(one) => (Tool::UpdateStyleValue, one),
            MakeCommand::UpdateTextContent(one) => (Tool::UpdateTextContent, one),
        }
    }
}

/// The address of targets.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::face::cli) enum Address {
    /// A line
    Line,
    /// A selector
    Selector,
}

impl From<Address> for By {
    fn from(address: Address) -> Self {
        match address {
            Address::Line => By::Line,
            Address::Selector => By::Selector,
        }
    }
}

/// The parameters of one edit. Canonical names, such as `--old-class-name`, are accepted too.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct OneEdit {
    /// JSON file with the parameters, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) params: Option<PathBuf>,
    /// Handle of `nrv edit find` as JSON, or a path with a line, such as src/App.tsx:12
    #[arg(long)]
    pub(in crate::face::cli) target: Option<String>,
    /// File, relative to the workspace
    #[arg(long, alias = "file-path")]
    pub(in crate::face::cli) path: Option<String>,
    /// Line of the present text; the first line is 1
    #[arg(long, alias = "line-number", value_name = "N")]
    pub(in crate::face::cli) line: Option<u64>,
    /// CSS selector of the element, or of the rule of a style sheet
    #[arg(long)]
    pub(in crate::face::cli) selector: Option<String>,
    /// Name of the element that gets an attribute
    #[arg(long)]
    pub(in crate::face::cli) element: Option<String>,
    /// Prop, property or attribute
    #[arg(long, visible_aliases = ["prop", "property", "attribute"])]
    pub(in crate::face::cli) name: Option<String>,
    /// Present text
    #[arg(long, aliases = ["old-class-name", "old-class", "old-value", "old-text", "old-path"], allow_hyphen_values = true)]
    pub(in crate::face::cli) old: Option<String>,
    /// New text
    #[arg(
        long,
        visible_alias = "value",
        aliases = ["new-class-name", "new-class", "new-value", "new-text", "new-path"],
        allow_hyphen_values = true
    )]
    pub(in crate::face::cli) new: Option<String>,
    /// Number of the match, from 1, if there are several
    #[arg(long, value_name = "N")]
    pub(in crate::face::cli) nth: Option<u64>,
    /// Look for a target that has moved, and change it if there is only one
    #[arg(long)]
    pub(in crate::face::cli) relocate: bool,
    #[command(flatten)]
    pub(in crate::face::cli) mutation: Mutation,
    #[command(flatten)]
    pub(in crate::face::cli) tools: StrictTools,
}

/// Arguments of `nrv edit find`.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct FindArguments {
    /// Kind of target
    #[arg(long, value_parser = kind)]
    pub(in crate::face::cli) kind: Kind,
    /// Glob of the files; repeat it for several, `!` excludes
    #[arg(long, required = true)]
    pub(in crate::face::cli) glob: Vec<String>,
    /// CSS selector of the element, or of the rule of a style sheet
    #[arg(long)]
    pub(in crate::face::cli) selector: Option<String>,
    /// Text that the target holds
    #[arg(long)]
    pub(in crate::face::cli) text: Option<String>,
    /// Class, element, module, prop or property
    #[arg(long)]
    pub(in crate::face::cli) name: Option<String>,
}

/// Parses the name of a kind.
fn kind(name: &str) -> Result<Kind, String> {
    let names = || Kind::ALL.map(Kind::as_str).join(", ");
    Kind::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| format!("there is {}", names()))
}
