//! A table from names to values, for many look-ups of names that are known in advance.

use std::borrow::Cow;

/// The number of buckets.
const BUCKETS: usize = 1024;

/// Values by name; a name may have many.
#[derive(Clone, Debug)]
pub(super) struct Names<T> {
    buckets: Vec<Vec<(Cow<'static, str>, T)>>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Names { buckets: std::iter::repeat_with(Vec::new).take(BUCKETS).collect() }
    }
}

impl<T> Names<T> {
    /// Adds a value; those of one name stay in order.
    pub(super) fn add(&mut self, name: Cow<'static, str>, value: T) {
        self.buckets[bucket(&name)].push((name, value));
    }

    /// The first value of a name, which is created if there is none.
    pub(super) fn entry(&mut self, name: &'static str) -> &mut T
    where
        T: Default,
    {
        let bucket = &mut self.buckets[bucket(name)];
        let at = bucket.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            bucket.push((name.into(), T::default()));
            bucket.len() - 1
        });
        &mut bucket[at].1
    }

    /// The names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.buckets.iter().flatten().map(|(name, _)| name.as_ref())
    }

    /// The values of a name.
    pub(super) fn of<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a T> {
        self.buckets[bucket(name)].iter().filter(move |(known, _)| known == name).map(|(_, value)| value)
    }
}

fn bucket(name: &str) -> usize {
    let mix = |hash: usize, byte: u8| (hash ^ usize::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, mix) % BUCKETS
}
