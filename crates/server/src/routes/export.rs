//! The log of a running service as a stream of lines.

use std::io::{self, BufWriter, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderName, HeaderValue, Response, header};
use hyper::body::{Bytes, Frame};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use crate::failure::Failure;
use crate::learning::{
    LearningError, SearchWindow, export_clicks, export_documents, export_lessons, export_removed, sequence_of,
};
use crate::service::Service;
use crate::store::{LogSpan, Store};

static LAST_SEQUENCE: HeaderName = HeaderName::from_static("x-last-sequence");

/// Bytes of a piece of a stream.
const PIECE: usize = 64 << 10;
/// Pieces that wait for the client.
const WAITING: usize = 4;

/// Part of the log that is wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportRequest {
    /// Lines that are wanted.
    #[param(inline)]
    of: ExportedLines,
    /// Only what came after this sequence number, or from this date on, as 2026-05-01.
    since: Option<String>,
}

/// Lines of an export.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportedLines {
    /// Clicks and impressions, for `ingest --clicks`.
    Clicks,
    /// Documents that were added or changed, for `ingest --documents`.
    Documents,
    /// Ids of documents that were removed, for `ingest --removed`.
    Removed,
    /// Preferences, for `update --tuples`.
    Tuples,
    /// Feature lists, for `update --lists`.
    Lists,
}

impl ExportedLines {
    fn content_type(self) -> &'static str {
        match self {
            Self::Removed => "text/plain; charset=utf-8",
            Self::Clicks | Self::Documents | Self::Tuples | Self::Lists => "application/x-ndjson",
        }
    }

    fn write(self, store: &Store, span: LogSpan, out: &mut dyn Write) -> Result<(), LearningError> {
        let lessons = (span, SearchWindow::default());
        match self {
            Self::Clicks => export_clicks(store, span, out).map(drop),
            Self::Documents => export_documents(store, span, out).map(drop),
            Self::Removed => export_removed(store, span, out).map(drop),
            Self::Tuples => export_lessons(store, lessons, Some(out), None).map(drop),
            Self::Lists => export_lessons(store, lessons, None, Some(out)).map(drop),
        }
    }
}

/// Export the log while the service runs, as lines that `ingest` and `update` read.
///
/// Needs the write key. The header `x-last-sequence` is the last sequence of the export; the next one goes on from it with
/// `since`. One export runs at a time. A connection that breaks off before the end of the stream holds a part alone.
#[utoipa::path(
    get,
    path = "/v1/events/export",
    tag = "learning",
    params(ExportRequest),
    responses((status = 200, description = "Lines"), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn export(
    State(service): State<Arc<Service>>,
    request: Result<Query<ExportRequest>, QueryRejection>,
) -> Result<Response<Body>, Failure> {
    let Query(request) = request.map_err(|error| Failure::Unusable(error.body_text()))?;
    let store = service.writing()?.state.store.clone();
    let place = service.exports.clone().try_acquire_owned().map_err(|_| Failure::Busy)?;
    let after = match &request.since {
        None => 0,
        Some(since) => sequence_of(&store, since)?.ok_or_else(|| {
            Failure::Unusable(format!(
                "`since` is {since:?}; a sequence number or a date like 2026-05-01 is expected"
            ))
        })?,
    };
    let span = LogSpan { after, until: store.last_sequence() };
    let patience = Duration::from_secs(service.settings.body_timeout);
    let (sender, receiver) = mpsc::channel(WAITING);
    let (runtime, lines) = (Handle::current(), request.of);
    tokio::task::spawn_blocking(move || {
        let pieces = PieceWriter { sender: sender.clone(), runtime: runtime.clone(), patience };
        let mut out = BufWriter::with_capacity(PIECE, pieces);
        let written =
            lines.write(&store, span, &mut out).map_err(io::Error::other).and_then(|()| out.flush());
        if let Err(error) = written {
            tracing::warn!(error = %error, "an export broke off");
            // The client sees that the stream has no end.
            let _ = runtime.block_on(tokio::time::timeout(patience, sender.send(Err(error))));
        }
        drop(place);
    });
    let mut response = Response::new(Body::new(Pieces(receiver)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(lines.content_type()));
    headers.insert(LAST_SEQUENCE.clone(), span.until.max(after).into());
    Ok(response)
}

/// Sends what is written to the client, and waits for a slow one for a limited time.
struct PieceWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    runtime: Handle,
    patience: Duration,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sending = self.sender.send(Ok(Bytes::copy_from_slice(bytes)));
        match self.runtime.block_on(async { tokio::time::timeout(self.patience, sending).await }) {
            Ok(Ok(())) => Ok(bytes.len()),
            Ok(Err(_)) => Err(io::Error::other("the client went away")),
            Err(_) => Err(io::Error::other("the client reads too slowly")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Body of an export.
struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
