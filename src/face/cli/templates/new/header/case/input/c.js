#!/usr/bin/env node
let c = 1;
