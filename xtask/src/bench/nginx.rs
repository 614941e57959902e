//! Debian's nginx with one worker, answering the same JSON from memory.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, bail};
use sys::process::ChildSetup;

/// The configuration; `PORT` is put in.
const CONFIGURATION: &str = include_str!("../../../bench/nginx.conf");

/// A running nginx. Dropping it stops it.
pub(crate) struct Nginx {
    master: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl Nginx {
    /// Starts it on one CPU and a free port, and waits until it listens.
    pub(crate) fn start(cpu: usize) -> anyhow::Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let folder = std::env::temp_dir().join(format!(
            "linerate-bench-nginx-{}-{port}",
            std::process::id()
        ));
        std::fs::create_dir_all(&folder)?;
        let configuration = CONFIGURATION.replace("PORT", &port.to_string());
        std::fs::write(folder.join("nginx.conf"), configuration)?;
        let mut command = Command::new("nginx");
        command
            .arg("-p")
            .arg(&folder)
            .args(["-c", "nginx.conf", "-e", "error.log"]);
        sys::process::prepare_child(
            &mut command,
            ChildSetup {
                cpus: vec![cpu],
                ..ChildSetup::default()
            },
        );
        let master = command.spawn().context("nginx could not be started")?;
        let nginx = Self {
            master,
            folder,
            port,
        };
        nginx.wait_until_it_listens()?;
        Ok(nginx)
    }

    fn wait_until_it_listens(&self) -> anyhow::Result<()> {
        let listens = || std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        if !sys::clock::wait_until(Duration::from_secs(5), listens) {
            bail!("nginx does not listen on port {}", self.port);
        }
        Ok(())
    }

    /// CPU time of master and workers so far.
    pub(crate) fn cpu_ns(&self) -> anyhow::Result<u64> {
        let pid = self.master.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let mut sum_ns = sys::clock::process_cpu_ns(pid)?;
        for worker in children.split_whitespace() {
            sum_ns += sys::clock::process_cpu_ns(worker.parse()?)?;
        }
        Ok(sum_ns)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.master);
        let _ = self.master.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
