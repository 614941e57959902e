//! From arguments to the request that is sent: method, headers, body.

use anyhow::Context as _;
use traffic::load::http::HttpProtocol;
use traffic::load::mix::{Content, has_template};
use wire::url::HttpUrl;

use super::Arguments;

/// Puts the request together as the arguments say.
pub(super) fn prepare(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<HttpProtocol> {
    let body = match body(arguments)? {
        Content::Text(text) => text.into_bytes(),
        Content::Bytes(bytes) => bytes,
    };
    let request = HttpProtocol::new(
        &method(arguments),
        &url.host_header(),
        &url.target,
        &arguments.headers,
        &body,
    );
    request.context("the request cannot be sent")
}

/// Whether a number is to be drawn for each request.
pub(super) fn has_templates(arguments: &Arguments, urls: &[HttpUrl]) -> bool {
    let paths = urls.iter().map(|url| url.target.as_str());
    let values = arguments.headers.iter().map(|(_, value)| value.as_str());
    let body = arguments.body.as_deref();
    let body = body.filter(|text| !text.starts_with('@'));
    paths.chain(values).chain(body).any(has_template)
}

pub(super) fn method(arguments: &Arguments) -> String {
    let default = match arguments.body {
        Some(_) => "POST",
        None => "GET",
    };
    let method = arguments.method.as_deref().unwrap_or(default);
    method.to_ascii_uppercase()
}

pub(super) fn body(arguments: &Arguments) -> anyhow::Result<Content> {
    let text = arguments.body.as_deref().unwrap_or_default();
    match text.strip_prefix('@') {
        None => Ok(Content::Text(text.to_owned())),
        Some(file) => {
            let bytes = std::fs::read(file);
            let bytes = bytes.with_context(|| format!("reading the body from `{file}`"))?;
            Ok(Content::Bytes(bytes))
        }
    }
}
