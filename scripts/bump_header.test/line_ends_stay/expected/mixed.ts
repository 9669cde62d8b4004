// Copyright 2026 Example Ltd.
// SPDX-License-Identifier: MIT
let a = 1;
let b = 2;
let c = 3;
