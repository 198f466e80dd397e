//! Tail probabilities of the significance tests.

use libm::{erfc, lgamma};

/// P(|T| >= |t|) for Student's t with `df` degrees of freedom: I_x(df/2, 1/2) at x = df / (df + t^2).
pub(super) fn student_two_sided(t: f64, df: f64) -> f64 {
    // written so that a huge t gives 0 and not 0/0
    incomplete_beta(0.5 * df, 0.5, 1.0 / (1.0 + t * t / df))
}

/// Returns t >= 0 with P(|T| >= t) = p for Student's t with `df` degrees of freedom, 0 < p <= 1: the quantile of
/// 1 - p/2. Found by bisection, to the last bits.
pub(super) fn student_quantile(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, df) > p {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if student_two_sided(middle, df) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// P(|Z| >= |z|) for the standard normal distribution.
pub(super) fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// P(X <= k) for n fair coins: I_{1/2}(n - k, k + 1).
pub(super) fn fair_coins_at_most(k: u64, n: u64) -> f64 {
    if k >= n { 1.0 } else { incomplete_beta((n - k) as f64, (k + 1) as f64, 0.5) }
}

/// The regularised incomplete beta function I_x(a, b): the continued fraction of DLMF 8.17.22 by the
/// modified Lentz method, on the side of the mean where it converges fast.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = a * x.ln() + b * (-x).ln_1p() + lgamma(a + b) - lgamma(a) - lgamma(b);
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-16 * fraction.abs() {
            break;
        }
    }
    (front.exp() * fraction / a).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // closed forms: Cauchy (df = 1), df = 2, and small binomials
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-13 * b.max(1e-3), "{a} {b}");
        close(student_two_sided(1.0, 1.0), 0.5);
        close(student_two_sided(3.0, 2.0), 1.0 - 3.0 / 11.0_f64.sqrt());
        close(student_two_sided(0.0, 7.0), 1.0);
        assert_eq!(student_two_sided(f64::INFINITY, 7.0), 0.0);
        close(fair_coins_at_most(0, 3), 0.125);
        close(fair_coins_at_most(2, 5), 0.5);
        close(fair_coins_at_most(5, 5), 1.0);
        // the 0.975 and 0.8 quantiles of tables of Student's t; df = 1 and 2 in closed form
        close(student_quantile(0.05, 1.0), (0.475 * std::f64::consts::PI).tan());
        close(student_quantile(0.05, 2.0), 0.95 * (2.0_f64 / 0.0975).sqrt());
        for (df, high, low) in [
            (4.0, 2.776_445_105, 0.940_964_577),
            (9.0, 2.262_157_163, 0.883_403_860),
            (44.0, 2.015_367_574, 0.849_866_805),
        ] {
            assert!((student_quantile(0.05, df) - high).abs() < 1e-8, "{df}");
            assert!((student_quantile(0.4, df) - low).abs() < 1e-8, "{df}");
        }
        close(student_quantile(1.0, 9.0), 0.0);
        close(normal_two_sided(1.959_963_984_540_054), 0.05);
    }
}
