//! Network defaults that new sockets and devices get.

use model::inventory::Network;

use super::look::Look;

const WHAT: &str = "network defaults";

pub(super) fn collect(look: &Look) -> Network {
    let text = |file: &str| look.text(&format!("proc/sys/net/{file}"), WHAT);
    let number = |file: &str| text(file)?.parse().ok();
    // The kernel separates several values with tabs.
    let several = |file: &str| Some(text(file)?.replace('\t', " "));
    let controls = text("ipv4/tcp_available_congestion_control").unwrap_or_default();
    Network {
        available_congestion_controls: controls.split_whitespace().map(str::to_owned).collect(),
        default_qdisc: text("core/default_qdisc"),
        listen_backlog_most: number("core/somaxconn"),
        device_backlog_packets: number("core/netdev_max_backlog"),
        local_ports: several("ipv4/ip_local_port_range"),
        receive_buffer_bytes: several("ipv4/tcp_rmem"),
        send_buffer_bytes: several("ipv4/tcp_wmem"),
        busy_poll_us: number("core/busy_poll"),
    }
}
