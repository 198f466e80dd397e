//! A connection whose other side must read: a write that makes no progress for some time is an error.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream with a limit on the time that a write may wait.
pub(crate) struct TimedStream<S> {
    stream: S,
    patience: Duration,
    /// Ends when a write has waited for too long; looked at while `waits`.
    deadline: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TimedStream<S> {
    /// Limits the time of writes to a stream.
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, deadline: Box::pin(tokio::time::sleep(patience)), waits: false }
    }

    fn write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the client does not read its response");
        self.deadline.as_mut().poll(context).map(|()| Err(late()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |stream, context| stream.poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn clients_must_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, _far) = tokio::io::duplex(8);
            let mut timed = TimedStream::new(near, Duration::from_millis(20));
            timed.write_all(b"12345678").await.unwrap();
            let error = timed.write_all(b"9").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    /// A client that reads slowly is let be: every byte begins the time anew.
    #[test]
    fn slow_readers_are_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(8);
            let mut timed = TimedStream::new(near, Duration::from_secs(3600));
            let mut deadline = timed.deadline.deadline();
            for _ in 0..3 {
                timed.write_all(b"12345678").await.unwrap();
                let waiting = std::future::poll_fn(|context| {
                    Poll::Ready(Pin::new(&mut timed).poll_write(context, b"9").is_pending())
                });
                assert!(waiting.await, "the pipe is full");
                assert!(timed.waits && timed.deadline.deadline() > deadline);
                deadline = timed.deadline.deadline();
                far.read_exact(&mut [0; 8]).await.unwrap();
            }
            timed.write_all(b"9").await.unwrap();
            assert!(!timed.waits);
        });
    }
}
