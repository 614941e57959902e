//! The request that a load repeats, and how it gets to its server. It may hold secrets: it is sent to the
//! agent that puts the load on, and never saved.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;

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
    /// Requests of several kinds, in the place of this one; null for one and the same.
    pub mix: Option<MixSpec>,
}

impl RequestSpec {
    /// GET of a URL in the clear, and no more.
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
            mix: None,
        }
    }
}

/// Requests of several kinds to one server, each connection with a sequence of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MixSpec {
    /// Repeats the sequence of every connection.
    pub seed: u64,
    /// One at least.
    pub kinds: Vec<KindSpec>,
}

/// One kind of request, as it is asked for. Path, values of headers and a body of text may have
/// templates in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindSpec {
    /// What a reader knows it by.
    pub name: String,
    /// How often it comes, beside the weights of the others.
    pub weight: u32,
    /// In capitals.
    pub method: String,
    /// With its query.
    pub path: String,
    /// Name and value of each.
    pub headers: Vec<(String, String)>,
    /// What it carries.
    pub body: Content,
}

/// What a request carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// May have templates in it.
    Text(String),
    /// Sent as it is, whatever braces are in it.
    Bytes(Vec<u8>),
}

impl Content {
    /// The bytes as they stand, whatever templates are in them.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
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

named! {
    /// A version of TLS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum TlsVersion, "version of TLS" {
        Tls12 = "1.2",
        Tls13 = "1.3",
    }
}
