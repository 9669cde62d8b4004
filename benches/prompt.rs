//! The time to compose a prompt of 1,000 files, beside reading the same files.
//!
//! `cargo bench --bench prompt`. The file system of the tree matters: `TMPDIR` chooses it.
#![expect(clippy::disallowed_methods, reason = "a bench measures time and makes folders")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{fs, time::Instant};

use nrv::{
    base::{
        call::Parts,
        error::{Code, Error},
        path::RepoPath,
    },
    service::prompt::compose,
    system::workspace::{Overlay, View, Workspace},
};

const FILES: usize = 1000;
const ROUNDS: usize = 31;

fn main() {
    let line = "fn name(one: &str, two: usize) -> Result<String, Error> { Ok(one.repeat(two)) } // `so`\n";
    for bytes in [1 << 10, 4 << 10, 26 << 10] {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<String> = (0..FILES).map(|index| format!("f{}/{index}.rs", index % 20)).collect();
        for (index, path) in paths.iter().enumerate() {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("// {index}\n{}", line.repeat(bytes / line.len()))).unwrap();
        }
        let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::new());
        let view = View::new(&workspace, &overlay);
        let read = |path: &str| {
            let bytes = view.read(&RepoPath::parse(path)?)?.into_bytes();
            String::from_utf8(bytes).map_err(|_| Error::new(Code::Unreadable, "not UTF-8"))
        };
        let context = paths.iter().map(|path| path.as_str().into()).collect();
        let parts = Parts { goal: "Read.".to_owned(), context, ..Parts::default() };
        let (mut reading, mut composing) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let watch = Instant::now();
            let texts: Vec<String> = paths.iter().map(|path| read(path).unwrap()).collect();
            reading.push(watch.elapsed().as_secs_f64() * 1e3);
            assert_eq!(texts.len(), FILES);
            drop(texts);
            let watch = Instant::now();
            let composed = compose(&parts, &[], &mut |path| read(path)).unwrap();
            composing.push(watch.elapsed().as_secs_f64() * 1e3);
            assert_eq!(composed.parts.len(), FILES + 1);
        }
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let (reading, composing) = (median(reading), median(composing));
        println!(
            "{FILES} files of {bytes} bytes: read {reading:.1} ms, compose {composing:.1} ms, {:.2}",
            composing / reading
        );
    }
}
