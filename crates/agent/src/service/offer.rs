//! What a file server is given besides its description: a folder, and its identity for TLS.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use model::Service;
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use traffic::tls::{Client, ClientOptions, Trust};

use super::folder::Folder;

/// Files in the service's own folder.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// The name of a folder that does not exist.
const NOTHING: &str = "nothing";

/// Whether a path has no special meaning in any configuration.
fn is_plain(path: &Path) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "/.-_+@~".contains(letter);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

/// What a service is to offer; by default only its own answers, without TLS.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Offer {
    /// The folder whose files it serves below `/files/`.
    pub root: Option<PathBuf>,
    /// Its identity for TLS; with one, it speaks nothing but TLS.
    pub identity: Option<Pems>,
}

/// Certificates and the key of the first, in PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct Pems {
    pub certificate: String,
    pub key: String,
}

/// Shows no key.
impl fmt::Debug for Pems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pems")
    }
}

impl Offer {
    /// Checks that a service can offer this, as far as its description tells.
    pub(super) fn check(&self, service: &Service) -> Result<(), Failure> {
        let cannot = |what: &str, variable: &str| Failure {
            what: format!(
                "{} cannot {what}: its description has no `{{{variable}}}`",
                service.title
            ),
            advice:
                "docs/services.md says what to write; of Linerate's own services caddy, go-http, \
                     h2o and nginx can"
                    .to_owned(),
        };
        if self.root.is_some() && !service.mentions("root") {
            return Err(cannot("serve files", "root"));
        }
        if self.identity.is_some() && !service.mentions("scheme") {
            return Err(cannot("be told to speak TLS", "scheme"));
        }
        match &self.root {
            Some(root) if !is_plain(root) => Err(Failure {
                what: format!(
                    "{} cannot be given the folder {}: its name would stand among the words of its \
                     configuration",
                    service.title,
                    root.display().to_string().escape_debug()
                ),
                advice: "use only letters, digits and `.-_+@~` in names of folders".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The value of one of the offer's variables; `None` for other variables.
    pub(super) fn value_of(&self, variable: &str, folder: &Path) -> Option<String> {
        let path = match variable {
            "scheme" => return Some(self.scheme().to_owned()),
            "root" => self.root.clone().unwrap_or_else(|| folder.join(NOTHING)),
            "certificate" => folder.join(CERTIFICATE),
            "key" => folder.join(KEY),
            _ => return None,
        };
        Some(path.display().to_string())
    }

    /// How its URLs begin.
    pub fn scheme(&self) -> &'static str {
        match self.identity {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Writes certificate and key into the service's folder, which only the service may enter.
    pub(super) fn write_into(&self, folder: &Folder) -> io::Result<()> {
        let Some(pems) = &self.identity else {
            return Ok(());
        };
        folder.write(CERTIFICATE, &pems.certificate)?;
        folder.write(KEY, &pems.key)
    }

    /// The TLS client that speaks to it; `None` without TLS.
    pub(crate) fn client(&self, address: SocketAddr) -> Result<Option<Client>, Failure> {
        let identity = self.identity.as_ref();
        identity.map(|_| client_of_a_lab(address)).transpose()
    }
}

/// A TLS client for a server for which nobody vouches.
pub(crate) fn client_of_a_lab(address: SocketAddr) -> Result<Client, Failure> {
    let options = ClientOptions {
        http2: false,
        trust: Trust::Anybody,
        version: None,
        resumption: false,
    };
    let client = Client::new(&address.ip().to_string(), &options);
    client.map_err(|error| super::failed("speaking TLS", &error))
}
