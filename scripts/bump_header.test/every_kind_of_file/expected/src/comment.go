// Copyright 2026 Example Ltd.
// SPDX-License-Identifier: MIT

// Package main has a comment of its own.
package main
