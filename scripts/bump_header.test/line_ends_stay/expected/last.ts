// Copyright 2026 Example Ltd.
// SPDX-License-Identifier: MIT