//! The TLS flags of a server, and the identity that they give it.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use agent::service::Pems;
use anyhow::{Context as _, bail};
use clap::ArgGroup;
use traffic::tls::{self, Config, Handover, Identity, Options};

const TLS: &str = "TLS 1.2 and 1.3";
/// Why the kernel makes no records with `--tls-record-size`.
const SIZED: &str = "with --tls-record-size the server makes the records, since the kernel's have a size of their own";
pub(crate) const BY_RING: &str = "with --engine uring the server makes the records, since its ring receives ahead of the handshake's end";
pub(crate) const ON_FILE: &str =
    "on a Unix socket the server makes the records, since the kernel makes only those of TCP";
/// Names in a certificate that we make.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(clap::Args)]
#[command(group = ArgGroup::new("tls").args(["tls_cert", "tls_self_signed"]))]
pub(crate) struct TlsFlags {
    /// Speak TLS with the certificates of this PEM file
    ///
    /// The server's own comes first, then those that vouch for it.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = TLS)]
    tls_cert: Option<PathBuf>,

    /// The key of the first certificate, in a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = TLS)]
    tls_key: Option<PathBuf>,

    /// Speak TLS with a new self-signed certificate
    ///
    /// It is made at the start, for localhost, 127.0.0.1 and ::1, nobody vouches for it, and it is
    /// not saved.
    #[arg(long, help_heading = TLS)]
    tls_self_signed: bool,

    /// Whether clients may resume a session [default: on]
    ///
    /// They do so by a ticket, which is valid at every worker. It saves the signature, and with
    /// TLS 1.2 the exchange of keys.
    #[arg(long, value_name = "on|off", hide_possible_values = true, requires = "tls", help_heading = TLS)]
    tls_resumption: Option<Switch>,

    /// Only these cipher suites, the most preferred first, by their IANA names
    ///
    /// Such as TLS_AES_128_GCM_SHA256; the error for a wrong name lists those available.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "tls", hide_short_help = true, help_heading = TLS)]
    tls_ciphers: Vec<String>,

    /// Most bytes of content in a record [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(64..=16384), requires = "tls", hide_short_help = true, help_heading = TLS)]
    tls_record_size: Option<u16>,

    /// Whether the kernel makes the records (kTLS): auto, on or off [default: auto]
    ///
    /// Files are then sent by sendfile(2) under TLS too. With auto the kernel takes over a session
    /// once a file is sent; with on, from the first answer, and if it cannot, the server does not
    /// start.
    #[arg(long, value_name = "WHEN", hide_possible_values = true, requires = "tls", hide_short_help = true, help_heading = TLS)]
    kernel_tls: Option<KernelTls>,

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

/// Whether the kernel makes the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KernelTls {
    Auto,
    On,
    Off,
}

/// The kernel's part in a server's TLS, as reported when the server is ready.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct KernelPart {
    /// Cipher suites, by their IANA names, whose records the kernel makes and reads (kTLS): from a
    /// session's first file on, or with --kernel-tls on from its first answer.
    by_kernel: Vec<String>,
    /// Why the kernel makes no records of the other suites; null if there are no others.
    reason: Option<String>,
    /// Whether the reason is what the flags say.
    #[serde(skip)]
    is_asked_for: bool,
}

/// How a server speaks TLS.
pub(crate) struct Speaking {
    identity: Identity,
    pub(crate) config: Config,
    pub(crate) kernel: KernelPart,
}

impl TlsFlags {
    /// Returns how the server speaks TLS; `None` if it does not. What is wrong with the files is
    /// reported here. `without_kernel` says why the kernel cannot make the records, if it cannot.
    pub(crate) fn speaking(
        &self,
        without_kernel: Option<&'static str>,
    ) -> anyhow::Result<Option<Speaking>> {
        let Some(identity) = self.identity()? else {
            return Ok(None);
        };
        let options = Options {
            ciphers: self.tls_ciphers.clone(),
            resumption: self.tls_resumption != Some(Switch::Off),
            record_bytes: self.tls_record_size.map(usize::from),
            handover: self.handover(without_kernel)?,
        };
        let config = Config::new(&identity, &options).context("TLS")?;
        let kernel = self.kernel_part(&config, without_kernel)?;
        Ok(Some(Speaking {
            identity,
            config,
            kernel,
        }))
    }

    /// Whether the certificate comes from files, which may later hold another.
    pub(crate) fn has_files(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Returns why the kernel cannot make the records, by these flags or others.
    fn excluded(&self, without_kernel: Option<&'static str>) -> Option<&'static str> {
        self.tls_record_size.map(|_| SIZED).or(without_kernel)
    }

    fn handover(&self, without_kernel: Option<&'static str>) -> anyhow::Result<Handover> {
        let wanted = self.kernel_tls.unwrap_or(KernelTls::Auto);
        Ok(match (wanted, self.excluded(without_kernel)) {
            (KernelTls::On, Some(why)) => bail!("--kernel-tls on: {why}"),
            (KernelTls::On, None) => Handover::AtOnce,
            (KernelTls::Auto, None) => Handover::AtFile,
            _ => Handover::Never,
        })
    }

    fn kernel_part(
        &self,
        config: &Config,
        without_kernel: Option<&'static str>,
    ) -> anyhow::Result<KernelPart> {
        let offer = config.offer();
        if let (Some(KernelTls::On), Some(refused)) = (self.kernel_tls, &offer.refused) {
            let why = match offer.is_without_ktls {
                true => without_ktls(refused),
                false => without_some(refused, &self.tls_ciphers),
            };
            bail!("--kernel-tls on: {why}");
        }
        let asked_for = match self.kernel_tls {
            Some(KernelTls::Off) => Some("--kernel-tls off"),
            _ => self.excluded(without_kernel),
        };
        let reason = asked_for.map(str::to_owned);
        Ok(KernelPart {
            by_kernel: offer.names.clone(),
            reason: reason.or_else(|| offer.refused.clone()),
            is_asked_for: asked_for.is_some(),
        })
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

impl KernelPart {
    /// Returns a remark for a person, if the kernel does less than was asked for.
    pub(crate) fn remark(&self) -> Option<String> {
        let reason = self.reason.as_deref().filter(|_| !self.is_asked_for)?;
        let others = match self.by_kernel.as_slice() {
            [] => String::new(),
            names => format!(", except those of {}", names.join(", ")),
        };
        Some(format!(
            "TLS records are made without the kernel{others}: {reason}"
        ))
    }
}

impl Speaking {
    /// Returns what lets a worker speak as this server: the file to hand over, and the arguments
    /// that name it.
    pub(crate) fn hand_over(&self) -> anyhow::Result<(OwnedFd, [String; 2])> {
        let file = sys::memory_file::sealed(self.identity.to_text().as_bytes())
            .context("handing the certificate to the workers")?;
        let number = file.as_raw_fd().to_string();
        Ok((file, ["--tls-handed-over".to_owned(), number]))
    }
}

fn without_ktls(refused: &str) -> String {
    format!(
        "the kernel has no kTLS ({refused}): it needs CONFIG_TLS, and if that is a module, `modprobe tls` \
         loads it, as root"
    )
}

/// Says that the kernel lacks some suites. `linerate download` has no flag for the suites, and
/// names the one that it wants.
fn without_some(refused: &str, named: &[String]) -> String {
    match named {
        [] => format!(
            "the kernel makes no records of some cipher suites ({refused}); --tls-ciphers leaves out \
             what it lacks"
        ),
        named => format!(
            "the kernel does not make the records of all of {} ({refused})",
            named.join(", ")
        ),
    }
}

/// Reads the identity that was handed over; its descriptor does not stay open.
fn handed_over(descriptor: u32) -> anyhow::Result<Identity> {
    let text = sys::memory_file::take_sealed(descriptor)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
        .context("reading the certificate that was handed over")?;
    Ok(Identity::from_text(&text)?)
}

fn from_files(cert: &Path, key: &Path) -> anyhow::Result<Identity> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (chain_text, key_text) = (read(cert)?, read(key)?);
    tls::chain(&chain_text).with_context(|| format!("{} cannot be used", cert.display()))?;
    tls::key(&key_text).with_context(|| format!("{} cannot be used", key.display()))?;
    Ok(Identity::new(&chain_text, &key_text)?)
}

fn self_signed() -> anyhow::Result<Identity> {
    let Pems { certificate, key } = self_signed_pems()?;
    Ok(Identity::new(&certificate, &key)?)
}

/// Makes a certificate for this machine's own names, with a key of P-256, that nobody vouches for.
pub(crate) fn self_signed_pems() -> anyhow::Result<Pems> {
    let made = rcgen::generate_simple_self_signed(OWN_NAMES.map(str::to_owned))
        .context("making a certificate")?;
    Ok(Pems {
        certificate: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_that_leaves_out_ciphers_is_named_only_where_that_helps() {
        let absent = without_ktls("TCP_ULP: No such file or directory");
        assert!(absent.contains("has no kTLS (TCP_ULP: ") && absent.contains("`modprobe tls`"));
        let some = without_some("TLS_TX: No such file or directory", &[]);
        assert!(some.contains("--tls-ciphers") && !some.contains("modprobe"));
        let suite = "TLS_AES_128_GCM_SHA256".to_owned();
        let named = without_some("TLS_TX: No such file or directory", &[suite]);
        assert!(named.contains("of all of TLS_AES_128_GCM_SHA256 (TLS_TX"));
        assert!(![absent, named].concat().contains("--tls-ciphers"));
    }
}
