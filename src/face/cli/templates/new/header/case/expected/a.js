// SPDX-License-Identifier: MIT

let a = 1;
