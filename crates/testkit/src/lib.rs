//! Generators, oracles and packet builders for tests; never a normal dependency.
