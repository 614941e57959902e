//! Why there is no TLS with a server. A cause that a person can do something about has a name.

use std::io;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

/// First bytes of records: change of cipher, alert, handshake, content (RFC 8446 §5.1).
const RECORD_TYPES: RangeInclusive<u8> = 20..=23;
/// webpki's name for the error of a server's certificate that is a CA's too.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";
/// webpki's name for the error of a certificate whose version it does not read, whoever vouches for
/// it.
const OLD_VERSION: &str = "UnsupportedCertVersion";

/// Why a server could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    #[error("{0}")]
    Socket(#[from] io::Error),
    #[error("the server closed the connection in the middle of the TLS handshake")]
    Closed,
    #[error("the server answers in the clear: it speaks HTTP there and no TLS")]
    SpeaksHttp,
    #[error("the server answers with something that is no TLS")]
    SpeaksOther,
    #[error("{0}")]
    Certificate(CertificateProblem),
    #[error("the server refused the TLS handshake with the alert `{name}` ({number})")]
    Alert { name: String, number: u8 },
    #[error("the server did not agree on HTTP/2 (`h2`) in the TLS handshake")]
    NoHttp2,
    #[error("the TLS handshake failed: {0}")]
    Other(Error),
}

/// What is wrong with a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateProblem {
    #[error(
        "nobody who is trusted here vouches for the server's certificate: it is self-signed, or \
         from an unknown CA"
    )]
    Unvouched,
    #[error("the server's certificate is that of a CA (CA:TRUE), which a server must not use")]
    OfCa,
    #[error("the server's certificate has version 1 of X.509, but must have version 3")]
    Old,
    #[error("the server's certificate expired on {0}")]
    Expired(String),
    #[error("the server's certificate is valid only from {0} on")]
    NotYet(String),
    #[error("the server's certificate is for {}, not for {asked}", listed(.good_for))]
    OtherName {
        asked: String,
        good_for: Vec<String>,
    },
    #[error("the server's certificate cannot be accepted: {0}")]
    Other(String),
}

impl TlsFailure {
    /// Checks that a server's first bytes can begin a record.
    pub(super) fn unless_record(begin: &[u8]) -> Result<(), Self> {
        match begin.first() {
            Some(first) if !RECORD_TYPES.contains(first) => Err(if begin.starts_with(b"HTTP/") {
                Self::SpeaksHttp
            } else {
                Self::SpeaksOther
            }),
            _ => Ok(()),
        }
    }
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Alert {
                name: alert_name(alert),
                number: u8::from(alert),
            },
            Error::InvalidCertificate(error) => Self::Certificate(error.into()),
            other => Self::Other(other),
        }
    }
}

impl From<TlsFailure> for io::Error {
    fn from(failure: TlsFailure) -> Self {
        match failure {
            TlsFailure::Socket(error) => error,
            other => Self::other(other),
        }
    }
}

impl From<CertificateError> for CertificateProblem {
    fn from(error: CertificateError) -> Self {
        match error {
            // The signature does not hold if another CA has the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::Unvouched,
            CertificateError::ExpiredContext { not_after, .. } => Self::Expired(date(not_after)),
            CertificateError::NotValidYetContext { not_before, .. } => {
                Self::NotYet(date(not_before))
            }
            CertificateError::NotValidForNameContext {
                expected,
                presented,
            } => Self::OtherName {
                asked: expected.to_str().into_owned(),
                good_for: presented,
            },
            CertificateError::Other(other) if other.to_string() == CA_AS_SERVER => Self::OfCa,
            CertificateError::Other(other) if other.to_string() == OLD_VERSION => Self::Old,
            other => Self::Other(other.to_string()),
        }
    }
}

/// The name of an alert as the registry writes it, such as `handshake_failure` (RFC 8446 §6).
fn alert_name(alert: AlertDescription) -> String {
    let mut name = String::new();
    for letter in format!("{alert:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn date(time: UnixTime) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    // The calendar of HTTP dates ends with the year 9999.
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    httpdate::fmt_http_date(time.unwrap_or(last).min(last))
}

/// The names of a certificate, without what rustls puts around them, as in `DnsName("a.test")`.
fn listed(names: &[String]) -> String {
    let plain = |name: &String| {
        let inner = name.split_once('(').map_or(&**name, |(_, inner)| inner);
        inner.trim_matches(['"', ')']).to_owned()
    };
    match names {
        [] => "no name at all".to_owned(),
        names => names.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_has_its_name_of_the_registry_and_its_number() {
        let failure = TlsFailure::from(Error::AlertReceived(AlertDescription::HandshakeFailure));
        assert!(failure.to_string().ends_with("`handshake_failure` (40)"));
        assert_eq!(
            alert_name(AlertDescription::ProtocolVersion),
            "protocol_version"
        );
    }

    #[test]
    fn a_date_beyond_the_calendar_is_its_last_day() {
        let of = |secs| date(UnixTime::since_unix_epoch(Duration::from_secs(secs)));
        assert_eq!(of(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(of(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn names_are_told_without_what_they_are_wrapped_in() {
        let names = [r#"DnsName("a.test")"#, "IpAddress(127.0.0.1)"].map(str::to_owned);
        assert_eq!(listed(&names), "a.test, 127.0.0.1");
        assert_eq!(listed(&[]), "no name at all");
    }
}
