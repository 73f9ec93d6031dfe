//! Tests on whole logs: what Darshan's tools print of them, what they contain, what damage does to them, what is written.

mod damage;
mod facts;
mod goldens;
mod modified;
mod pydarshan;
mod repack;
mod samples;
mod variants;
mod written;
