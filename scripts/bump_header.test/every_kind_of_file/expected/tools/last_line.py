# -*- coding: utf-8 -*-
# Copyright 2026 Example Ltd.
# SPDX-License-Identifier: MIT

print("no line feed at the end")