//! Logs: one JSON object a line, on standard error.

/// Sends the log of the service to standard error, warnings alone if `quiet`. A second call changes nothing.
pub fn log_to_standard_error(quiet: bool) {
    let level = if quiet { tracing::Level::WARN } else { tracing::Level::INFO };
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_current_span(true)
        .with_span_list(false)
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
}
