//! Scripts, seen from the host.
