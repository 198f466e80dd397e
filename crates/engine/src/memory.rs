//! Peak memory of the process, if the system reports it (Linux), and the cost of a step.

use std::time::Instant;

use matchrank_core::Result;

/// Seconds and peak memory of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// None if the system does not report it.
    pub(crate) peak_mib: Option<f64>,
}

/// Runs a step and measures its cost.
pub(crate) fn timed<T>(make: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    let counted = reset_peak();
    let begun = Instant::now();
    let made = make()?;
    let seconds = begun.elapsed().as_secs_f64();
    let peak = counted.then(peak).flatten();
    Ok((made, Cost { seconds, peak_mib: peak.map(|bytes| bytes as f64 / f64::from(1 << 20)) }))
}

/// Returns the peak memory of the process since its start, or since [`reset_peak`], in bytes.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Resets the peak to the memory that is held now. Returns true if the system did so.
pub fn reset_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_peak_falls_when_it_is_reset() {
        let Some(_) = super::peak() else { return };
        let before = super::peak().unwrap();
        let large = std::hint::black_box(vec![1_u8; 64 << 20]);
        let with = super::peak().unwrap();
        assert!(with >= before + (48 << 20) || before >= 64 << 20, "{before} {with}");
        drop(large);
        if super::reset_peak() {
            assert!(super::peak().unwrap() <= with);
        }
    }
}
