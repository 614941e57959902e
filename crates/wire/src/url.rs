//! The address of an HTTP resource: `http://host:port/path?query`, split and nothing more.

/// What HTTP is spoken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The name of the scheme as it stands in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// An `http` or `https` URL in its parts; its fragment, which is never sent, is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    pub scheme: Scheme,
    /// A name or an address; IPv6 without its brackets.
    pub host: String,
    pub port: u16,
    /// Path and query, from `/` on.
    pub target: String,
}

/// Why a text is no URL that can be loaded. No part of the URL is repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("the URL must start with http:// or https://, such as http://127.0.0.1:8080/")]
    NoScheme,
    #[error("no https is spoken here; give an http:// URL")]
    Https,
    #[error("the URL names no host")]
    NoHost,
    #[error("credentials in a URL are not sent; put them into a header")]
    Credentials,
    #[error("the port of the URL is no number from 1 to 65535")]
    BadPort,
    #[error("the URL holds a space or a control character")]
    BadByte,
}

impl HttpUrl {
    /// Splits a URL.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::BadByte);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NoScheme)?;
        let scheme = [Scheme::Http, Scheme::Https]
            .into_iter()
            .find(|known| scheme.eq_ignore_ascii_case(known.name()))
            .ok_or(UrlError::NoScheme)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        let (host, port) = host_and_port(authority, scheme)?;
        if host.is_empty() {
            return Err(UrlError::NoHost);
        }
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port,
            target: format!("{slash}{target}"),
        })
    }

    /// The URL itself, for a caller that speaks no TLS.
    ///
    /// # Errors
    /// [`UrlError::Https`].
    pub fn in_the_clear(self) -> Result<Self, UrlError> {
        match self.scheme {
            Scheme::Http => Ok(self),
            Scheme::Https => Err(UrlError::Https),
        }
    }

    /// The URL without its query, which may hold secrets.
    pub fn without_query(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        format!("{}://{}{path}", self.scheme.name(), self.host_header())
    }

    /// The value of the `Host` header (RFC 9110 §7.2): the port only where it is not the usual one.
    pub fn host_header(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == self.scheme.usual_port() {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

fn host_and_port(authority: &str, scheme: Scheme) -> Result<(&str, u16), UrlError> {
    let (host, port) = match authority
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((address, port)) => (address, port),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if port.is_empty() || port == ":" {
        return Ok((host, scheme.usual_port()));
    }
    let digits = port.strip_prefix(':').unwrap_or(port);
    let number = digits
        .parse()
        .ok()
        .filter(|number| *number > 0 && digits.len() < port.len());
    Ok((host, number.ok_or(UrlError::BadPort)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_host_port_and_target() {
        for (text, host, port, target) in [
            ("http://h", "h", 80, "/"),
            ("http://h:8080/a/b?c=d#e", "h", 8080, "/a/b?c=d"),
            ("HTTP://h/", "h", 80, "/"),
            ("http://[::1]:9/x", "::1", 9, "/x"),
            ("http://h?q", "h", 80, "/?q"),
            ("https://h:80/", "h", 80, "/"),
            ("HTTPS://h", "h", 443, "/"),
        ] {
            let scheme = match text.to_lowercase().starts_with("https") {
                true => Scheme::Https,
                false => Scheme::Http,
            };
            let expected = HttpUrl {
                scheme,
                host: host.to_owned(),
                port,
                target: target.to_owned(),
            };
            assert_eq!(HttpUrl::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_is_refused_with_the_reason() {
        for (text, error) in [
            ("127.0.0.1:80", UrlError::NoScheme),
            ("https//h/", UrlError::NoScheme),
            ("ftp://h/", UrlError::NoScheme),
            ("http:///x", UrlError::NoHost),
            ("http://me:word@h/", UrlError::Credentials),
            ("http://h:0/", UrlError::BadPort),
            ("http://h:99999/", UrlError::BadPort),
            ("http://[::1]x/", UrlError::BadPort),
            ("http://h/a b", UrlError::BadByte),
        ] {
            assert_eq!(HttpUrl::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn who_speaks_no_tls_refuses_https() {
        let clear = |text| {
            HttpUrl::parse(text)
                .unwrap()
                .in_the_clear()
                .map(|url| url.port)
        };
        assert_eq!(clear("http://h/"), Ok(80));
        assert_eq!(clear("https://h/"), Err(UrlError::Https));
    }

    #[test]
    fn the_host_header_names_a_port_that_is_not_the_usual_one() {
        let header = |text| HttpUrl::parse(text).unwrap().host_header();
        assert_eq!(header("http://h/"), "h");
        assert_eq!(header("https://h:443/"), "h");
        assert_eq!(header("https://h:80/"), "h:80");
        assert_eq!(header("http://[::1]:9/"), "[::1]:9");
        let shown = HttpUrl::parse("http://h:8/a?token=secret")
            .unwrap()
            .without_query();
        assert_eq!(shown, "http://h:8/a");
    }
}
