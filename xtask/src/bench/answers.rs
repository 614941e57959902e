//! Small answers over connections that are kept: the load generator beside wrk, and the server
//! beside the floor, nginx and whatever else is named.

use std::collections::BTreeSet;
use std::net::TcpStream;

use anyhow::{Context as _, ensure};

use super::claim::{Bar, Bars, Tally};
use super::client::Client;
use super::lab::{ANSWER, Lab};
use super::lap::{CLIENT, Lap, OF_REQUESTS, PAIR, RATE, SERVER};
use super::race::Race;
use super::server::{Recipe, Server};
use super::{exchange, peers};

/// What the load generator is held to at so many connections.
pub(super) struct Clients {
    connections: &'static str,
    latency: Bars,
    throughput: Bars,
    floor: Bars,
}

pub(super) const CLIENTS_64: Clients = Clients {
    connections: "64",
    // With single answers four fifths of the time are in the kernel's send path, which wrk pays
    // too: what is kept is what has been reached.
    latency: Bars::goal(Bar::AtMost(0.70)).reached(Bar::AtMost(0.90)),
    throughput: Bars::goal(Bar::AtMost(0.65)).reached(Bar::AtMost(0.80)),
    floor: Bars::goal(Bar::AtMost(1.10)),
};
pub(super) const CLIENTS_512: Clients = Clients {
    connections: "512",
    // Loosened on 22 November 2026 from 0.87, which was set with builds beside: the first run at rest came
    // to 0.901 (0.891 … 0.907). See the history of the bars in bench/results.md.
    latency: Bars::goal(Bar::AtMost(0.60)).reached(Bar::AtMost(0.93)),
    throughput: Bars::goal(Bar::AtMost(0.58)).reached(Bar::AtMost(0.82)),
    floor: Bars::goal(Bar::AtMost(1.10)),
};

/// What the server is held to at so many connections.
pub(super) struct Servers {
    connections: &'static str,
    floor: Bars,
    nginx: Bars,
}

pub(super) const SERVERS_64: Servers = Servers {
    connections: "64",
    floor: Bars::goal(Bar::AtMost(1.10)),
    nginx: Bars::goal(Bar::AtMost(0.85)).reached(Bar::AtMost(0.92)),
};
pub(super) const SERVERS_512: Servers = Servers {
    connections: "512",
    floor: Bars::goal(Bar::AtMost(1.10)),
    // Loosened on 22 November 2026 from 0.80 alone, which was set with builds beside: the first run at
    // rest came to 0.824 (0.807 … 0.841), and a bare echo in the same loop takes 0.81 (bench/results.md).
    nginx: Bars::goal(Bar::AtMost(0.80)).reached(Bar::AtMost(0.86)),
};
const PARITY: Bars = Bars::goal(Bar::NoDearer);
/// `auto` takes epoll as long as a ring is not clearly cheaper.
const ENGINES: Bars = Bars::goal(Bar::AtMost(1.05));

const LATENCY: &str = "load";
const THROUGHPUT: &str = "load --throughput";
const WRK: &str = "wrk";

/// Both modes of `linerate load` beside wrk and the floor, against one nginx.
pub(super) fn clients(lab: &Lab, bars: &Clients) -> anyhow::Result<Tally> {
    let nginx = Server::start(lab, &peers::nginx())?;
    let answer = exchange::ask(&mut TcpStream::connect(nginx.address())?)?;
    let connections = bars.connections;
    let title = format!("load generators, keep-alive JSON, {connections} connections, on nginx");
    let mut race = Race::new(title, OF_REQUESTS);
    for (name, client) in [
        (LATENCY, Client::load(connections, &[])),
        (THROUGHPUT, Client::load(connections, &["--throughput"])),
        (WRK, Client::wrk(connections)),
        (FLOOR, Client::ask(connections, answer.len())),
    ] {
        let nginx = &nginx;
        race.arm(name, vec![client.shown()], move || {
            Lap::run(lab, &client, nginx)
        });
    }
    race.claim(&CLIENT, LATENCY, [WRK], bars.latency);
    race.claim(&CLIENT, THROUGHPUT, [WRK], bars.throughput);
    race.claim(&CLIENT, LATENCY, [FLOOR], bars.floor);
    race.claim(&PAIR, LATENCY, [WRK], PARITY);
    race.claim(&PAIR, THROUGHPUT, [WRK], PARITY);
    // Both send the next request when the answer is in, so both must find the same nginx.
    race.claim(&RATE, LATENCY, [WRK], Bars::goal(Bar::NoSlower));
    race.run(lab.options.rounds)
}

/// `linerate serve` beside the floor, nginx, its other engine and the servers that were named.
pub(super) fn servers(lab: &Lab, bars: &Servers) -> anyhow::Result<Tally> {
    let ring = peers::serve(RING, "--engine uring");
    let recipes = [
        peers::serve(SERVE, ""),
        ring,
        peers::confined(CONFINED),
        peers::floor(),
        peers::nginx(),
    ];
    let claims = [
        (SERVE, FLOOR, bars.floor),
        (SERVE, NGINX, bars.nginx),
        (SERVE, RING, ENGINES),
        (CONFINED, SERVE, PARITY),
    ];
    compete(lab, bars.connections, recipes.to_vec(), &claims)
}

/// One connection: most of it is two wake-ups an answer, so nothing is claimed but of the whole pair,
/// and of named servers.
pub(super) fn one_connection(lab: &Lab) -> anyhow::Result<Tally> {
    let recipes = [peers::serve(SERVE, ""), peers::floor(), peers::nginx()];
    compete(lab, "1", recipes.to_vec(), &[])
}

const SERVE: &str = "serve";
const RING: &str = "serve (ring)";
const CONFINED: &str = "serve (confined)";
const FLOOR: &str = "floor";
const NGINX: &str = "nginx";

/// Servers under the same wrk, in turn. The first is ours; the claims are of one server's CPU time to
/// another's.
fn compete(
    lab: &Lab,
    connections: &str,
    mut recipes: Vec<Recipe>,
    claims: &[(&'static str, &str, Bars)],
) -> anyhow::Result<Tally> {
    let further = lab.options.against.iter();
    let further: Vec<Recipe> = further.map(|command| peers::other(command)).collect();
    let names: Vec<String> = further.iter().map(|recipe| recipe.name.clone()).collect();
    recipes.extend(further);
    let different: BTreeSet<&str> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    ensure!(
        different.len() == recipes.len(),
        "two servers are called by one name, that of the program: of {names:?}, start one through a \
         link with another name"
    );
    let wrk = Client::wrk(connections);
    let title = format!("servers, keep-alive JSON, under {}", wrk.shown());
    let mut race = Race::new(title, OF_REQUESTS);
    for (index, recipe) in recipes.iter().enumerate() {
        let server = Server::start(lab, recipe)?;
        let answer = exchange::ask(&mut TcpStream::connect(server.address())?)
            .with_context(|| recipe.shown())?;
        if index == 0 {
            // The floor is to send what ours sends.
            std::fs::write(lab.path(ANSWER), answer)?;
        }
        let wrk = &wrk;
        let lap = move || Lap::run(lab, wrk, &server);
        race.arm(&recipe.name, vec![recipe.shown()], lap);
    }
    for (ours, peer, bars) in claims {
        race.claim(&SERVER, ours, [*peer], *bars);
    }
    race.claim(&PAIR, SERVE, [NGINX], PARITY);
    race.claim(&SERVER, SERVE, &names, PARITY);
    race.claim(&PAIR, SERVE, &names, PARITY);
    race.run(lab.options.rounds)
}
