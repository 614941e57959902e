//! The flags of TLS: whom a load trusts, and what to do when a handshake fails.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::ValueHint;
use traffic::load::ProbeError;
use traffic::tls::{CertificateProblem, Client, ClientOptions, TlsFailure, Trust, Version};
use wire::url::{HttpUrl, Scheme};

use super::arguments::WHERE;
use crate::tls_flags::Switch;

/// Names another bundle, for everything that asks OpenSSL.
const BUNDLE_VARIABLE: &str = "SSL_CERT_FILE";
/// Where distributions keep the certificates of the CAs that they trust: Debian and its kin with
/// Arch and Gentoo, Fedora and its kin, openSUSE, Alpine.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Most servers speak HTTP/2 by TLS alone.
const NO_HTTP2: &str = "leave --http2 out, or give an https:// URL of it";

#[derive(clap::Args)]
pub(super) struct TlsFlags {
    /// For https://: take any certificate, as of a server that made its own
    #[arg(long, conflicts_with = "ca", help_heading = WHERE)]
    insecure: bool,
    /// Trust the certificates of this PEM file, and no others
    ///
    /// Those of CAs, or one that a server made for itself. Without it the CAs that this system
    /// trusts: of SSL_CERT_FILE where that is set, else of the bundle where distributions keep it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = WHERE)]
    ca: Option<PathBuf>,
    /// Resume sessions when a connection is opened again [default: on]
    ///
    /// Where the server gives tickets. It saves the server a signature and the client its check,
    /// and with TLS 1.2 the exchange of keys. How often it came to pass is in the report
    /// of a load that is none of --slo, --sweep and --download.
    #[arg(long, value_name = "on|off", hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    resume: Option<Switch>,
    /// Speak this version alone [default: 1.3, or 1.2 where the server has no other]
    #[arg(long, value_name = "1.2|1.3", value_enum, hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    tls: Option<Spoken>,
}

/// The versions of TLS by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Spoken {
    #[value(name = "1.2")]
    Tls12,
    #[value(name = "1.3")]
    Tls13,
}

impl TlsFlags {
    /// With whom TLS is spoken; `None` for a URL in the clear.
    pub(super) fn client(&self, url: &HttpUrl, http2: bool) -> anyhow::Result<Option<Client>> {
        if url.scheme == Scheme::Http {
            return self.check_unused().map(|()| None);
        }
        let (trust, from) = self.trust()?;
        let options = ClientOptions {
            trust,
            version: self.tls.map(|version| match version {
                Spoken::Tls12 => Version::Tls12,
                Spoken::Tls13 => Version::Tls13,
            }),
            resumption: self.resume != Some(Switch::Off),
            http2,
        };
        let client = Client::new(&url.host, &options);
        client.map(Some).map_err(|error| match from {
            Some(from) if error.is_of_roots() => anyhow::Error::new(error).context(from),
            _ => error.into(),
        })
    }

    fn check_unused(&self) -> anyhow::Result<()> {
        let used = [
            (self.insecure, "--insecure"),
            (self.ca.is_some(), "--ca"),
            (self.resume.is_some(), "--resume"),
            (self.tls.is_some(), "--tls"),
        ];
        let used = used.iter().find(|(is_used, _)| *is_used);
        if let Some((_, flag)) = used {
            bail!("{flag} is about TLS, and the URL starts with http://; give an https:// URL");
        }
        Ok(())
    }

    /// Whom to trust, and which file says so.
    fn trust(&self) -> anyhow::Result<(Trust, Option<String>)> {
        if self.insecure {
            return Ok((Trust::Anybody, None));
        }
        let file = match &self.ca {
            Some(file) => file.clone(),
            None => bundle()?,
        };
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let from = format!("{} is of no use", file.display());
        Ok((Trust::Roots(text), Some(from)))
    }
}

/// The certificates that this system trusts.
fn bundle() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(BUNDLE_VARIABLE) {
        return Ok(named.into());
    }
    let found = BUNDLES.iter().find(|place| Path::new(place).exists());
    ensure!(
        found.is_some(),
        "no certificates of CAs are where distributions keep them ({}): install them (Debian's \
         package is ca-certificates), name some with --ca FILE, or check none with --insecure",
        BUNDLES.join(", ")
    );
    Ok(found.copied().unwrap_or_default().into())
}

/// The error of a first look, with what to do where TLS is the trouble.
pub(super) fn advised(error: ProbeError) -> anyhow::Error {
    let advice = match &error {
        ProbeError::Tls { source, .. } => advice(source),
        ProbeError::SpeaksHttp1 { .. } | ProbeError::NoHttp2 { .. } => Some(NO_HTTP2),
        _ => None,
    };
    match advice {
        Some(advice) => anyhow::anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}

fn advice(failure: &TlsFailure) -> Option<&'static str> {
    Some(match failure {
        TlsFailure::Certificate(problem) => match problem {
            CertificateProblem::Unvouched => {
                "give the certificate of its CA, or its own, with --ca FILE, or check none with \
                 --insecure"
            }
            CertificateProblem::OfCa => {
                "make it one of CA:FALSE (openssl req -addext basicConstraints=CA:FALSE), or check \
                 none with --insecure"
            }
            CertificateProblem::Expired(_) | CertificateProblem::NotYet(_) => {
                "renew it, look at this machine's clock, or check none with --insecure"
            }
            CertificateProblem::OtherName { .. } => {
                "use that name in the URL, or check none with --insecure"
            }
            CertificateProblem::Old => "make it anew: `openssl req -x509` makes those of version 3",
            CertificateProblem::Other(_) => "--insecure checks none",
        },
        TlsFailure::SpeaksHttp => "give an http:// URL",
        TlsFailure::SpeaksOther | TlsFailure::Closed => "is this the port that speaks TLS?",
        TlsFailure::Alert { .. } => {
            "spoken here are TLS 1.2 and 1.3, with HTTP/1.1 in it or, by --http2, HTTP/2; its log \
             may say what it wants"
        }
        TlsFailure::NoHttp2 => "leave --http2 out, or have the server offer h2 by ALPN",
        TlsFailure::Socket(_) | TlsFailure::Other(_) => return None,
    })
}
