//! Tests with whole logs: comparison with Darshan's tools, contents, damage, and writing.

mod damage;
mod facts;
mod goldens;
mod modified;
mod pydarshan;
mod repack;
mod samples;
mod variants;
mod written;
