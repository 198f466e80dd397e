//! Axes of charts: round numbers at their ends and ticks.

/// Returns the next round number: 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 times a power of ten.
pub(super) fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    power * steps.into_iter().find(|step| step * power >= value * (1.0 - 1e-9)).unwrap_or(10.0)
}

/// Returns three to six ticks at equal distances. The first and the last enclose the range.
pub(super) fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let span = if high > low { high - low } else { low.abs().max(1.0) / 10.0 };
    let rough = span / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = power
        * [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= rough * 0.999).unwrap_or(10.0);
    let (first, last) = ((low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64);
    (first..=last.max(first + 1)).map(|tick| tick as f64 * step).collect()
}

/// Returns ticks at 1, 2 and 5 times powers of ten, or at powers of ten alone if these are many. The first and the last
/// enclose the range, which is above 0.
pub(super) fn log_ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let of = |steps: &[f64]| {
        let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let all: Vec<f64> =
            powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power))).collect();
        let first = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last = all.iter().position(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
        all[first..=last.max(first + 1).min(all.len() - 1)].to_vec()
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    if fine.len() > 7 { of(&[1.0]) } else { fine }
}

/// Place of a value between the first and the last tick, from 0 to 1.
pub(super) fn place(value: f64, ticks: &[f64]) -> f64 {
    let (Some(low), Some(high)) = (ticks.first(), ticks.last()) else { return 0.0 };
    if value.is_finite() && high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in [(0.42, 0.5), (0.391, 0.4), (0.4, 0.4), (1.0, 1.0), (0.031, 0.04), (7.2, 8.0)] {
            assert!((nice(value) - end).abs() < 1e-12, "{value}");
        }
        assert_eq!((nice(0.0), nice(f64::NAN)), (1.0, 1.0));
    }

    fn about(ticks: &[f64], expected: &[f64]) {
        assert_eq!(ticks.len(), expected.len(), "{ticks:?}");
        assert!(ticks.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{ticks:?}");
    }

    #[test]
    fn ticks_enclose_their_range() {
        about(&ticks([-0.143, 0.168]), &[-0.2, -0.1, 0.0, 0.1, 0.2]);
        about(&ticks([0.434, 0.7217]), &[0.4, 0.5, 0.6, 0.7, 0.8]);
        about(&ticks([0.0, 0.0]), &[0.0, 0.025]);
        about(&ticks([0.5, 0.5]), &[0.5, 0.525]);
        about(&log_ticks([0.06, 23.6]), &[0.01, 0.1, 1.0, 10.0, 100.0]);
        about(&log_ticks([1.2, 23.0]), &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        about(&log_ticks([1.0, 1.0]), &[1.0, 2.0]);
        for (low, high) in [(0.0021, 0.0022), (3.0, 3.0), (-7.0, 11.0), (0.4999, 0.5001)] {
            let ticks = ticks([low, high]);
            assert!(
                ticks[0] <= low + 1e-12
                    && *ticks.last().unwrap() >= high - 1e-12
                    && (2..8).contains(&ticks.len()),
                "{ticks:?}"
            );
        }
    }

    #[test]
    fn places_are_between_the_ends() {
        assert_eq!(
            (place(0.5, &[0.0, 1.0]), place(9.0, &[0.0, 1.0]), place(f64::NAN, &[0.0, 1.0])),
            (0.5, 1.0, 0.0)
        );
    }
}
