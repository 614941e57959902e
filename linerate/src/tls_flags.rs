//! The flags of TLS, and who the server is by them.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ArgGroup;
use traffic::tls::{self, Config, Identity, Options};

const TLS: &str = "TLS 1.2 and 1.3";
/// Names that a certificate of our own is for.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(clap::Args)]
#[command(group = ArgGroup::new("tls").args(["tls_cert", "tls_self_signed"]))]
pub(crate) struct TlsFlags {
    /// Speak TLS with the certificates of this PEM file
    ///
    /// The server's own stands first, then those that vouch for it.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = TLS)]
    tls_cert: Option<PathBuf>,

    /// The key of the first certificate, in a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = TLS)]
    tls_key: Option<PathBuf>,

    /// Speak TLS with a certificate that is made at the start
    ///
    /// It is for localhost, 127.0.0.1 and ::1, nobody vouches for it, and it is kept nowhere.
    #[arg(long, help_heading = TLS)]
    tls_self_signed: bool,

    /// Whether clients may resume a session [default: on]
    ///
    /// By a ticket, which is good at every worker. It saves the signature, and with TLS 1.2 the
    /// exchange of keys.
    #[arg(long, value_name = "on|off", hide_possible_values = true, requires = "tls", help_heading = TLS)]
    tls_resumption: Option<Switch>,

    /// Only these cipher suites, the most wanted first, by their names at IANA
    ///
    /// Such as TLS_AES_128_GCM_SHA256; a wrong name is answered with those there are.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "tls", hide_short_help = true, help_heading = TLS)]
    tls_ciphers: Vec<String>,

    /// The most bytes of content in a record [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(64..=16384), requires = "tls", hide_short_help = true, help_heading = TLS)]
    tls_record_size: Option<u16>,

    /// The descriptor that holds the identity of a server of several workers
    #[arg(long, hide = true)]
    tls_handed_over: Option<u32>,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// How a server speaks TLS.
pub(crate) struct Speaking {
    identity: Identity,
    pub(crate) config: Config,
}

impl TlsFlags {
    /// `None` for a server in the clear. What is wrong with the files is told here.
    pub(crate) fn speaking(&self) -> anyhow::Result<Option<Speaking>> {
        let Some(identity) = self.identity()? else {
            return Ok(None);
        };
        let options = Options {
            ciphers: self.tls_ciphers.clone(),
            resumption: self.tls_resumption != Some(Switch::Off),
            record_bytes: self.tls_record_size.map(usize::from),
        };
        let config = Config::new(&identity, &options).context("TLS")?;
        Ok(Some(Speaking { identity, config }))
    }

    fn identity(&self) -> anyhow::Result<Option<Identity>> {
        match (&self.tls_cert, &self.tls_key, self.tls_handed_over) {
            (_, _, Some(descriptor)) => handed_over(descriptor).map(Some),
            (Some(cert), Some(key), None) => from_files(cert, key).map(Some),
            _ if self.tls_self_signed => self_signed().map(Some),
            _ => Ok(None),
        }
    }
}

impl Speaking {
    /// What lets a worker speak as this server: the descriptor to keep until it has started, and
    /// the arguments that tell of it.
    pub(crate) fn hand_over(&self) -> anyhow::Result<(OwnedFd, [String; 2])> {
        let file = sys::memory_file::inherited(self.identity.to_text().as_bytes())
            .context("handing the certificate to the workers")?;
        let number = file.as_raw_fd().to_string();
        Ok((file, ["--tls-handed-over".to_owned(), number]))
    }
}

fn handed_over(descriptor: u32) -> anyhow::Result<Identity> {
    let text = std::fs::read_to_string(format!("/proc/self/fd/{descriptor}"))
        .context("reading the certificate that was handed over")?;
    Ok(Identity::from_text(&text)?)
}

fn from_files(cert: &Path, key: &Path) -> anyhow::Result<Identity> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (chain_text, key_text) = (read(cert)?, read(key)?);
    tls::chain(&chain_text).with_context(|| format!("{} is of no use", cert.display()))?;
    tls::key(&key_text).with_context(|| format!("{} is of no use", key.display()))?;
    Ok(Identity::new(&chain_text, &key_text)?)
}

fn self_signed() -> anyhow::Result<Identity> {
    let made = rcgen::generate_simple_self_signed(OWN_NAMES.map(str::to_owned))
        .context("making a certificate")?;
    Ok(Identity::new(
        &made.cert.pem(),
        &made.signing_key.serialize_pem(),
    )?)
}
