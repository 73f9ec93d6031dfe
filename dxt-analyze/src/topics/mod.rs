//! The topics: what can be asked of a job, a folder each, with its pass over the segments, its result, its findings and how they look.

pub mod checks;
pub mod compare;
pub mod corpus;
pub mod counters;
pub mod layers;
pub mod outliers;
pub mod stripes;
pub mod summary;
pub mod timeline;
