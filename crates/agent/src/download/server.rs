//! The server that sends the file: our own or a service, started with the folder of the file.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Service;
use model::failure::Failure;
use traffic::load::http::HttpProtocol;
use traffic::load::probe_head;
use traffic::tls::Agreed;

use super::serving::ServedFile;
use super::{FileOffer, failed, folder};
use crate::children::ServerProcess;
use crate::environment;
use crate::held_server::HeldServer;
use crate::service::register::studies;
use crate::service::{self, Offer, RunningService, Wish, client_of_a_lab};
use crate::target::UNCONFINED;

/// How long the head of the first answer may take.
const PROBE_TIMEOUT_NS: u64 = 5_000_000_000;
/// The cipher of TLS 1.3 that all servers use, so that they can be compared. Programs written in Go
/// choose it by themselves where the CPU has AES, and cannot be told to use another.
const CIPHER: &str = "TLS_AES_128_GCM_SHA256";

/// A server of files.
#[derive(Clone, Debug)]
pub enum FileServer {
    /// `linerate serve` with these further arguments.
    Serve {
        flags: Vec<String>,
    },
    Service(Box<Service>),
}

/// A server that is up. Dropping it stops it.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
    pub(super) title: String,
    pub(super) version: Option<String>,
    /// The path of the file in a request.
    pub(super) path: String,
    process: HeldServer,
}

/// Where a server runs, and with what.
struct Setup<'a> {
    program: &'a Path,
    ip: IpAddr,
    cpus: &'a [usize],
    offer: Offer,
    name: String,
}

impl Server {
    pub(super) fn start(
        program: &Path,
        file: &FileOffer,
        ip: IpAddr,
        cpus: &[usize],
    ) -> Result<Self, Failure> {
        let (root, name) = folder_and_name(&file.file)?;
        folder::check_open(&root, &root.join(&name), ip)?;
        let offer = Offer {
            root: Some(root),
            identity: file.identity.clone(),
        };
        let setup = Setup {
            program,
            ip,
            cpus,
            offer,
            name,
        };
        match &file.server {
            FileServer::Serve { flags } => setup.serve(flags),
            FileServer::Service(service) => setup.service(service),
        }
    }

    /// Whether it is still up.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        self.process.check().map(drop)
    }
}

impl ServedFile {
    pub(super) fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{address}{}", self.path)
    }
}

/// Requests the file with our own client, and checks by the head of the answer that the server has
/// all of it. Returns what TLS agreed on.
pub(super) fn look(served: &ServedFile, address: SocketAddr) -> Result<Option<Agreed>, Failure> {
    let host = address.to_string();
    let request = HttpProtocol::new("GET", &host, &served.path, &[], &[]);
    let request = request.map_err(|error| failed("asking for the file", &error))?;
    let tls = served
        .is_tls
        .then(|| client_of_a_lab(address))
        .transpose()?;
    let head = probe_head(address, tls.as_ref(), &request, PROBE_TIMEOUT_NS)
        .map_err(|error| failed(&served.server_title, &error))?;
    if head.status == 200 && head.body_bytes == Some(served.file_bytes) {
        return Ok(head.tls);
    }
    Err(Failure {
        what: format!(
            "{} answers `GET {}` with status {} and {} bytes, where the file has {}",
            served.server_title,
            served.path,
            head.status,
            head.body_bytes
                .map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string()),
            served.file_bytes
        ),
        advice: "servers never run as root: the file and the folders above it must be readable \
                 for every user"
            .to_owned(),
    })
}

impl Setup<'_> {
    fn serve(self, flags: &[String]) -> Result<Server, Failure> {
        let root = self.offer.root.clone().unwrap_or_default();
        let mut command = Command::new(self.program);
        environment::little(&mut command);
        let listen = SocketAddr::new(self.ip, 0).to_string();
        command.args(["serve", "--json", "--listen", &listen, "--root"]);
        command.arg(root);
        command.args(["--cpus", &sys::cpu::format_list(self.cpus)]);
        // A single worker is the process itself, whose CPU time is read.
        command.args(["--workers", &self.cpus.len().to_string()]);
        command.args(UNCONFINED);
        command.args(flags);
        if self.offer.identity.is_some() {
            command.args(["--tls-self-signed", "--tls-ciphers", CIPHER]);
        }
        let process = ServerProcess::start(command, environment::ordinary(&[])?)?;
        Ok(Server {
            address: process.address,
            pid: process.pid(),
            title: "linerate serve".to_owned(),
            version: None,
            path: format!("/{}", self.name),
            process: HeldServer::Ours(process),
        })
    }

    fn service(self, service: &Service) -> Result<Server, Failure> {
        let version = service::find(service)?.version;
        let folder = service::new_folder();
        let found_by = studies::enter(service, &folder)?;
        let wish = Wish {
            address: Some(self.ip),
            workers: u32::try_from(self.cpus.len()).unwrap_or(u32::MAX),
            cpus: self.cpus.to_vec(),
            folder,
            offer: self.offer,
            ..Wish::default()
        };
        let running = RunningService::start(self.program, service, wish)?;
        let address = running.network_address()?;
        Ok(Server {
            address,
            pid: running.up.pid,
            title: service.title.clone(),
            version: Some(version),
            path: format!("/files/{}", self.name),
            process: HeldServer::Service(Box::new(running), found_by),
        })
    }
}

/// The folder of a file, by an absolute path without links, and the file's name there.
fn folder_and_name(file: &Path) -> Result<(PathBuf, String), Failure> {
    let real = file
        .canonicalize()
        .map_err(|error| unreadable(file, &error))?;
    let name = real.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (real.parent(), name.filter(|name| is_plain(name))) else {
        return Err(Failure {
            what: format!("{} cannot be asked for by its name", real.display()),
            advice: "name it with letters, digits, `.`, `-` and `_` only".to_owned(),
        });
    };
    Ok((folder.to_owned(), name.to_owned()))
}

/// Whether a name can be part of a URL without being escaped.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    name.bytes().all(plain)
}

pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    Failure {
        what: format!("{}: {error}", file.display()),
        advice: "give a file that is there".to_owned(),
    }
}
