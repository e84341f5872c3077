//! Flows: who speaks to whom, in both directions, and since when.

#![deny(unsafe_code)]
