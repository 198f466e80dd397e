//! Connections: accepted within limits, read with timeouts, closed gracefully.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::keys::Keys;
use crate::metrics::add;
use crate::service::Service;
use crate::settings::ServiceSettings;
use crate::timed_stream::TimedStream;

/// Largest header of a request, in bytes.
const MAX_HEADER: usize = 64 << 10;
/// Age from which on an idle connection may be closed to make room, in milliseconds.
const MIN_IDLE: u64 = 1000;
/// Pause between looks at the signal to stop.
const TICK: Duration = Duration::from_millis(50);
/// Threads for blocking work, beyond those that compute.
const BLOCKING_THREADS: usize = 512;

/// A service whose models are loaded and whose port is open.
pub struct Running {
    service: Arc<Service>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
}

/// Opens the dataset, the models and the port. Requests wait until [`Running::serve`] is called.
pub fn start(settings: ServiceSettings, keys: Keys, progress: &dyn Progress) -> Result<Running> {
    let tls = match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsAcceptor::from(Arc::new(tls_config(certificate, key)?))),
        _ => None,
    };
    let listener =
        TcpListener::bind(settings.listen).map_err(|e| Error::io(settings.listen.to_string(), e))?;
    listener.set_nonblocking(true).map_err(|e| Error::io(settings.listen.to_string(), e))?;
    let service = Arc::new(Service::open(settings, keys, progress)?);
    Ok(Running { service, listener, tls })
}

fn tls_config(certificate: &std::path::Path, key: &std::path::Path) -> Result<ServerConfig> {
    let wrong = |path: &std::path::Path, error: &dyn std::fmt::Display| {
        Error::format(
            path.display().to_string(),
            format!("cannot be used for TLS: {error}; a PEM file is expected"),
        )
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| wrong(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
    config.map_err(|error| wrong(certificate, &error))
}

impl Running {
    /// Returns the address with the port, also where the settings left the port to the system.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.service.settings.listen)
    }

    /// Answers requests until `stop` returns true; then open requests get the time of the settings to end.
    pub fn serve(self, stop: impl Fn() -> bool + Send + 'static) -> Result<()> {
        raise_file_limit();
        let failed = |e| Error::io("the service", e);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("service")
            .build()
            .map_err(failed)?;
        let drain = Duration::from_secs(self.service.settings.drain_timeout);
        let service = self.service.clone();
        let result = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(failed)?;
            accept(&self.service, listener, self.tls.as_ref(), stop).await;
            Ok(())
        });
        // Requests that compute still may take a moment; their answers have nobody to go to.
        runtime.shutdown_timeout(drain.min(Duration::from_secs(1)));
        service.close().and(result)
    }
}

/// Allows as many open files as the system lets this process have: each connection is one.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// An open connection.
struct Connection {
    /// Milliseconds since the start at which its last response ended; 0 while it has a request.
    idle_since: AtomicU64,
    /// Closes it at once.
    close: Notify,
}

/// A request of a connection, which is idle again when this is dropped.
struct Answering {
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.connection.idle_since.store(self.connections.now(), Ordering::Relaxed);
    }
}

/// Body of a response; its connection has a request until all of it was handed over.
struct SentBody {
    body: Body,
    _answering: Answering,
}

impl hyper::body::Body for SentBody {
    type Data = hyper::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<hyper::body::Frame<Self::Data>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// The open connections, looked at when one opens or closes, and never for a request.
struct Connections {
    start: Instant,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
}

impl Connections {
    fn now(&self) -> u64 {
        (self.start.elapsed().as_millis() as u64).max(1)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    /// Closes the connection that has been idle longest; returns false if all are busy.
    fn evict(&self) -> bool {
        let mut open = self.lock();
        let idle = open.iter().map(|(id, connection)| (connection.idle_since.load(Ordering::Relaxed), *id));
        let oldest =
            idle.filter(|(since, _)| *since > 0 && self.now().saturating_sub(*since) >= MIN_IDLE).min();
        let Some(connection) = oldest.and_then(|(_, id)| open.remove(&id)) else { return false };
        connection.close.notify_one();
        true
    }
}

async fn accept(
    service: &Arc<Service>,
    listener: tokio::net::TcpListener,
    tls: Option<&TlsAcceptor>,
    stop: impl Fn() -> bool,
) {
    let router = crate::routes::router(service.clone());
    let connections = Arc::new(Connections { start: Instant::now(), open: Mutex::default() });
    let (stopping, watching) = watch::channel(false);
    let mut tick = tokio::time::interval(TICK);
    let mut next_id = 0;
    // The moment from which on no connection is accepted.
    let mut end = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = tick.tick() => {
                if end.is_none() && stop() {
                    service.drain();
                    end = Some(Instant::now() + Duration::from_secs(service.settings.drain_delay));
                }
                if service.has_failed() || end.is_some_and(|end| end <= Instant::now()) {
                    break;
                }
                continue;
            }
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // No file is left for the connection: make room, and let others go on.
                tracing::warn!(error = %error, "a connection could not be accepted");
                connections.evict();
                tokio::time::sleep(TICK).await;
                continue;
            }
        };
        if connections.len() >= service.settings.max_connections {
            if !connections.evict() {
                continue;
            }
            add(&service.metrics.connections_evicted, 1);
        }
        let _ = stream.set_nodelay(true);
        next_id += 1;
        let connection =
            Arc::new(Connection { idle_since: AtomicU64::new(connections.now()), close: Notify::new() });
        connections.lock().insert(next_id, connection.clone());
        add(&service.metrics.connections_opened, 1);
        add(&service.metrics.connections_open, 1);
        let (service, router, tls) = (service.clone(), router.clone(), tls.cloned());
        let (connections, watching) = (connections.clone(), watching.clone());
        let stream = TimedStream::new(stream, Duration::from_secs(service.settings.body_timeout));
        tokio::spawn(async move {
            let time = Duration::from_secs(service.settings.header_timeout);
            let own = (&connection, &connections);
            match tls {
                None => talk(stream, router, own, watching, time).await,
                Some(tls) => {
                    let shaken = tokio::select! {
                        shaken = tokio::time::timeout(time, tls.accept(stream)) => shaken,
                        () = connection.close.notified() => Ok(Err(std::io::ErrorKind::ConnectionAborted.into())),
                    };
                    if let Ok(Ok(stream)) = shaken {
                        talk(stream, router, own, watching, time).await;
                    }
                }
            }
            connections.lock().remove(&next_id);
            service.metrics.connections_open.fetch_sub(1, Ordering::Relaxed);
        });
    }
    service.drain();
    // New connections are refused at once, so that their clients go elsewhere.
    drop(listener);
    let n = connections.len();
    tracing::info!(connections = n, "draining");
    let _ = stopping.send(true);
    drop(watching);
    // Every connection holds a receiver until it ends.
    let drain = Duration::from_secs(service.settings.drain_timeout);
    if tokio::time::timeout(drain, stopping.closed()).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections were cut after the drain timeout");
    }
}

/// Serves the requests of one connection.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    (connection, connections): (&Arc<Connection>, &Arc<Connections>),
    mut stopping: watch::Receiver<bool>,
    header_timeout: Duration,
) {
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        connection.idle_since.store(0, Ordering::Relaxed);
        let mut router = router.clone();
        let answering = Answering { connection: connection.clone(), connections: connections.clone() };
        async move {
            let response = tower_service::Service::call(&mut router, request.map(Body::new)).await;
            response.map(|response| response.map(|body| SentBody { body, _answering: answering }))
        }
    });
    let talking = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(MAX_HEADER)
        .serve_connection(TokioIo::new(stream), service);
    let mut talking = std::pin::pin!(talking);
    loop {
        tokio::select! {
            _ = talking.as_mut() => return,
            () = connection.close.notified() => return,
            changed = stopping.changed() => {
                talking.as_mut().graceful_shutdown();
                if changed.is_err() {
                    let _ = talking.await;
                    return;
                }
            }
        }
    }
}
