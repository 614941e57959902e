//! The request that a load repeats, and how it reaches its server. It may hold secrets: it is sent
//! to the agent that runs the load, and never saved.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;

/// A request for the chosen version of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSpec {
    /// Where the request goes: scheme, host, port, path and query.
    pub url: String,
    /// The HTTP method, in capitals.
    pub method: String,
    /// Name and value of each header.
    pub headers: Vec<(String, String)>,
    /// Bytes of the body; empty for no body.
    pub body: Vec<u8>,
    /// Requests under way at once on each connection of HTTP/2; null for HTTP/1.1.
    pub streams: Option<u32>,
    /// Requests under way at once on each connection of HTTP/1.1, count.
    pub pipeline: u32,
    /// How TLS is spoken where the scheme is https.
    pub tls: TlsSpec,
    /// Path of the Unix socket to connect to, instead of the host.
    pub unix_socket: Option<PathBuf>,
    /// Requests of several kinds, instead of this one; null where every request is the same.
    pub mix: Option<MixSpec>,
}

impl RequestSpec {
    /// Returns a plain GET of a URL: HTTP/1.1, without headers or a body of its own.
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
    /// Seed that makes the sequence of every connection repeatable.
    pub seed: u64,
    /// The kinds of request; at least one.
    pub kinds: Vec<KindSpec>,
}

/// One kind of request, as it was specified. The path, the values of headers and a text body may
/// contain templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindSpec {
    /// Name for readers.
    pub name: String,
    /// How often this kind is drawn, relative to the weights of the others.
    pub weight: u32,
    /// The HTTP method, in capitals.
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// Name and value of each header.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Content,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text that may contain templates.
    Text(String),
    /// Bytes that are sent unchanged, even where they contain braces.
    Bytes(Vec<u8>),
}

impl Content {
    /// Returns the bytes unchanged, with any templates left as they are.
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
    /// Certificates that vouch for the server, as PEM; null accepts any certificate.
    pub roots: Option<String>,
    /// The only version to use; null for 1.3, or 1.2 where the server has no 1.3.
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
