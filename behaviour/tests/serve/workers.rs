//! Several workers on one port.

use std::process::Command;

use super::client::Client;
use super::server::{Server, program, sockets};
use crate::common::{assert_says, refusal_of};

#[test]
fn four_workers_all_serve() {
    let server = Server::start(&["--workers", "4"]);
    let workers = server.workers();
    assert_eq!(workers.len(), 4);
    let mut clients: Vec<Client> = (0..128).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/json").status, 200);
    }
    let connections: Vec<usize> = workers.iter().map(|pid| sockets_served(*pid)).collect();
    assert_eq!(connections.iter().sum::<usize>(), 128);
    // The kernel distributes them by hash: the chance that one of 4 workers gets none of 128 is
    // 10^-16.
    assert!(
        connections.iter().all(|count| *count > 0),
        "{connections:?}"
    );
}

#[test]
fn with_a_worker_on_each_cpu_connections_go_to_the_one_that_received_them() {
    let steered =
        |how: &[&str]| Server::start(&[&["--workers", "2", "--cpus", "0-1"], how].concat());
    // All servers are up before this thread, and what it starts, may run on one CPU only.
    let servers = [
        steered(&[]),
        steered(&["--steer", "cbpf"]),
        steered(&["--steer", "incoming-cpu"]),
    ];
    servers.iter().for_each(assert_is_steered_by_cpu);
}

fn assert_is_steered_by_cpu(server: &Server) {
    let workers = server.workers();
    for cpu in [0, 1, 0] {
        // On loopback the CPU that sends is the one that receives.
        sys::cpu::pin(&[cpu]).unwrap();
        let before = sockets_served(workers[cpu]);
        let mut clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
        for client in &mut clients {
            assert_eq!(client.get("/json").status, 200);
        }
        assert_eq!(sockets_served(workers[cpu]) - before, 20, "CPU {cpu}");
        for client in clients {
            close_and_wait(client);
        }
    }
}

#[test]
fn each_worker_runs_on_one_cpu() {
    let server = Server::start(&["--workers", "2", "--cpus", "0-1"]);
    for (cpu, pid) in server.workers().into_iter().enumerate() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")));
        assert!(status.contains("Threads:\t1\n"));
    }
}

#[test]
fn a_worker_that_is_told_to_stop_before_the_server_is_ends_it_in_good_order() {
    let server = Server::start(&["--workers", "3"]);
    let workers = server.workers();
    let first = workers[1].to_string();
    let mut kill = Command::new("kill");
    // Both at once, as a terminal signals a whole group; a worker that ended alone would be started
    // again.
    let server_too = server.pid().to_string();
    assert!(
        kill.args(["-TERM", &first, &server_too])
            .status()
            .unwrap()
            .success()
    );
    let (status, said) = server.wait();
    assert!(status.success() && !said.contains("on its own"), "{said}");
    for pid in workers {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn a_taken_port_is_named_with_advice() {
    for workers in ["1", "2"] {
        let server = Server::start(&["--workers", workers]);
        let address = server.address.to_string();
        for more in ["1", "2"] {
            // A server that took the port all the same would never end.
            let mut command = Command::new("timeout");
            command.args(["20", program(), "serve", "--listen", &address]);
            let said = refusal_of(command.args(["--workers", more]));
            assert_says(&said, &address);
            assert_says(&said, "--listen 127.0.0.1:0");
        }
    }
}

/// Number of connections of a worker: all its sockets but the listener.
fn sockets_served(pid: u32) -> usize {
    sockets(pid) - 1
}

fn close_and_wait(mut client: Client) {
    client.stream().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(client.is_closed());
}
