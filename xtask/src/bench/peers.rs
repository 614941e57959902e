//! How each server of the comparisons is started, ours and the peers.

use std::path::Path;

use super::server::Recipe;

const NGINX: &str = include_str!("../../../bench/nginx.conf");
const H2O: &str = include_str!("../../../bench/h2o.conf");
const CADDY: &str = include_str!("../../../bench/Caddyfile");
const GO: &str = include_str!("../../../bench/files.go");

/// The one cipher that every client of TLS offers.
pub(super) const CIPHER: &str = "TLS_AES_128_GCM_SHA256";

/// `linerate serve` with one worker and those flags, as little confined as its peers are.
pub(super) fn serve(name: &str, flags: &str) -> Recipe {
    server(name, &format!("--sandbox off {flags}"))
}

/// `linerate serve` as it is without a word about its sandbox.
pub(super) fn confined(name: &str) -> Recipe {
    server(name, "--sandbox on")
}

fn server(name: &str, flags: &str) -> Recipe {
    let command = format!("{{linerate}} serve --quiet --listen {{port}} --workers 1 {flags}");
    recipe(name, command.trim_end(), &[])
}

/// The floor: the same sockets and loop without a protocol. It answers so many bytes with what ours
/// answers to the request that has so many.
pub(super) fn floor() -> Recipe {
    let sizes = "--request-bytes {request_bytes} --answer-file {answer}";
    let flags = format!("--listen {{port}} --workers 1 --sandbox off {sizes}");
    let command = format!("{{linerate}} echo --quiet {flags}");
    recipe("floor", &command, &[])
}

/// Files and a fixed answer from one worker, by sendfile(2) in the clear.
pub(super) fn nginx() -> Recipe {
    nginx_on("127.0.0.1:{port}")
}

pub(super) fn nginx_tls() -> Recipe {
    let tls = "ssl; ssl_certificate {certificate}; ssl_certificate_key {key}";
    nginx_on(&format!("127.0.0.1:{{port}} {tls}"))
}

fn nginx_on(listen: &str) -> Recipe {
    let command = "nginx -p {dir} -c nginx.conf -e error.log";
    recipe(
        "nginx",
        command,
        &[("nginx.conf", nginx_configuration(listen))],
    )
}

/// nginx's configuration for that `listen` directive; `{root}` is left to whoever starts it.
pub(crate) fn nginx_configuration(listen: &str) -> String {
    NGINX.replace("{listen}", listen)
}

pub(super) fn h2o_tls() -> Recipe {
    let command = "h2o -m worker -c h2o.conf";
    recipe("h2o", command, &[("h2o.conf", H2O.to_owned())])
}

pub(super) fn caddy_tls() -> Recipe {
    let command = "caddy run --config Caddyfile --adapter caddyfile";
    Recipe {
        environment: ONE_THREAD.to_vec(),
        ..recipe("caddy", command, &[("Caddyfile", CADDY.to_owned())])
    }
}

pub(super) fn go_tls() -> Recipe {
    let command = "{dir}/server 127.0.0.1:{port} {certificate} {key} {root}";
    Recipe {
        prepare: words("go build -o server files.go"),
        environment: ONE_THREAD.to_vec(),
        ..recipe("go", command, &[("files.go", GO.to_owned())])
    }
}

/// Whatever that command starts, named by its program.
pub(super) fn other(command: &str) -> Recipe {
    let program = command.split_whitespace().next().unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or_default();
    Recipe {
        name: name.to_string_lossy().into_owned(),
        command: vec!["sh".to_owned(), "-c".to_owned(), format!("exec {command}")],
        ..Recipe::default()
    }
}

/// As each server has one CPU.
const ONE_THREAD: &[(&str, &str)] = &[("GOMAXPROCS", "1")];

fn recipe(name: &str, command: &str, files: &[(&'static str, String)]) -> Recipe {
    Recipe {
        name: name.to_owned(),
        command: words(command),
        files: files.to_vec(),
        ..Recipe::default()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
