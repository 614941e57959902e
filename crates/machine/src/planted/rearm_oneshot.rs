//! `rearm-oneshot`: connections are registered one-shot, as thread pools behind one epoll do it.

use super::serve_flag::ServeFlag;

const NAME: &str = "rearm-oneshot";

/// Each request re-arms its connection.
pub(super) const LEVER: ServeFlag = ServeFlag {
    name: NAME,
    flag: "--rearm-oneshot",
    summary: "the server registers connections one-shot (EPOLLONESHOT) and re-arms them after each \
              request: one epoll_ctl call more for each",
};
