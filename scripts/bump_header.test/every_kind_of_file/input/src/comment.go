// Package main has a comment of its own.
package main
