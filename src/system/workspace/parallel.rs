//! Works on many files by several threads, with results in the order of the input.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::threads;

/// Applies a function to every item by up to `threads` threads. The results don't depend on the number of threads.
pub fn parallel_map<T: Sync, R: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    parallel_map_with(threads, items, || (), |(), item| work(item))
}

/// As [`parallel_map`], with an object that each thread makes once and reuses for its items, such as a buffer.
pub fn parallel_map_with<T: Sync, S, R: Send>(
    threads: usize,
    items: &[T],
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let most = threads.clamp(1, items.len().max(1));
    if most == 1 {
        let mut scratch = scratch();
        return items.iter().map(|item| work(&mut scratch, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut scratch = scratch();
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, work(&mut scratch, item)));
        }
    };
    let parts = std::thread::scope(|scope| {
        let helpers = threads::helpers(scope, most - 1, take);
        let own = take();
        helpers.into_iter().map(|helper| helper.join()).chain([Ok(own)]).collect::<Result<Vec<_>, _>>()
    });
    let mut results: Vec<(usize, R)> = match parts {
        Ok(parts) => parts.into_iter().flatten().collect(),
        // A panic of the work is a defect there; it continues here with its message.
        Err(panic) => std::panic::resume_unwind(panic),
    };
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_input() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [1, 2, 8] {
            assert_eq!(parallel_map(threads, &items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        }
        assert!(parallel_map(4, &[] as &[u32], |n| *n).is_empty());
    }
}
