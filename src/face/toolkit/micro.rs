//! Micro-edits from Rust, without a script: every edit is a run of its own, under the workspace's policy and in its record.
//!
//! The program's own call is the decision: no confirmation is asked for, and only the gates can stop it.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use base::{
    call::Call,
    error::{Code, Error},
    micro::{self, By, Edit, Find, Handle, Tool},
};
use host::{Context, Host, Options, Position, Request, Silent};
use service::edit::EditOutcome;
use system::workspace::Workspace;

/// The target of an edit.
///
/// ```
/// use nrv::edit::Target;
///
/// let target = Target::Selector("index.html", "#menu > .item");
/// assert_ne!(target, Target::Line("index.html", 12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'t> {
    /// A file alone, for an import that it has once.
    File(&'t str),
    /// A file and a line, from 1.
    Line(&'t str, u64),
    /// A file and a CSS selector of the element, or of the rule of a style sheet.
    Selector(&'t str, &'t str),
    /// A place that was found.
    Handle(&'t Handle),
}

impl Target<'_> {
    fn params(self) -> Value {
        match self {
            Target::File(path) => json!({"path": path}),
            Target::Line(path, line) => json!({"path": path, "line": line}),
            Target::Selector(path, selector) => json!({"path": path, "selector": selector}),
            Target::Handle(handle) => json!({"target": handle}),
        }
    }
}

/// Changes one place on one line at a time.
///
/// ```
/// use nrv::{MicroChangeToolkit, Workspace, edit::Target};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("index.html"), "<p class=\"lead p-2\">Hello</p>\n")?;
/// let toolkit = MicroChangeToolkit::new(&Workspace::open(folder.path())?)?;
/// let outcome = toolkit.update_class_name(Target::Line("index.html", 1), "p-2", "p-4")?;
/// toolkit.update_text_content(Target::Handle(&outcome.target), "Hello", "Welcome").expect_err("a class is no text");
/// toolkit.update_text_content(Target::Selector("index.html", ".lead"), "Hello", "Welcome")?;
/// assert_eq!(std::fs::read(folder.path().join("index.html"))?, b"<p class=\"lead p-4\">Welcome</p>\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MicroChangeToolkit {
    context: Context,
}

impl MicroChangeToolkit {
    /// Makes a toolkit for a workspace under the policy of its `nrv.toml`.
    pub fn new(workspace: &Workspace) -> Result<Self, Error> {
        let workspace = Workspace::open(workspace.root())?;
        Context::new(workspace, Options::default()).map(MicroChangeToolkit::with_context)
    }

    /// Makes a toolkit with a context of the program's own.
    pub fn with_context(context: Context) -> Self {
        MicroChangeToolkit { context }
    }

    /// The tools as language models are told of them: `{name, description, input_schema}`.
    pub fn definitions(by: By) -> Vec<Value> {
        micro::definitions(by)
    }

    /// Finds targets.
    pub fn find(&self, find: &Find) -> Result<Vec<Handle>, Error> {
        self.run("find targets", Call::EditFind(Box::new(find.clone())))
    }

    /// Makes the edit of a model's tool call: a name in snake case or camel case, with canonical parameters.
    pub fn call(&self, name: &str, params: &Value) -> Result<EditOutcome, Error> {
        self.make(&Edit::parse(micro::tool_of(name)?, params)?)
    }

    /// Makes an edit.
    pub fn make(&self, edit: &Edit) -> Result<EditOutcome, Error> {
        self.run(edit.tool.as_str(), Call::EditMake(Box::new(edit.clone())))
    }

    /// Replaces classes of an element.
    pub fn update_class_name(&self, target: Target<'_>, old: &str, new: &str) -> Result<EditOutcome, Error> {
        self.edit(Tool::UpdateClassName, target, json!({"old": old, "new": new}))
    }

    /// Replaces the value of a property in a style sheet, a `style` attribute or a style object.
    pub fn update_style_value(
        &self,
        target: Target<'_>,
        property: &str,
        old: &str,
        new: &str,
    ) -> Result<EditOutcome, Error> {
        self.edit(Tool::UpdateStyleValue, target, json!({"property": property, "old": old, "new": new}))
    }

    /// Replaces text between tags.
    pub fn update_text_content(&self, target: Target<'_>, old: &str, new: &str) -> Result<EditOutcome, Error> {
        self.edit(Tool::UpdateTextContent, target, json!({"old": old, "new": new}))
    }

    /// Replaces the literal value of a prop or attribute.
    pub fn update_prop_value(
        &self,
        target: Target<'_>,
        prop: &str,
        old: &str,
        new: &str,
    ) -> Result<EditOutcome, Error> {
        self.edit(Tool::UpdatePropValue, target, json!({"prop": prop, "old": old, "new": new}))
    }

    /// Replaces the module path of an import.
    pub fn update_import(&self, target: Target<'_>, old: &str, new: &str) -> Result<EditOutcome, Error> {
        self.edit(Tool::UpdateImport, target, json!({"old": old, "new": new}))
    }

    /// Adds an ARIA attribute to an element. A line needs the element's name.
    pub fn add_aria_attribute(
        &self,
        target: Target<'_>,
        element: Option<&str>,
        attribute: &str,
        value: &str,
    ) -> Result<EditOutcome, Error> {
        let mut params = json!({"attribute": attribute, "value": value});
        if let Some(element) = element {
            params["element"] = json!(element);
        }
        self.edit(Tool::AddAriaAttribute, target, params)
    }

    fn edit(&self, tool: Tool, target: Target<'_>, mut params: Value) -> Result<EditOutcome, Error> {
        if let (Value::Object(params), Value::Object(target)) = (&mut params, target.params()) {
            params.extend(target);
        }
        self.make(&Edit::parse(tool, &params)?)
    }

    fn run<T: DeserializeOwned>(&self, name: &str, call: Call) -> Result<T, Error> {
        let mut host = Host::start(&self.context, Request::program(&self.context, name), &mut Silent)?;
        let outcome = host.perform(&Position::nth(1), call, &mut Silent);
        let finished = host.finish(outcome, &mut Silent)?;
        match finished.error {
            Some(error) => Err(error),
            None => serde_json::from_value(finished.result)
                .map_err(|error| Error::new(Code::Internal, format!("a reply can't be read: {error}"))),
        }
    }
}
