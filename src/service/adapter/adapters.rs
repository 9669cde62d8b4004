//! The registry of a program's adapters: the built-in ones, and the program's own. It only looks them up.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use super::{ADAPTERS, Adapter, envelope};
use base::error::{self, Code, Error};
use system::{schema::Schema, workspace::Globs};

/// Keys of `[adapters]` in `nrv.toml` that are not the name of an adapter.
const KEYS: &[&str] = &["approved", "strict_tools"];

/// Adapters by name. The default has the built-in ones.
#[derive(Clone, Default)]
pub struct Adapters {
    own: Vec<Arc<dyn Adapter>>,
    later: Option<Arc<Later>>,
    approved_only: bool,
}

/// Adapters that are read when somebody first asks for one.
struct Later {
    names: Vec<String>,
    read: Box<dyn Fn() -> Vec<Arc<dyn Adapter>> + Send + Sync>,
    found: OnceLock<Vec<Arc<dyn Adapter>>>,
}

impl Adapters {
    /// Adds an adapter of the program's own.
    ///
    /// The name is part of file names and of `nrv.toml`: a letter, then letters, digits and `_`, in lower case. A taken name, a
    /// schema that does not compile and a domain without globs are `invalid_input`.
    pub fn with(mut self, adapter: impl Adapter + 'static) -> Result<Self, Error> {
        let name = adapter.name();
        let refuse = |why: &str| Error::new(Code::InvalidInput, format!("the adapter `{}` {why}", name.escape_debug()));
        if !is_name(name) {
            return Err(refuse("has a name that can't be used")
                .hint("begin with a letter and go on with letters, digits and `_`, in lower case"));
        }
        if KEYS.contains(&name) {
            return Err(refuse("is called like a key of `[adapters]`").hint("choose another name"));
        }
        if self.find(name).is_ok() {
            return Err(refuse("exists already").hint("choose another name"));
        }
        let schemas = [envelope::input_schema(&adapter), Ok(envelope::output_schema(&adapter))];
        for schema in schemas {
            let wrong = |error: Error| refuse(&format!("has parameters or counts that can't be used: {error}"));
            schema.and_then(|schema| Schema::compile(&schema)).map_err(wrong)?;
        }
        Globs::parse(&adapter.domain()).map_err(|error| refuse(&format!("has no usable domain: {error}")))?;
        self.own.push(Arc::new(adapter));
        Ok(self)
    }

    /// Adds the adapters of users that have these names. They are read when somebody first asks for an adapter; taken names are
    /// left out.
    pub fn with_later(
        mut self,
        names: Vec<String>,
        read: impl Fn() -> Vec<Arc<dyn Adapter>> + Send + Sync + 'static,
    ) -> Self {
        let taken: Vec<String> = self.all().iter().map(|adapter| adapter.name().to_owned()).collect();
        let names: Vec<String> = names.into_iter().filter(|name| !taken.contains(name)).collect();
        if !names.is_empty() {
            self.later = Some(Arc::new(Later { names, read: Box::new(read), found: OnceLock::new() }));
        }
        self
    }

    /// The same, where no source of a user runs that is not approved: neither that of a file nor that of a record.
    #[must_use]
    pub fn approved_only(self) -> Self {
        Adapters { approved_only: true, ..self }
    }

    /// True where no source of a user runs that is not approved.
    pub fn are_approved_only(&self) -> bool {
        self.approved_only
    }

    /// Every adapter, sorted by name.
    pub fn all(&self) -> Vec<&dyn Adapter> {
        let mut all = self.known();
        if let Some(later) = &self.later {
            let found = later.found.get_or_init(|| (later.read)()).iter();
            all.extend(found.map(AsRef::as_ref).filter(|one| later.names.iter().any(|name| name == one.name())));
        }
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// The names of all adapters, sorted; those of users are not read for that.
    pub fn names(&self) -> Vec<&str> {
        let later = self.later.iter().flat_map(|later| &later.names).map(String::as_str);
        let mut names: Vec<&str> = self.known().iter().map(|adapter| adapter.name()).chain(later).collect();
        names.sort_unstable();
        names
    }

    /// The adapters that are a part of the program.
    fn known(&self) -> Vec<&dyn Adapter> {
        ADAPTERS.iter().copied().chain(self.own.iter().map(AsRef::as_ref)).collect()
    }

    /// The adapter of that name; `not_found` names the nearest. The error of an adapter that can't be used is its own.
    pub fn find(&self, name: &str) -> Result<&dyn Adapter, Error> {
        if let Some(adapter) = self.known().into_iter().find(|adapter| adapter.name() == name) {
            return Ok(adapter);
        }
        let all = self.all();
        if let Some(adapter) = all.iter().find(|adapter| adapter.name() == name) {
            return adapter.check().map(|()| *adapter);
        }
        let error = Error::new(Code::NotFound, format!("there is no adapter `{name}`"));
        Err(match error::nearest(name, all.iter().map(|adapter| adapter.name())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`nrv dta list` shows the adapters"),
        })
    }
}

impl fmt::Debug for Adapters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Context,
        contract::{Counted, Invocation, Proposal},
        evidence::{Evidence, Measured},
    };

    /// An adapter for look-ups only.
    struct Named {
        name: &'static str,
        schema: &'static str,
        domain: &'static [&'static str],
    }

    const GOOD: Named = Named { name: "aaa", schema: "{}", domain: &["**/*.md"] };

    impl Adapter for Named {
        fn name(&self) -> &str {
            self.name
        }

        fn version(&self) -> &str {
            "1.0"
        }

        fn summary(&self) -> &str {
            "is looked up"
        }

        fn params_schema(&self) -> &str {
            self.schema
        }

        fn counts(&self) -> Counted<'_> {
            Counted::default()
        }

        fn domain(&self) -> Vec<&str> {
            self.domain.to_vec()
        }

        fn propose(&self, _: &Context<'_>, _: &Invocation) -> Result<Proposal, Error> {
            Err(Error::new(Code::Internal, "nobody asks it"))
        }

        fn measure(&self, _: &Context<'_>, _: &Invocation, _: &Evidence<'_>) -> Result<Measured, Error> {
            Err(Error::new(Code::Internal, "nobody asks it"))
        }
    }

    #[test]
    fn the_built_in_ones_are_sorted_and_their_schemas_compile() {
        assert!(ADAPTERS.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        for adapter in ADAPTERS {
            assert!(is_name(adapter.name()) && !KEYS.contains(&adapter.name()));
            for schema in [envelope::input_schema(*adapter).unwrap(), envelope::output_schema(*adapter)] {
                Schema::compile(&schema).unwrap();
            }
        }
    }

    #[test]
    fn own_adapters_stand_among_the_built_in_ones() {
        let adapters = Adapters::default().with(GOOD).unwrap().with(Named { name: "zzz", ..GOOD }).unwrap();
        let names: Vec<&str> = adapters.all().iter().map(|adapter| adapter.name()).collect();
        assert!(names.is_sorted() && names.contains(&"link_updater"), "{names:?}");
        assert_eq!((names.first(), names.last()), (Some(&"aaa"), Some(&"zzz")));
        assert_eq!(adapters.find("zzz").unwrap().name(), "zzz");
    }

    #[test]
    fn an_unknown_adapter_names_the_nearest() {
        let hint = |name| Adapters::default().find(name).err().unwrap().hint_text().unwrap().to_owned();
        assert!(hint("link_updatr").contains("link_updater") && hint("x").contains("nrv dta list"));
    }

    #[test]
    fn an_adapter_that_could_not_be_used_is_refused() {
        let first = || Adapters::default().with(GOOD).unwrap();
        for (adapter, words) in [
            (GOOD, "exists already"),
            (Named { name: "link_updater", ..GOOD }, "exists already"),
            (Named { name: "approved", ..GOOD }, "key of `[adapters]`"),
            (Named { name: "a/../b", ..GOOD }, "name that can't be used"),
            (Named { name: "Upper", ..GOOD }, "name that can't be used"),
            (Named { name: "", ..GOOD }, "name that can't be used"),
            (Named { name: "b", schema: "{", ..GOOD }, "parameters"),
            (Named { name: "b", schema: r#"{"type": "strng"}"#, ..GOOD }, "parameters"),
            (Named { name: "b", domain: &[], ..GOOD }, "domain"),
        ] {
            let name = adapter.name;
            let error = first().with(adapter).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput);
            assert!(error.message().contains(words), "{name}: {error}");
        }
    }
}
