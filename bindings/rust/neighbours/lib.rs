//! Has nothing: the tests are the programs.
