//! The request that a load repeats, and how it gets to its server. It may hold secrets: it is sent to the
//! agent that puts the load on, and never saved.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request, in the version of HTTP that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSpec {
    /// Where it goes: its scheme, host, port, path and query.
    pub url: String,
    /// In capitals.
    pub method: String,
    /// Name and value of each.
    pub headers: Vec<(String, String)>,
    /// Its bytes; none for no body.
    pub body: Vec<u8>,
    /// Requests under way at once on each connection of HTTP/2; null for HTTP/1.1.
    pub streams: Option<u32>,
    /// Requests under way at once on each connection of HTTP/1.1, count.
    pub pipeline: u32,
    /// How TLS is spoken, where the scheme is https.
    pub tls: TlsSpec,
    /// The socket among the files to connect to in the place of the host.
    pub unix_socket: Option<PathBuf>,
}

impl RequestSpec {
    /// GET of a URL in the clear, and no more.
    #[must_use]
    pub fn get(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            streams: None,
            pipeline: 1,
            tls: TlsSpec::default(),
            unix_socket: None,
        }
    }
}

/// How a client speaks TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSpec {
    /// The certificates that vouch for the server, as PEM; null takes any certificate.
    pub roots: Option<String>,
    /// This version alone; null for 1.3, or 1.2 where the server has no other.
    pub version: Option<TlsVersion>,
    /// Whether sessions are resumed where the server gives tickets.
    pub resumption: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    #[serde(rename = "1.2")]
    Tls12,
    #[serde(rename = "1.3")]
    Tls13,
}
