//! A long file from the page cache over one connection: what a GB costs, and how fast it comes.

use super::claim::{Bar, Bars, Tally};
use super::client::Client;
use super::lab::Lab;
use super::lap::{Lap, OF_BYTES, PAIR, RATE, SERVER};
use super::peers::{self, CIPHER};
use super::race::Race;
use super::server::{Recipe, Server};

const PARITY: Bars = Bars::goal(Bar::NoDearer);
/// By sendfile on both sides, neither is the faster: what is kept is that.
const FASTER: Bars = Bars::goal(Bar::AtLeast(1.5)).reached(Bar::AtLeast(0.90));
/// What is kept is what was reached once our server paid for the way of what it sends.
const SERVER_OVER_TLS: Bars = Bars::goal(Bar::AtMost(0.60)).reached(Bar::AtMost(0.75));
/// With curl as the client, as peers have it; and with ours.
const SERVE: &str = "serve";
const NGINX: &str = "nginx";
const SERVE_LOAD: &str = "serve+load";
const WITH_LOAD: &str = "+load";
const NGINX_LOAD: &str = "nginx+load";

/// Beside nginx with sendfile, to two clients.
pub(super) fn in_the_clear(lab: &Lab) -> anyhow::Result<Tally> {
    lab.make_long_file()?;
    let recipes = (peers::serve(SERVE, "--root {root}"), peers::nginx());
    let serve = Server::start(lab, &recipes.0)?;
    let nginx = Server::start(lab, &recipes.1)?;
    let (curl, load) = (Client::curl("http", &[]), Client::download("http", &[]));
    let title = "1 GiB from the page cache, HTTP, one connection";
    let mut race = Race::new(title.to_owned(), OF_BYTES);
    for (name, client, recipe, server) in [
        (SERVE, &curl, &recipes.0, &serve),
        (NGINX, &curl, &recipes.1, &nginx),
        (SERVE_LOAD, &load, &recipes.0, &serve),
        (NGINX_LOAD, &load, &recipes.1, &nginx),
    ] {
        let lap = move || Lap::run(lab, client, server);
        race.arm(name, shown(client, recipe), lap);
    }
    for (arm, peer) in [(SERVE, NGINX), (SERVE_LOAD, NGINX_LOAD)] {
        race.claim(&SERVER, arm, [peer], PARITY);
        race.claim(&RATE, arm, [peer], FASTER);
        race.claim(&PAIR, arm, [peer], PARITY.reached(Bar::AtMost(1.12)));
    }
    race.run(lab.options.rounds)
}

/// Beside every server of TLS that is here, with the one cipher that curl offers: every server to
/// each of two clients, and compared where the client is the same.
pub(super) fn over_tls(lab: &Lab) -> anyhow::Result<Tally> {
    lab.make_long_file()?;
    lab.make_certificate()?;
    let clients = [curl_tls(), Client::download("https", &["--insecure"])];
    let (here, absent): (Vec<_>, Vec<_>) = tls_peers().into_iter().partition(is_here);
    let recipes: Vec<Recipe> = [ours_tls()].into_iter().chain(here).collect();
    let started = recipes.iter().map(|recipe| Server::start(lab, recipe));
    let servers = started.collect::<anyhow::Result<Vec<_>>>()?;
    let title = format!("1 GiB from the page cache, HTTPS, one connection, {CIPHER}");
    let mut race = Race::new(title, OF_BYTES);
    let absent = absent.iter().map(|peer| &peer.name);
    race.left_out = absent
        .map(|name| format!("{name}, as it is not installed"))
        .collect();
    for (client, (ours, suffix)) in clients.iter().zip([(SERVE, ""), (SERVE_LOAD, WITH_LOAD)]) {
        let mut peers = Vec::new();
        for (recipe, server) in recipes.iter().zip(&servers) {
            let name = format!("{}{suffix}", recipe.name);
            let lap = move || Lap::run(lab, client, server);
            race.arm(&name, shown(client, recipe), lap);
            peers.push(name);
        }
        peers.retain(|name| name != ours);
        race.claim(&RATE, ours, &peers, Bars::goal(Bar::AtLeast(1.15)));
        race.claim(&PAIR, ours, &peers, Bars::goal(Bar::AtMost(0.85)));
        race.claim(&SERVER, ours, &peers, SERVER_OVER_TLS);
    }
    race.run(lab.options.rounds)
}

fn tls_peers() -> [Recipe; 4] {
    [
        peers::nginx_tls(),
        peers::h2o_tls(),
        peers::go_tls(),
        peers::caddy_tls(),
    ]
}

fn ours_tls() -> Recipe {
    let identity = "--tls-cert {certificate} --tls-key {key}";
    let flags = format!("--root {{root}} {identity} --tls-ciphers {CIPHER}");
    peers::serve(SERVE, &flags)
}

fn curl_tls() -> Client {
    let one_cipher = ["--tlsv1.3", "--tls13-ciphers", CIPHER];
    Client::curl(
        "https",
        &[&["--insecure", "--http1.1"][..], &one_cipher].concat(),
    )
}

fn shown(client: &Client, server: &Recipe) -> Vec<String> {
    vec![client.shown(), format!("from {}", server.shown())]
}

/// Whether what it is made with, and it, can be started.
fn is_here(recipe: &Recipe) -> bool {
    let made_with = recipe.prepare.first().or_else(|| recipe.command.first());
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &String| {
        std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
    };
    made_with.is_some_and(has)
}
