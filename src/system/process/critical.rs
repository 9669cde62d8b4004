//! Critical sections, which a signal must not interrupt, since they end or are repaired by themselves.
//!
//! A process that dies in one is recovered like any other; the wait for its end keeps the tree consistent.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Counts the entered sections of all threads.
#[derive(Clone, Debug, Default)]
pub struct Critical(Arc<Mutex<usize>>);

/// A section. Dropping it leaves it, if it was entered.
#[derive(Debug)]
pub struct Section {
    critical: Critical,
    is_entered: AtomicBool,
}

impl Critical {
    /// A section that is not entered yet.
    pub fn section(&self) -> Section {
        Section { critical: self.clone(), is_entered: AtomicBool::new(false) }
    }

    /// A section that is entered.
    pub fn entered(&self) -> Section {
        let section = self.section();
        section.enter();
        section
    }

    /// True if a section is entered.
    pub fn is_entered(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    /// Does something if no section is entered; none can be entered meanwhile.
    pub fn unless_entered(&self, work: impl FnOnce()) {
        let count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *count == 0 {
            work();
        }
    }
}

impl Section {
    /// Enters it, once.
    pub fn enter(&self) {
        if !self.is_entered.swap(true, Ordering::Relaxed) {
            *self.critical.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        if self.is_entered.load(Ordering::Relaxed) {
            *self.critical.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_free(critical: &Critical) -> bool {
        let mut free = false;
        critical.unless_entered(|| free = true);
        assert_eq!(free, !critical.is_entered());
        free
    }

    #[test]
    fn a_section_counts_from_its_entrance_until_it_is_dropped() {
        let critical = Critical::default();
        let one = critical.section();
        assert!(is_free(&critical));
        one.enter();
        one.enter();
        let two = critical.clone().entered();
        drop(one);
        assert!(!is_free(&critical));
        drop(two);
        drop(critical.section());
        assert!(is_free(&critical));
    }
}
