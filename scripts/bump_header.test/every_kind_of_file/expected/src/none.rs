// Copyright 2026 Example Ltd.
// SPDX-License-Identifier: MIT

//! A module without a header.
fn none() {}
