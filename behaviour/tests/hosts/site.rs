//! Three machines with an sshd each, as far as one machine can provide them: the hosts of a rig,
//! keys made on the spot, and a configuration that `ssh` takes for its user's.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use machine::rig::Lab;
use model::Topology;

use crate::common::processes::{self, offspring, wait_for};
use crate::common::{Folder, linerate};

const HOSTS: [&str; 3] = ["client", "router", "server"];

/// What is different about a host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    Usual,
    /// Its `uname` names another machine.
    OtherKind,
    /// Its user's cache has room for a megabyte only.
    NoRoom,
}

/// The machines, and a folder for all their files.
pub(crate) struct Site {
    daemons: Vec<Daemon>,
    lab: Lab,
    pub(crate) folder: Folder,
}

/// An sshd, killed with everything it started when this is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        for pid in offspring(self.0.id()) {
            signal("KILL", pid);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Site {
    /// Brings the machines up. The server's host may be a special one.
    pub(crate) fn new(name: &str, server: Host) -> Self {
        let user = fs::metadata("/proc/self").unwrap().uid();
        assert_eq!(user, 0, "an sshd takes root: so do the tests of hosts");
        let folder = Folder::new(name);
        let lab = Lab::build(Path::new(crate::common::program()), Topology::Router).unwrap();
        let mut site = Self {
            daemons: Vec::new(),
            lab,
            folder,
        };
        site.make_key("key");
        fs::copy(site.path("key.pub"), site.path("authorized")).unwrap();
        // Every sshd of this system confines its unprivileged half to this folder.
        fs::create_dir_all("/run/sshd").unwrap();
        for host in HOSTS {
            let special = if host == "server" {
                server
            } else {
                Host::Usual
            };
            site.start_sshd(host, special);
        }
        site.write_user_configuration();
        site.write_hosts_file();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where programs are kept on a host.
    fn cache(&self, host: &str) -> PathBuf {
        self.path(&format!("cache-{host}"))
    }

    fn address(&self, host: &str) -> String {
        let host = self.lab.host(host).unwrap();
        host.address().unwrap().to_string()
    }

    fn make_key(&self, name: &str) {
        self.make_key_of_kind("ed25519", name);
    }

    fn make_key_of_kind(&self, kind: &str, name: &str) {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", kind, "-N", "", "-f"])
            .arg(self.path(name))
            .status();
        assert!(made.unwrap().success());
    }

    fn start_sshd(&mut self, host: &str, special: Host) {
        let key = format!("host-key-{host}");
        self.make_key(&key);
        // Like most hosts, it has another key, which nobody knows.
        let more = format!("more-{key}");
        self.make_key_of_kind("ecdsa", &more);
        let (address, cache) = (self.address(host), self.cache(host));
        fs::create_dir(&cache).unwrap();
        let mut set = format!("XDG_CACHE_HOME={}", cache.display());
        if special == Host::OtherKind {
            set += &format!(" PATH={}:/usr/bin:/bin", self.fake_uname().display());
        }
        let config = format!(
            "ListenAddress {address}\nHostKey {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
             KbdInteractiveAuthentication no\nSetEnv {set}\n",
            self.path(&key).display(),
            self.path(&more).display(),
            self.path("authorized").display(),
        );
        let config_file = self.path(&format!("sshd-config-{host}"));
        fs::write(&config_file, config).unwrap();
        let sshd = format!("exec /usr/sbin/sshd -D -e -f {}", config_file.display());
        let script = match special {
            Host::NoRoom => format!(
                "mount -t tmpfs -o size=1m none {} && {sshd}",
                cache.display()
            ),
            _ => sshd,
        };
        let log = self.path(&format!("sshd-log-{host}"));
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stderr(fs::File::create(&log).unwrap());
        self.lab.host(host).unwrap().put(&mut command).unwrap();
        self.daemons.push(Daemon(command.spawn().unwrap()));
        wait_for("sshd listens", || {
            fs::read_to_string(&log)
                .unwrap()
                .contains("Server listening")
        });
    }

    fn fake_uname(&self) -> PathBuf {
        let folder = self.path("fake");
        fs::create_dir(&folder).unwrap();
        write_program(&folder.join("uname"), "echo Linux riscv64");
        folder
    }

    /// `ssh` finds its user's configuration by the password database, which a test leaves alone. So
    /// the `ssh` that is found first is a script that names another configuration.
    fn write_user_configuration(&self) {
        let mut config = String::new();
        for host in HOSTS {
            config += &format!(
                "Host bench-{host}\n HostName {}\n User root\n",
                self.address(host)
            );
        }
        config += &format!(
            "Host *\n IdentityFile {}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n \
             GlobalKnownHostsFile /dev/null\n UpdateHostKeys yes\n",
            self.path("key").display(),
            self.path("known").display(),
        );
        let file = self.path("ssh-config");
        fs::write(&file, config).unwrap();
        fs::create_dir(self.path("bin")).unwrap();
        let run = format!("exec /usr/bin/ssh -F {} \"$@\"", file.display());
        write_program(&self.path("bin/ssh"), &run);
        self.know(&HOSTS);
    }

    /// Makes the keys of these hosts known, and of no others.
    pub(crate) fn know(&self, hosts: &[&str]) {
        let line = |host: &&str| {
            let key = self.folder.text(&format!("host-key-{host}.pub"));
            format!("{} {key}", self.address(host))
        };
        let lines: String = hosts.iter().map(line).collect();
        fs::write(self.path("known"), lines).unwrap();
    }

    fn write_hosts_file(&self) {
        let text = format!(
            "[host.client]\nssh = \"bench-client\"\n[host.server]\nssh = \"bench-server\"\n\
             address = \"{}\"\n",
            self.address("server")
        );
        let folder = self.path("config/linerate");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("hosts.toml"), text).unwrap();
    }

    /// The program on the machine in the middle, in the folder, run by a user whose own hosts file
    /// names the machines.
    pub(crate) fn linerate(&self, arguments: &[&str]) -> Command {
        let mut command = linerate(&self.folder, arguments);
        command.env("XDG_CONFIG_HOME", self.path("config"));
        self.put("router", command)
    }

    /// Another program on one of the machines.
    pub(crate) fn on(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        self.put(host, command)
    }

    /// A command on a machine, which finds the `ssh` that knows the others.
    fn put(&self, host: &str, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        self.lab.host(host).unwrap().put(&mut command).unwrap();
        command
    }

    /// Pulls the cable between the machine in the middle and a host, or puts it back.
    pub(crate) fn set_cable(&self, host: &str, state: &str) {
        let device = format!("lr-{host}");
        let mut command = self.on("router", &["ip", "link", "set", &device, state]);
        assert!(command.status().unwrap().success());
    }

    /// The programs that were brought to a host, with their identity on its disk.
    pub(crate) fn programs(&self, host: &str) -> Vec<(String, u64)> {
        let daemon = &self.daemons[HOSTS.iter().position(|known| *known == host).unwrap()].0;
        let cache = self.cache(host);
        // As seen by the daemon, which may have mounted something there.
        let seen = format!(
            "/proc/{}/root{}/linerate/agents",
            daemon.id(),
            cache.display()
        );
        let entries = fs::read_dir(seen).into_iter().flatten().flatten();
        let named = entries.map(|entry| {
            let inode = entry.metadata().unwrap().ino();
            (entry.file_name().into_string().unwrap(), inode)
        });
        named.collect()
    }

    /// The processes of programs that were brought to a host: agents and targets.
    pub(crate) fn at_work(&self, host: &str) -> Vec<u32> {
        let cache = self.cache(host);
        let is_there = |pid: &u32| {
            let program = fs::read_link(format!("/proc/{pid}/exe"));
            program.is_ok_and(|program| program.starts_with(&cache))
        };
        processes::all().filter(is_there).collect()
    }

    /// The processes in which the sshd of a host serves its connections.
    pub(crate) fn sessions(&self, host: &str) -> Vec<u32> {
        let daemon = &self.daemons[HOSTS.iter().position(|known| *known == host).unwrap()].0;
        let is_sshd = |pid: &u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim() == "sshd")
        };
        offspring(daemon.id()).into_iter().filter(is_sshd).collect()
    }
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether a process runs that was started with this argument.
pub(crate) fn runs_with(argument: &str) -> bool {
    let cmdline = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).ok();
    let mut words = processes::all().filter_map(cmdline);
    words.any(|words| {
        words
            .split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    })
}

/// Sends a signal to a process, if it is still there.
pub(crate) fn signal(name: &str, pid: u32) {
    let kill = format!("kill -{name} {pid} 2>&-");
    let _ = Command::new("sh").args(["-c", &kill]).status();
}
