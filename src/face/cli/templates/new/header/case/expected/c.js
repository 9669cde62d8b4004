#!/usr/bin/env node
// SPDX-License-Identifier: MIT

let c = 1;
