//! Opens connections to a server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, WantsVerifier,
};
use tokio_postgres::config::{LoadBalanceHosts, SslMode as Encryption, TargetSessionAttrs};
use tokio_postgres::{CancelToken, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Place, late, unreachable};
use super::passfile;
use super::password::{Ask, Password};
use super::url::{Sessions, SslMode, Url};
use crate::error::{Code, Error, Result};

/// Opens connections to one URL.
pub(super) struct Connector {
    config: Config,
    /// Asks for the password at each connect.
    ask: Option<Ask>,
    tls: Option<MakeRustlsConnect>,
    place: Place,
}

impl Connector {
    pub(super) fn new(url: &Url) -> Result<Self> {
        let mut config = Config::new();
        for (host, port) in &url.hosts {
            config.host(host).port(*port);
        }
        for address in &url.addresses {
            config.hostaddr(*address);
        }
        if let Some(user) = &url.user {
            config.user(user);
        }
        let mut ask = None;
        match &url.password {
            Some(Password::Text(secret)) => {
                config.password(&secret.0);
            }
            Some(Password::Asked(asked)) => ask = Some(asked.clone()),
            None => {
                if let Some(password) = std::env::var("PGPASSWORD").ok().or_else(|| passfile::password(url)) {
                    config.password(password);
                }
            }
        }
        if let Some(database) = &url.database {
            config.dbname(database);
        }
        if let Some(options) = &url.options {
            config.options(options);
        }
        config.application_name(url.application.as_deref().unwrap_or("forkpoint"));
        config.connect_timeout(url.connect_timeout);
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(Duration::from_secs(30));
        config.target_session_attrs(match url.sessions {
            Sessions::ReadWrite => TargetSessionAttrs::ReadWrite,
            Sessions::Any => TargetSessionAttrs::Any,
        });
        if url.balance {
            config.load_balance_hosts(LoadBalanceHosts::Random);
        }
        config.ssl_mode(match url.ssl() {
            SslMode::Disable => Encryption::Disable,
            SslMode::Prefer => Encryption::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Encryption::Require,
        });
        let tls = match url.ssl() {
            SslMode::Disable => None,
            mode => Some(MakeRustlsConnect::new(client_config(mode, url)?)),
        };
        Ok(Self { config, ask, tls, place: Place(url.place()) })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) async fn connect(&self, patience: Duration) -> Result<Client> {
        let mut config = Cow::Borrowed(&self.config);
        if let Some(Ask(ask)) = &self.ask {
            config.to_mut().password(ask(patience)?);
        }
        let connect = async {
            match &self.tls {
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(connection);
                    Ok(client)
                }
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(connection);
                    Ok(client)
                }
            }
        };
        match tokio::time::timeout(patience, connect).await {
            Ok(connected) => connected.map_err(|error: tokio_postgres::Error| unreachable(&error, &self.place)),
            Err(_) => Err(late(&self.place)),
        }
    }

    /// Asks the server to give up the statement of a connection.
    pub(super) async fn cancel(&self, token: CancelToken) {
        // The server's answer is not known either way.
        let _ = match &self.tls {
            None => token.cancel_query(NoTls).await,
            Some(tls) => token.cancel_query(tls.clone()).await,
        };
    }
}

fn client_config(mode: SslMode, url: &Url) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let tls = |error: rustls::Error| Error::new(Code::Unavailable, format!("TLS cannot be set up: {error}")).lasting();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(tls)?;
    let lenient = |builder: ConfigBuilder<ClientConfig, WantsVerifier>, signer| {
        let verifier = Arc::new(Lenient { provider: Arc::clone(&provider), signer });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    match mode {
        SslMode::Disable | SslMode::Prefer | SslMode::Require => Ok(lenient(builder, None)),
        SslMode::VerifyCa => {
            let signer = WebPkiServerVerifier::builder_with_provider(roots(url)?.into(), Arc::clone(&provider))
                .build()
                .map_err(|error| Error::new(Code::Unavailable, format!("TLS cannot be set up: {error}")).lasting())?;
            Ok(lenient(builder, Some(signer)))
        }
        SslMode::VerifyFull => Ok(builder.with_root_certificates(roots(url)?).with_no_client_auth()),
    }
}

fn roots(url: &Url) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &url.ssl_root else {
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

/// A verifier for the modes that promise less than `verify-full`.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Verifies who signed the certificate (`verify-ca`), and not the name in it. Without it every certificate is
    /// accepted, as `require` promises no more.
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
