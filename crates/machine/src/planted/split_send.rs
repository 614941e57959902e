//! `split-send`: an answer leaves in two sends, headers and body, as from many servers.

use super::serve_flag::ServeFlag;

const NAME: &str = "split-send";

/// Headers and body leave in two sends.
pub(super) const LEVER: ServeFlag = ServeFlag {
    name: NAME,
    flag: "--split-send",
    summary: "the server sends headers and body in two calls: a second send for each request, and \
              a second packet for the kernel to carry",
};
