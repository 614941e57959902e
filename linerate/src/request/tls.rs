//! The TLS flags of a load: whom it trusts, and what to do when a handshake fails.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::ValueHint;
use model::request::{TlsSpec, TlsVersion};
use traffic::load::ProbeError;
use traffic::tls::Client;
use wire::url::{HttpUrl, Scheme};

use super::WHERE;
use crate::tls_flags::Switch;
use crate::values;

/// Variable that names another bundle, for all programs that use OpenSSL.
const BUNDLE_VARIABLE: &str = "SSL_CERT_FILE";
/// Where distributions keep the certificates of the CAs that they trust: Debian and its kin with
/// Arch and Gentoo, Fedora and its kin, openSUSE, Alpine.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

#[derive(clap::Args)]
pub(crate) struct TlsFlags {
    /// For https://: accept any certificate, such as a self-signed one
    #[arg(long, conflicts_with = "ca", help_heading = WHERE)]
    insecure: bool,
    /// Trust only the certificates of this PEM file
    ///
    /// It holds those of CAs, or a self-signed one. Without it the CAs of this system are trusted:
    /// those of SSL_CERT_FILE if that is set, else those of the distribution's bundle.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = WHERE)]
    ca: Option<PathBuf>,
    /// Resume sessions when a connection is opened again [default: on]
    ///
    /// It needs a server that gives tickets. It saves the server a signature and the client its
    /// check, and with TLS 1.2 the exchange of keys. How often sessions were resumed is in the
    /// report of a load without --slo, --sweep and --download.
    #[arg(long, value_name = "on|off", hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    resume: Option<Switch>,
    /// Speak only this version [default: 1.3, or 1.2 if the server has no other]
    #[arg(long, value_name = "1.2|1.3", value_parser = values::one_of::<TlsVersion>(TlsVersion::ALL.map(TlsVersion::name)), hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    tls: Option<TlsVersion>,
}

impl TlsFlags {
    /// Returns how TLS is spoken, if the URL asks for it.
    pub(super) fn spec(&self, url: &HttpUrl) -> anyhow::Result<TlsSpec> {
        if url.scheme == Scheme::Http {
            return self.check_unused().map(|()| TlsSpec::default());
        }
        let roots = self.roots()?.map(|file| {
            std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))
        });
        Ok(TlsSpec {
            roots: roots.transpose()?,
            version: self.tls,
            resumption: self.resume != Some(Switch::Off),
        })
    }

    /// Returns the TLS client for a URL; `None` for one without TLS.
    pub(crate) fn client(&self, url: &HttpUrl, http2: bool) -> anyhow::Result<Option<Client>> {
        let client = agent::request::client(url, &self.spec(url)?, http2);
        client.map_err(|error| match self.roots() {
            Ok(Some(file)) if error.is_of_roots() => {
                anyhow::Error::new(error).context(format!("{} cannot be used", file.display()))
            }
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

    /// Returns the file of the certificates that are trusted; `None` to accept any.
    fn roots(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.insecure {
            return Ok(None);
        }
        self.ca.clone().map_or_else(bundle, Ok).map(Some)
    }
}

/// Returns the file of the certificates that this system trusts.
fn bundle() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(BUNDLE_VARIABLE) {
        return Ok(named.into());
    }
    let found = BUNDLES.iter().find(|place| Path::new(place).exists());
    ensure!(
        found.is_some(),
        "no certificates of CAs are where distributions keep them ({}): install them (Debian's \
         package is ca-certificates), name some with --ca FILE, or turn the check off with --insecure",
        BUNDLES.join(", ")
    );
    Ok(found.copied().unwrap_or_default().into())
}

/// Returns the error of a first request, with advice if TLS is the cause.
pub(crate) fn advised(error: ProbeError) -> anyhow::Error {
    match agent::request::advice(&error) {
        Some(advice) => anyhow::anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}
