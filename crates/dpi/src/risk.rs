//! What nDPI finds risky about flows: a bit for each risk, by the number that nDPI gives it.
//!
//! The numbers are those of `ndpi_risk_enum`, which has only been added to from nDPI 4.2 to 5. Which of them are ever found depends on the release that is installed.

/// Names of risks, as nDPI's without `NDPI_`, from number 1.
const NAMES: [&str; 56] = [
    "URL_POSSIBLE_XSS",
    "URL_POSSIBLE_SQL_INJECTION",
    "URL_POSSIBLE_RCE_INJECTION",
    "BINARY_APPLICATION_TRANSFER",
    "KNOWN_PROTOCOL_ON_NON_STANDARD_PORT",
    "TLS_SELFSIGNED_CERTIFICATE",
    "TLS_OBSOLETE_VERSION",
    "TLS_WEAK_CIPHER",
    "TLS_CERTIFICATE_EXPIRED",
    "TLS_CERTIFICATE_MISMATCH",
    "HTTP_SUSPICIOUS_USER_AGENT",
    "HTTP_NUMERIC_IP_HOST",
    "HTTP_SUSPICIOUS_URL",
    "HTTP_SUSPICIOUS_HEADER",
    "TLS_NOT_CARRYING_HTTPS",
    "SUSPICIOUS_DGA_DOMAIN",
    "MALFORMED_PACKET",
    "SSH_OBSOLETE_CLIENT_VERSION_OR_CIPHER",
    "SSH_OBSOLETE_SERVER_VERSION_OR_CIPHER",
    "SMB_INSECURE_VERSION",
    "TLS_SUSPICIOUS_ESNI_USAGE",
    "UNSAFE_PROTOCOL",
    "DNS_SUSPICIOUS_TRAFFIC",
    "TLS_MISSING_SNI",
    "HTTP_SUSPICIOUS_CONTENT",
    "RISKY_ASN",
    "RISKY_DOMAIN",
    "MALICIOUS_JA3",
    "MALICIOUS_SHA1_CERTIFICATE",
    "DESKTOP_OR_FILE_SHARING_SESSION",
    "TLS_UNCOMMON_ALPN",
    "TLS_CERT_VALIDITY_TOO_LONG",
    "TLS_SUSPICIOUS_EXTENSION",
    "TLS_FATAL_ALERT",
    "SUSPICIOUS_ENTROPY",
    "CLEAR_TEXT_CREDENTIALS",
    "DNS_LARGE_PACKET",
    "DNS_FRAGMENTED",
    "INVALID_CHARACTERS",
    "POSSIBLE_EXPLOIT",
    "TLS_CERTIFICATE_ABOUT_TO_EXPIRE",
    "PUNYCODE_IDN",
    "ERROR_CODE_DETECTED",
    "HTTP_CRAWLER_BOT",
    "ANONYMOUS_SUBSCRIBER",
    "UNIDIRECTIONAL_TRAFFIC",
    "HTTP_OBSOLETE_SERVER",
    "PERIODIC_FLOW",
    "MINOR_ISSUES",
    "TCP_ISSUES",
    "FULLY_ENCRYPTED",
    "TLS_ALPN_SNI_MISMATCH",
    "MALWARE_HOST_CONTACTED",
    "BINARY_DATA_TRANSFER",
    "PROBING_ATTEMPT",
    "OBFUSCATED_TRAFFIC",
];

/// Names that later releases have given.
const ALIASES: [(&str, &str); 2] =
    [("NUMERIC_IP_HOST", "HTTP_NUMERIC_IP_HOST"), ("MALICIOUS_FINGERPRINT", "MALICIOUS_JA3")];

/// All names, with others that mean the same.
pub fn all() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    NAMES.into_iter().map(|name| (name, ALIASES.iter().find(|(_, of)| *of == name).map(|(alias, _)| *alias)))
}

/// The number of a risk, by its name, with `NDPI_` or without, in any case.
///
/// ```
/// assert_eq!(dpi::risk::number("NDPI_TLS_SELFSIGNED_CERTIFICATE"), Some(6));
/// assert_eq!(dpi::risk::number("numeric_ip_host"), dpi::risk::number("http_numeric_ip_host"));
/// assert_eq!(dpi::risk::number("none"), None);
/// ```
#[must_use]
pub fn number(name: &str) -> Option<u32> {
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("NDPI_").unwrap_or(&name);
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    NAMES.iter().position(|known| *known == name).map(|at| at as u32 + 1)
}

/// The names of the risks whose bits are set; those of releases that are not known here have numbers.
#[must_use]
pub fn names(risks: u64) -> Vec<String> {
    let name = |number: usize| match number.checked_sub(1).and_then(|at| NAMES.get(at)) {
        Some(name) => (*name).to_owned(),
        None => number.to_string(),
    };
    (0..64).filter(|number| risks >> number & 1 != 0).map(name).collect()
}
