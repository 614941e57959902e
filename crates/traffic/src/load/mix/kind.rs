//! One kind of request of a mix, prepared from its specification.

use model::random::SplitMix64;
use model::request::{Content, KindSpec};

use super::MixError;
use super::template::Template;
use crate::load::http::HttpProtocol;

/// One kind of request.
#[derive(Debug)]
pub(super) struct Kind {
    /// A request of this kind, with the check of the answers to all of them. Its bytes are sent
    /// where there is no template.
    pub(super) request: HttpProtocol,
    pub(super) template: Option<Template>,
}

impl Kind {
    /// Prepares the kind; the request to show is drawn from `samples`.
    pub(super) fn new(
        host: &str,
        spec: &KindSpec,
        mut samples: SplitMix64,
    ) -> Result<Self, MixError> {
        if spec.weight == 0 {
            return Err(MixError::Weightless);
        }
        let (path, body) = (&spec.path, spec.body.bytes());
        let mut request = HttpProtocol::new(&spec.method, host, path, &spec.headers, body)?;
        let takes_body = matches!(spec.body, Content::Text(_));
        let template = Template::of_request(request.bytes(), takes_body)?;
        if let Some(template) = &template {
            let mut sample = Vec::with_capacity(template.most_bytes());
            template.render(&mut samples, &mut sample);
            request.replace_bytes(sample);
            request.compare_no_bodies();
        }
        Ok(Self { request, template })
    }

    /// Returns the length of the longest request that the template can make, bytes; 0 without a
    /// template.
    pub(super) fn most_bytes(&self) -> usize {
        self.template.as_ref().map_or(0, Template::most_bytes)
    }
}
