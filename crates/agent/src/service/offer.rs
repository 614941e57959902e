//! What a server of files is given beside its description: a folder, and who it is over TLS.

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
/// A folder that is not there.
const NOTHING: &str = "nothing";

/// Whether a path means nothing but itself in any configuration.
fn is_plain(path: &Path) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "/.-_+@~".contains(letter);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

/// What a service has to offer; by default its own answers alone, in the clear.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Offer {
    /// Its files are to be had below `/files/`.
    pub root: Option<PathBuf>,
    /// It speaks TLS as this, and nothing in the clear.
    pub identity: Option<Pems>,
}

/// Certificates and the key of the first, in PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct Pems {
    pub certificate: String,
    pub key: String,
}

/// Keys are shown to nobody.
impl fmt::Debug for Pems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pems")
    }
}

impl Offer {
    /// Whether a service can do that, as far as its description tells.
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
                advice: "call folders by letters, digits and `.-_+@~`".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// What one of its variables stands for; `None` for others.
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

    /// Writes who it is into its folder, which only it may enter.
    pub(super) fn write_into(&self, folder: &Folder) -> io::Result<()> {
        let Some(pems) = &self.identity else {
            return Ok(());
        };
        folder.write(CERTIFICATE, &pems.certificate)?;
        folder.write(KEY, &pems.key)
    }

    /// How it is spoken to; `None` in the clear.
    pub(crate) fn client(&self, address: SocketAddr) -> Result<Option<Client>, Failure> {
        let identity = self.identity.as_ref();
        identity.map(|_| client_of_a_lab(address)).transpose()
    }
}

/// How a server is spoken to over TLS that nobody vouches for.
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
