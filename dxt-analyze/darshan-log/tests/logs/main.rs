//! Tests on whole logs: what Darshan's tools print of them, what they contain, what damage does to them.

mod damage;
mod facts;
mod goldens;
mod samples;
mod written;
