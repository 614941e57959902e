//! What the program does, as its users see it: each test is a sentence, and uses the binary where
//! possible.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod alone;
mod bench;
mod built_in_studies;
mod calm;
mod command_line;
mod commands;
mod common;
mod download;
mod download_apart;
mod factorial;
mod gate;
mod hostile;
mod hostile_servers;
mod hosts;
mod json;
mod levers;
mod link;
mod listening;
mod load_bins;
mod load_command;
mod load_count;
mod load_doubts;
mod load_download;
mod load_engine;
mod load_folder;
mod load_http2;
mod load_levels;
mod load_mix;
mod load_pipeline;
mod load_tls;
mod load_unix_socket;
mod load_watching;
mod machine;
mod narrow_output;
mod page;
mod plan;
mod probe;
mod real_tools;
mod rig;
mod run_folder;
mod serve;
mod serve_unix_socket;
mod serve_uring;
mod service;
mod signals;
mod stream;
mod study_file;
mod study_run;
mod study_targets;
mod toy_workload;
mod versus;
mod whole_machine;
mod workers;
