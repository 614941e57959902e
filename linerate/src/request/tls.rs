//! The flags of TLS: whom a load trusts, and what to do when a handshake fails.

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

#[derive(clap::Args)]
pub(crate) struct TlsFlags {
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
    #[arg(long, value_name = "1.2|1.3", value_parser = values::one_of::<TlsVersion>(TlsVersion::ALL.map(TlsVersion::name)), hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    tls: Option<TlsVersion>,
}

impl TlsFlags {
    /// How TLS is spoken, if the URL wants it.
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

    /// With whom TLS is spoken; `None` for a URL in the clear.
    pub(crate) fn client(&self, url: &HttpUrl, http2: bool) -> anyhow::Result<Option<Client>> {
        let client = agent::request::client(url, &self.spec(url)?, http2);
        client.map_err(|error| match self.roots() {
            Ok(Some(file)) if error.is_of_roots() => {
                anyhow::Error::new(error).context(format!("{} is of no use", file.display()))
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

    /// The file of the certificates that are trusted; `None` to take any.
    fn roots(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.insecure {
            return Ok(None);
        }
        self.ca.clone().map_or_else(bundle, Ok).map(Some)
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
pub(crate) fn advised(error: ProbeError) -> anyhow::Error {
    match agent::request::advice(&error) {
        Some(advice) => anyhow::anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}
