#!/bin/sh
# Copyright 2020 Somebody Else
echo run
