// Old
// Copyright 2020 Old