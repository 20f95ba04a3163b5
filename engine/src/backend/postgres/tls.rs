//! TLS: verifies the certificates of servers.

use std::fmt::Display;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, WantsVerifier,
};

use super::url::{SslMode, Url};
use crate::error::{Code, Error, Result};

/// The TLS configuration for the mode of the URL.
pub(super) fn client_config(url: &Url) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let tls = |error: &dyn Display| Error::new(Code::Unavailable, format!("TLS cannot be set up: {error}")).lasting();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls(&error))?;
    let lenient = |builder: ConfigBuilder<ClientConfig, WantsVerifier>, signer| {
        let verifier = Arc::new(Lenient { provider: Arc::clone(&provider), signer });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    match url.ssl() {
        SslMode::Disable | SslMode::Prefer | SslMode::Require | SslMode::NoVerify => Ok(lenient(builder, None)),
        SslMode::VerifyCa => {
            let signer = WebPkiServerVerifier::builder_with_provider(roots(url)?.into(), Arc::clone(&provider))
                .build()
                .map_err(|error| tls(&error))?;
            Ok(lenient(builder, Some(signer)))
        }
        SslMode::VerifyFull => Ok(builder.with_root_certificates(roots(url)?).with_no_client_auth()),
    }
}

fn roots(url: &Url) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &url.ssl.root else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let unreadable = |why: String| {
        let message = format!("the certificates in \"{}\" (sslrootcert) cannot be read: {why}", path.display());
        Error::new(Code::Unavailable, message).lasting()
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("the file has none".to_owned()));
    }
    Ok(roots)
}

/// The verifier for the modes below `verify-full`.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Verifies the signer of the certificate but not its name (`verify-ca`). `None` accepts every certificate, as
    /// `require` promises no more.
    signer: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(signer) = &self.signer else { return Ok(ServerCertVerified::assertion()) };
        match signer.verify_server_cert(certificate, intermediates, name, stapled, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
