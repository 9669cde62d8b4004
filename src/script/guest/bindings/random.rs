//! `nrv.random`: random values from the run's seed, the same in every run; pure, without a call to the host.

use rhai::{Array, Engine, NativeCallContext};

use crate::guest::bindings::{
    Namespace,
    host::{Host, Nrv},
    registry,
};
use base::error::{Code, Error};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.random",
    doc: "Random values from the run's seed: the same numbers in every run with that seed.",
    calls: registry! {
        "nrv.random";
        /// An integer from `lo` to `hi`, both included, each equally likely.
        ///
        /// ```rhai
        /// let die = nrv.random.int(1, 6);
        /// ```
        int(lo: "int", hi: "int") -> "int";
        /// `n` items of an array, each at most once, in random order.
        ///
        /// ```rhai
        /// let three = nrv.random.sample([1, 2, 3, 4, 5], 3);
        /// ```
        sample(array: "array", n: "int") -> "array";
        /// The items of an array in random order; the array itself stays as it is.
        ///
        /// ```rhai
        /// let mixed = nrv.random.shuffle([1, 2, 3]);
        /// ```
        shuffle(array: "array") -> "array";
    },
    register,
};

#[derive(Clone)]
struct Random(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Random>("nrv.random");
    engine.register_get("random", |nrv: &mut Nrv| Random(nrv.0.clone()));
    engine.register_fn("int", |ctx: NativeCallContext<'_>, this: &mut Random, lo: i64, hi: i64| {
        let empty = || Error::new(Code::InvalidInput, format!("there is no integer from {lo} to {hi}"));
        between(&this.0, lo, hi).ok_or_else(|| this.0.raise(&ctx, empty()))
    });
    engine.register_fn("sample", |ctx: NativeCallContext<'_>, this: &mut Random, array: Array, n: i64| {
        let wrong = || Error::new(Code::InvalidInput, format!("{n} of {} items can't be taken", array.len()));
        let count = usize::try_from(n).ok().filter(|count| *count <= array.len());
        let count = count.ok_or_else(|| this.0.raise(&ctx, wrong()))?;
        let mut mixed = array.clone();
        this.0.random().shuffle(&mut mixed);
        mixed.truncate(count);
        Ok::<_, Box<rhai::EvalAltResult>>(mixed)
    });
    engine.register_fn("shuffle", |this: &mut Random, mut array: Array| {
        this.0.random().shuffle(&mut array);
        array
    });
}

fn between(host: &Host, lo: i64, hi: i64) -> Option<i64> {
    let span = u64::try_from(i128::from(hi) - i128::from(lo)).ok()?;
    let mut stream = host.random();
    let step = match span.checked_add(1) {
        Some(count) => stream.below(count),
        None => stream.next_u64(),
    };
    i64::try_from(i128::from(lo) + i128::from(step)).ok()
}
