//! nginx as a target over TLS, its certificate checked.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::certificates::{Authority, file};
use crate::common::{Folder, errors};
use crate::load_program::{load, parse};

/// nginx in the foreground; dropping it ends its workers too.
struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.0);
        let _ = self.0.wait();
    }
}

fn start(folder: &Folder, address: SocketAddr) -> Nginx {
    let config = format!(
        "daemon off; master_process off; pid pid; error_log stderr; events {{}}\n\
         http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f;\n\
         uwsgi_temp_path u; scgi_temp_path s; server {{ listen {address} ssl;\n\
         ssl_certificate good.pem; ssl_certificate_key good.key;\n\
         ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:a:1m;\n\
         location / {{ return 200 \"hello\\n\"; }} }} }}\n"
    );
    std::fs::write(folder.path().join("nginx.conf"), config).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder.path());
    command.args(["-c", "nginx.conf", "-e", "stderr"]);
    let nginx = Nginx(command.stderr(Stdio::null()).spawn().unwrap());
    let is_up = || TcpStream::connect(address).is_ok();
    assert!(sys::clock::wait_until(Duration::from_secs(20), is_up));
    nginx
}

#[test]
fn nginx_answers_by_tls_and_its_sessions_are_resumed() {
    let folder = Folder::new("load-tls-nginx");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let _nginx = start(&folder, address);
    let url = format!("https://localhost:{}/", address.port());
    let ca = file(&folder, "ca.pem");
    for version in ["1.2", "1.3"] {
        for headers in [&[][..], &["-H", "Connection: close"]] {
            let flags = [
                "--ca", &ca, "--tls", version, "-c", "4", "-d", "200ms", "--settle", "0ms",
                "--json",
            ];
            let output = load(&url, &[&flags[..], headers].concat());
            assert!(output.status.success(), "{}", errors(&output));
            let report = parse(&output);
            assert_eq!(report["errors"]["malformed"], 0, "{report:#}");
            assert_eq!(report["errors"]["closed"], 0, "{report:#}");
            let tls = &report["tls"];
            assert_eq!(tls["version"], version);
            let resumed = tls["resumed"].as_u64().unwrap();
            assert!(headers.is_empty() || resumed > 4, "{version}: {report:#}");
        }
    }
}
