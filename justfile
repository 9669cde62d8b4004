# The daily commands; `just` lists them. `.ci/run` has everything that a change has to pass.

# List the recipes.
default:
    @just --list --unsorted

# Check that the code compiles, tests included.
check:
    cargo check --all-targets

# Format, and run the lints as errors.
lint:
    cargo fmt --all
    cargo clippy --all-targets -- -D warnings

# Run unit tests whose path contains the filter: `just unit journal::`.
unit filter="":
    cargo test --lib -- {{ filter }}

# Run integration tests whose path contains the filter: `just it tidy::`.
it filter="":
    cargo test --test it -- {{ filter }}

# Compile and run the examples of the documentation.
examples:
    cargo test --doc

# Write the generated pages and expected outputs anew; read the diff before you commit it.
bless:
    NRV_BLESS=1 cargo test --lib -- policy::describe path::protected exec::variable
    NRV_BLESS=1 cargo test --test it -- reference:: check:: schemas::
    git diff --stat

# Build the documentation of the library without warnings.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --lib

# Fuzz a target for some seconds; needs cargo-fuzz.
fuzz target seconds="300":
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{ target }} -- -max_total_time={{ seconds }}

# Run a benchmark: `just bench gates`.
bench name:
    cargo bench --bench {{ name }}

# Run the program: `just run check`.
run *arguments:
    cargo run -- {{ arguments }}

# Run everything that a change has to pass, or some of its parts: `just ci lint documentation`.
ci *parts:
    .ci/run {{ parts }}
