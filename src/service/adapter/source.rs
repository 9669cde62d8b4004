//! The source of an adapter that a user wrote: what the verifier's process makes the same adapter of.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use base::{error::Error, frame::Limits, hash::Sha256, json};
use system::process::sandbox::{self, Confine};

/// The source of an adapter of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The adapter's name.
    pub name: String,
    /// The file in the workspace.
    pub path: String,
    /// The hash of everything that the adapter is made of.
    pub sha256: Sha256,
    /// The rest.
    pub kind: Kind,
}

/// The kind of an adapter of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file of functions in Rhai.
    Rhai {
        /// Its text.
        text: String,
        /// The limits of its processes.
        limits: Limits,
    },
    /// A program in any language.
    Program(Box<Program>),
}

/// A program that is an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name, version, globs and parameters.
    pub header: Value,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The program that measures, and its arguments; empty if it measures itself.
    pub measure: Vec<String>,
    /// The files of the workspace among them, by path, in Base64.
    pub files: BTreeMap<String, String>,
    /// Folders and files beside those of the system that it may read: the policy's for commands.
    pub read: Vec<PathBuf>,
    /// The limits of its processes.
    pub limits: sandbox::Limits,
    /// Its confinement.
    pub confine: Confine,
}

impl Program {
    /// The hash of everything that the adapter is made of: header, command lines and files.
    pub fn sha256(&self) -> Result<Sha256, Error> {
        let Program { header, argv, measure, files, .. } = self;
        json::sha256(&json!({"header": header, "argv": argv, "measure": measure, "files": files}))
    }
}

impl Program {
    /// True if the program that measures is the one that proposes: the same files, or without files the same words.
    pub fn measures_itself(&self) -> bool {
        let files = |argv: &[String]| argv.iter().filter_map(|word| self.files.get(word)).collect::<BTreeSet<_>>();
        let (proposing, measuring) = (files(&self.argv), files(&self.measure));
        self.measure.is_empty() || if measuring.is_empty() { self.measure == self.argv } else { measuring == proposing }
    }
}

impl Source {
    /// True if it starts a program of the policy, which a person has to trust.
    pub fn starts_program(&self) -> bool {
        match self.kind {
            Kind::Rhai { .. } => false,
            Kind::Program(_) => true,
        }
    }
}
