//! Tests of the analyzer, linked as one program to save build time: each separate program would link the whole analyzer. `bombs` is
//! separate because it has its own allocator.

#![expect(clippy::unwrap_used, reason = "a failure here is the test's")]

mod advice;
mod bandwidth;
mod browser;
mod causes;
mod causes_published;
mod checks;
mod common;
mod compare;
mod connector;
mod corpus;
mod counters;
mod damage;
mod darshan;
mod darshan_counted;
mod darshan_modified;
mod darshan_targets;
mod darshan_whole;
mod details;
mod export;
mod export_darshan;
mod files;
mod fio;
#[path = "common/five_runs.rs"]
mod five_runs;
mod frames;
mod fuse;
mod gcrm;
#[path = "../../../tracer/tests/programs/harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "each test program uses a part of it")]
mod harness;
mod house;
mod inputs;
mod layers;
mod ledger;
mod linear;
mod live;
mod live_sinks;
mod many_ranks;
mod metamorphic;
mod outputs;
mod papers;
mod patterns;
mod places;
mod prefetch;
mod programs;
mod python_reader;
mod readme;
mod recover;
mod report;
mod scaling;
mod select;
mod serve;
mod signature_advice;
mod signature_files;
mod signature_order;
mod signature_ranks;
mod signature_stripes;
mod signature_views;
mod signatures;
mod sites;
mod steps;
mod stripes;
mod subcommands;
mod timeline;
mod units;
mod verdicts;
mod what_if;
