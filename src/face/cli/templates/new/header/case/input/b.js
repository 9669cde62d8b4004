// SPDX-License-Identifier: MIT

let b = 1;
