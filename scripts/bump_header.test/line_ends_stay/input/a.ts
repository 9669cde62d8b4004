// Copyright 2024 Example Ltd.

export {};
