//! The ways in which the values of two policies become one: a row of a table names one of them.

/// The smaller value; of two flags the one that is off.
pub(super) fn smallest<T: PartialOrd + Clone>(one: &T, other: &T) -> T {
    if one <= other { one.clone() } else { other.clone() }
}

/// The larger value; of two flags the one that is on.
pub(super) fn largest<T: PartialOrd + Clone>(one: &T, other: &T) -> T {
    if one >= other { one.clone() } else { other.clone() }
}

/// The smaller limit; none is no limit.
pub(super) fn limit<T: PartialOrd + Copy>(one: &Option<T>, other: &Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(smallest(one, other)),
        (one, other) => one.or(*other),
    }
}

/// The later word; none is before all.
pub(super) fn latest<T: Ord + Copy>(one: &Option<T>, other: &Option<T>) -> Option<T> {
    (*one).max(*other)
}

/// The value of the first policy, where both are asked anyway.
pub(super) fn first<T: Clone>(one: &T, _: &T) -> T {
    one.clone()
}

/// The value of the last policy.
pub(super) fn last<T: Clone>(_: &T, other: &T) -> T {
    other.clone()
}

/// Nothing, where each policy judges by its own.
pub(super) fn own<T>(_: &[T], _: &[T]) -> Vec<T> {
    Vec::new()
}

/// The items that both lists have. A missing list allows all.
pub(super) fn both_allow(one: &Option<Vec<String>>, other: &Option<Vec<String>>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(common(one, other)),
        (one, other) => one.as_ref().or(other.as_ref()).cloned(),
    }
}

/// The items of the first list, then those that only the second one has.
pub(super) fn either<T: PartialEq + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().chain(other.iter().filter(|item| !one.contains(item))).cloned().collect()
}

/// The items that both lists have, in the order of the first.
pub(super) fn common<T: PartialEq + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().filter(|item| other.contains(item)).cloned().collect()
}

/// The globs of both, and what either excludes.
pub(super) fn common_globs(one: &[String], other: &[String]) -> Vec<String> {
    let (excluded, taken): (Vec<String>, Vec<String>) =
        either(one, other).into_iter().partition(|glob| glob.starts_with('!'));
    let mut globs: Vec<String> = taken.into_iter().filter(|glob| one.contains(glob) && other.contains(glob)).collect();
    if !globs.is_empty() {
        globs.extend(excluded);
    }
    globs
}

/// A limit that a header may lower.
pub(super) trait Limit {
    /// Lowers it; false if it is as low already.
    fn lower(&mut self, limit: u64) -> bool;
}

impl Limit for u64 {
    fn lower(&mut self, limit: u64) -> bool {
        let lowers = limit < *self;
        *self = limit.min(*self);
        lowers
    }
}

impl Limit for Option<u64> {
    fn lower(&mut self, limit: u64) -> bool {
        self.get_or_insert(u64::MAX).lower(limit)
    }
}
