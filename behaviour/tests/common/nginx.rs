//! nginx as a target.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Folder;

/// nginx in the foreground; dropping it ends it.
pub(crate) struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.0);
        let _ = self.0.wait();
    }
}

impl Nginx {
    /// Starts nginx with the given content of its `server` block and its log in the folder. Returns
    /// once `is_up` holds.
    pub(crate) fn start(folder: &Folder, server: &str, is_up: impl FnMut() -> bool) -> Self {
        let config = format!(
            "daemon off; master_process off; pid pid; error_log stderr; events {{}}\n\
             http {{ access_log log; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f;\n\
             uwsgi_temp_path u; scgi_temp_path c; server {{ {server} }} }}\n"
        );
        std::fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path());
        command.args(["-c", "nginx.conf", "-e", "stderr"]);
        let nginx = Self(command.stderr(Stdio::null()).spawn().unwrap());
        assert!(sys::clock::wait_until(Duration::from_secs(20), is_up));
        nginx
    }
}

/// An address of loopback that is free.
pub(crate) fn free_address() -> SocketAddr {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap()
}

/// The directives of nginx for the certificate `good` in its folder.
pub(crate) const CERTIFICATE: &str = "ssl_certificate good.pem; ssl_certificate_key good.key; \
                                      ssl_protocols TLSv1.2 TLSv1.3;";
