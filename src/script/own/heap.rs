//! Files that wait for their batch, whose size is bounded as JSON encodes it.

use base::batch::File;

/// The most bytes of the contents of a batch, as JSON encodes them; a larger file has a batch of its own.
pub(super) const BYTES: usize = 4 << 20;

/// Files that wait for their batch.
#[derive(Default)]
pub(super) struct Heap {
    /// The files, in the order in which they came.
    pub(super) files: Vec<File>,
    /// The bytes of their contents in JSON.
    encoded: usize,
}

impl Heap {
    /// Adds a file; returns the batch of at most `most` files that is full without it.
    pub(super) fn add(&mut self, file: File, most: usize) -> Option<Heap> {
        let encoded = file.body.encoded();
        let is_full = !self.files.is_empty() && (self.encoded + encoded > BYTES || self.files.len() == most);
        let full = is_full.then(|| std::mem::take(self));
        self.encoded += encoded;
        self.files.push(file);
        full
    }
}
