// Copyright 2024 Example Ltd.
// All rights reserved.

//! A module.
fn main() {}
