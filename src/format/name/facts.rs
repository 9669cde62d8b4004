//! The meaning of a name in one file: its bindings with their places, and the places that no binding of the file explains.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde::{Deserialize, Serialize};

/// The new name beside the old one.
#[derive(Clone, Copy)]
pub struct Change<'n> {
    /// The name that is sought.
    pub from: &'n str,
    /// The name that it shall get.
    pub to: &'n str,
}

/// The kind of a declared thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A class, a structure or another nominal type with members.
    Class,
    /// A function.
    Function,
    /// A name that an import binds.
    Import,
    /// A parameter.
    Parameter,
    /// Another type, or a parameter of types.
    Type,
    /// A variable or a constant.
    Variable,
}

impl Kind {
    /// True for a class and a function, of which running code may read the name.
    pub fn has_name(self) -> bool {
        matches!(self, Kind::Class | Kind::Function)
    }

    /// The word for readers.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Class => "class",
            Kind::Function => "function",
            Kind::Import => "import",
            Kind::Parameter => "parameter",
            Kind::Type => "type",
            Kind::Variable => "variable",
        }
    }
}

/// The text that a renamed place gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The new name.
    Plain,
    /// `old: new`: a member keeps its name, and its value gets the new one.
    Member,
    /// `new: old`: a member gets the new name, and its value keeps its own.
    Key,
    /// `new as old`: others go on to know it by the old name.
    ExportedAs,
    /// A place in a list of imports: the new name if the imported thing is renamed, else `old as new`.
    Import,
}

/// A place of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its bytes: the whole token.
    pub range: Range<usize>,
    /// The text that it gets.
    pub form: Form,
}

/// The origin of an imported name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The module as it is written.
    pub module: String,
    /// The name there.
    pub name: String,
}

/// The files that may name a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its own file alone.
    Local,
    /// Every file that imports it, or that belongs to the same package.
    Exported,
    /// Every file of the program, without an import.
    Global,
    /// It is bound by an import.
    Imported(Origin),
    /// A parameter, which calls of a function may name.
    Named(Owner),
}

/// The function that declares a parameter, by the name that calls use. A constructor has its class's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name.
    pub name: String,
    /// The place of that name in the declaration.
    pub at: usize,
    /// True for a member of a class.
    pub is_member: bool,
}

/// The function that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The last name; empty if the expression is not a name.
    pub name: String,
    /// The binding of the name.
    pub by: By,
}

/// The binding of a function that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A function or class of the file, by the place of its declaration.
    Own(usize),
    /// A name of another module.
    Import(Origin),
    /// Nothing in the file.
    Free,
    /// A value, or a member of one.
    Value,
}

/// The reason against a binding that differs between statements, such as two imports.
pub const SEVERAL_WAYS: &str = "it is bound in several ways";

/// The reason against a declaration of TypeScript without a value.
pub const AMBIENT: &str = "it only declares a value, which something else defines by that name";

/// The reason against the name of a module of Rust.
pub const MODULE: &str = "it is the name of a module";

/// The names against which a reason holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The new name; another one may fit.
    NewName,
    /// Every name.
    AnyName,
    /// Every name, as far as syntax tells: an engine with more knowledge may go on.
    Unclear,
}

/// A reason against a new name, with the place that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The byte at which it stands.
    pub at: usize,
    /// The reason, without final period.
    pub reason: String,
    /// The ways out of it.
    pub against: Against,
}

/// A binding of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The place of its declaration.
    pub declared: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its places, in order.
    pub sites: Vec<Site>,
    /// The files that may name it.
    pub reach: Reach,
    /// The reason that it can't get the new name; none if it can.
    pub obstacle: Option<Obstacle>,
}

impl Group {
    /// True if a place is one of its own.
    pub fn has(&self, at: usize) -> bool {
        self.sites.iter().any(|site| site.range.start == at)
    }
}

/// The meaning of a place that belongs to no binding of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A member of a value or a type.
    Member,
    /// A member of something that the file imports.
    Of(Origin),
    /// A name that the file does not bind.
    Free,
    /// The name of an argument in a call of that function.
    Keyword(Called),
    /// The key of a literal of a type of that name, which another file of the package declares.
    Key(String),
    /// The name in another module, which is named here.
    Through(Origin, Form),
    /// Something that syntax does not tell.
    Unclear(&'static str),
}

/// A place that belongs to no binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loose {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its meaning.
    pub meaning: Meaning,
}

/// A name that a file exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// It is bound here.
    Own,
    /// It stands for a name of another module.
    From(Origin),
}

/// A block of TypeScript that sees what its other blocks declare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    /// Declarations that are added to a module.
    Module(String),
    /// A block of a namespace or an enumeration.
    Named {
        /// The name.
        name: String,
        /// True if blocks of other files may belong to it.
        is_shared: bool,
    },
}

/// A place in a block that sees what its other blocks declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The byte at which it stands.
    pub at: usize,
    /// The block.
    pub block: Block,
    /// True if another such block of the file declares the old or the new name.
    pub is_declared: bool,
}

/// The meaning of a name in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its bindings, by their declarations.
    pub groups: Vec<Group>,
    /// The other tokens, in order.
    pub loose: Vec<Loose>,
    /// The old and the new name among the exports.
    pub exports: BTreeMap<String, Export>,
    /// The modules of which everything is exported again.
    pub stars: Vec<String>,
    /// The modules that are loaded as values, whose members may be named in any way.
    pub loaded: Vec<String>,
    /// The modules that the file uses as values.
    pub passed: Vec<String>,
    /// The modules whose members the file looks up by names that it computes.
    pub indexed: Vec<String>,
    /// The modules to which the file adds declarations.
    pub augmented: Vec<String>,
    /// The places of the old name in blocks which see what other blocks declare.
    pub crossings: Vec<Crossing>,
    /// The blocks that declare the old or the new name.
    pub blocks: BTreeSet<Block>,
    /// The package of the file, in languages that have one.
    pub package: Option<String>,
    /// Words of strings that code can't look up.
    pub inert: Vec<usize>,
    /// The words of strings that only code which computes names could look up.
    pub data: Vec<usize>,
    /// The standard macros of Rust whose arguments were read as code.
    pub macros: BTreeSet<String>,
    /// A place at which the file binds or uses the new name without a receiver.
    pub taken: Option<usize>,
}

impl Facts {
    /// True if other files may import a binding.
    pub fn has_exported(&self) -> bool {
        self.groups.iter().any(|group| group.reach == Reach::Exported)
    }
}
