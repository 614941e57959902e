//! From arguments to the request that is sent: method, headers, body.

use anyhow::Context as _;
use traffic::load::http::HttpProtocol;
use wire::url::HttpUrl;

use super::Arguments;

/// Puts the request together as the arguments say.
pub(super) fn prepare(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<HttpProtocol> {
    let body = arguments
        .body
        .as_deref()
        .map_or(Ok(Vec::new()), read_body)?;
    let default_method = if arguments.body.is_some() {
        "POST"
    } else {
        "GET"
    };
    let method = arguments
        .method
        .as_deref()
        .unwrap_or(default_method)
        .to_ascii_uppercase();
    let request = HttpProtocol::new(
        &method,
        &url.host_header(),
        &url.target,
        &arguments.headers,
        &body,
    );
    request.context("the request cannot be sent")
}

fn read_body(body: &str) -> anyhow::Result<Vec<u8>> {
    match body.strip_prefix('@') {
        None => Ok(body.as_bytes().to_vec()),
        Some(file) => {
            std::fs::read(file).with_context(|| format!("reading the body from `{file}`"))
        }
    }
}
