//! The inexact ADMM of the paper, iterate by iterate.
//!
//! ```text
//! alpha~ := alpha~ - (lambda K~ alpha~ + rho v) / zeta,     v = sum (1, K_p)' y_p r_p
//! r_p     = y_p (1, K_p') alpha~ - 1 + xi_p - gamma_p + u_p
//! xi_p   := max(1 - y_p f_p - u_p - c_p / rho, 0),  gamma_p := max(y_p f_p - 1 + u_p, 0)
//! u_p    := u_p + y_p f_p - 1 + xi_p - gamma_p
//! ```
//! with f_p = (1, K_p') alpha~ and zeta = 1.0001 times the largest eigenvalue of lambda K~ + rho M'M, M = (y_p (1, K_p')).
//! (In print, u is updated from itself, and v has alpha in place of alpha~.)
//!
//! [`KernelAdmm`] computes this with the kernel matrix: O(P^2) per iteration. [`VectorAdmm`] computes the same iterates
//! if K = Phi Phi' and alpha is represented by w = Phi' alpha, since Phi' times the first line is
//!
//! w := w - S (lambda w + rho sum phi_p y_p r_p) / zeta,  S = Phi'Phi,
//!
//! at O(P d + d^2). The intercept is optional: by the symmetry of pairs it is 0 at the optimum.

/// xi, gamma, u of every pair, and the intercept.
#[derive(Debug, Clone, Default)]
pub struct PaperState {
    /// The intercept alpha_0.
    pub intercept: f64,
    /// Positive slacks.
    pub xi: Vec<f64>,
    /// Negative slacks.
    pub gamma: Vec<f64>,
    /// Scaled multipliers.
    pub u: Vec<f64>,
}

impl PaperState {
    fn zeros(n: usize) -> Self {
        Self { intercept: 0.0, xi: vec![0.0; n], gamma: vec![0.0; n], u: vec![0.0; n] }
    }

    /// Computes r of every pair, at margins y f.
    fn residuals<'a>(&'a self, margins: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        (0..margins.len()).map(move |p| margins[p] - 1.0 + self.xi[p] - self.gamma[p] + self.u[p])
    }

    fn update(&mut self, margins: &[f64], c: &[f64], rho: f64) {
        for p in 0..margins.len() {
            self.xi[p] = (1.0 - margins[p] - self.u[p] - c[p] / rho).max(0.0);
            self.gamma[p] = (margins[p] - 1.0 + self.u[p]).max(0.0);
            self.u[p] += margins[p] - 1.0 + self.xi[p] - self.gamma[p];
        }
    }
}

/// Factor of the largest eigenvalue in zeta.
const ZETA: f64 = 1.0001;

/// Computes the largest eigenvalue of a positive semidefinite map by power iteration.
fn largest_eigenvalue(n: usize, map: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    // An irregular start vector, so that symmetry cannot make it orthogonal to an eigenvector.
    let mut vector: Vec<f64> = (0..n).map(|i| 1.0 + 0.5 * ((i as f64 + 1.0) * 0.754_877).fract()).collect();
    let mut value = 0.0;
    for _ in 0..100_000 {
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            return f64::MIN_POSITIVE;
        }
        vector.iter_mut().for_each(|x| *x /= norm);
        let image = map(&vector);
        let next: f64 = image.iter().zip(&vector).map(|(a, b)| a * b).sum();
        let settled = (next - value).abs() <= 1e-15 * next.abs();
        (value, vector) = (next, image);
        if settled {
            break;
        }
    }
    value.max(f64::MIN_POSITIVE)
}

/// The printed form, with a kernel matrix, signs and costs.
#[derive(Debug, Clone)]
pub struct KernelAdmm<'a> {
    k: &'a [Vec<f64>],
    y: &'a [f64],
    c: &'a [f64],
    lambda: f64,
    rho: f64,
    with_intercept: bool,
    zeta: f64,
    /// alpha, without the intercept.
    pub alpha: Vec<f64>,
    /// The other variables.
    pub state: PaperState,
}

/// Parameters of both forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmmParams {
    /// Strength of the regularisation.
    pub lambda: f64,
    /// Weight of the penalty of the augmented Lagrangian.
    pub rho: f64,
    /// Adds an intercept to the function.
    pub with_intercept: bool,
}

impl<'a> KernelAdmm<'a> {
    /// Starts with all variables at 0.
    pub fn new(k: &'a [Vec<f64>], y: &'a [f64], c: &'a [f64], params: AdmmParams) -> Self {
        let AdmmParams { lambda, rho, with_intercept } = params;
        let n = y.len();
        let zeta = ZETA
            * largest_eigenvalue(n + 1, |vector| {
                let (a0, a) = (if with_intercept { vector[0] } else { 0.0 }, &vector[1..]);
                let f: Vec<f64> = times(k, a).iter().map(|ka| ka + a0).collect();
                let kf = times(k, &f);
                let ka = times(k, a);
                let first = if with_intercept { rho * f.iter().sum::<f64>() } else { 0.0 };
                std::iter::once(first)
                    .chain(ka.iter().zip(&kf).map(|(ka, kf)| lambda * ka + rho * kf))
                    .collect()
            });
        let state = PaperState::zeros(n);
        Self { k, y, c, lambda, rho, with_intercept, zeta, alpha: vec![0.0; n], state }
    }

    /// Returns y f of every pair.
    pub fn margins(&self) -> Vec<f64> {
        let ka = times(self.k, &self.alpha);
        ka.iter().zip(self.y).map(|(f, y)| y * (f + self.state.intercept)).collect()
    }

    /// Runs one iteration.
    pub fn step(&mut self) {
        let margins = self.margins();
        let signed: Vec<f64> = self.state.residuals(&margins).zip(self.y).map(|(r, y)| y * r).collect();
        let (v, ka) = (times(self.k, &signed), times(self.k, &self.alpha));
        for (alpha, (ka, v)) in self.alpha.iter_mut().zip(ka.iter().zip(&v)) {
            *alpha -= (self.lambda * ka + self.rho * v) / self.zeta;
        }
        if self.with_intercept {
            self.state.intercept -= self.rho * signed.iter().sum::<f64>() / self.zeta;
        }
        let margins = self.margins();
        self.state.update(&margins, self.c, self.rho);
    }

    /// Computes lambda/2 alpha' K alpha + sum c (1 - y f)_+.
    pub fn objective(&self) -> f64 {
        let ka = times(self.k, &self.alpha);
        let norm: f64 = ka.iter().zip(&self.alpha).map(|(ka, a)| ka * a).sum();
        let risk: f64 = self.margins().iter().zip(self.c).map(|(m, c)| c * (1.0 - m).max(0.0)).sum();
        0.5 * self.lambda * norm + risk
    }
}

fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
}

/// The iterates of [`KernelAdmm`], computed with the vectors phi, which are the rows of Phi.
#[derive(Debug, Clone)]
pub struct VectorAdmm<'a> {
    phi: &'a [Vec<f64>],
    y: &'a [f64],
    c: &'a [f64],
    lambda: f64,
    rho: f64,
    with_intercept: bool,
    zeta: f64,
    /// Phi'Phi.
    s: Vec<Vec<f64>>,
    /// w = Phi' alpha.
    pub w: Vec<f64>,
    /// The other variables.
    pub state: PaperState,
}

impl<'a> VectorAdmm<'a> {
    /// Starts with all variables at 0.
    pub fn new(phi: &'a [Vec<f64>], y: &'a [f64], c: &'a [f64], params: AdmmParams) -> Self {
        let AdmmParams { lambda, rho, with_intercept } = params;
        let (n, d) = (phi.len(), phi.first().map_or(0, Vec::len));
        let mut s = vec![vec![0.0; d]; d];
        let mut sum = vec![0.0; d];
        for row in phi {
            for (i, a) in row.iter().enumerate() {
                sum[i] += a;
                s[i].iter_mut().zip(row).for_each(|(s, b)| *s += a * b);
            }
        }
        // Eigenvectors are (a0, Phi b): the map on (a0, b).
        let zeta = ZETA
            * largest_eigenvalue(d + 1, |vector| {
                let (a0, b) = (if with_intercept { vector[0] } else { 0.0 }, &vector[1..]);
                let sb = times(&s, b);
                let ssb = times(&s, &sb);
                let ones: f64 = sum.iter().zip(&sb).map(|(t, sb)| t * sb).sum();
                let first = if with_intercept { rho * (n as f64 * a0 + ones) } else { 0.0 };
                let rest = (0..d).map(|i| lambda * sb[i] + rho * (sum[i] * a0 + ssb[i]));
                std::iter::once(first).chain(rest).collect()
            });
        let state = PaperState::zeros(n);
        Self { phi, y, c, lambda, rho, with_intercept, zeta, s, w: vec![0.0; d], state }
    }

    /// Returns y f of every pair.
    pub fn margins(&self) -> Vec<f64> {
        times(self.phi, &self.w).iter().zip(self.y).map(|(f, y)| y * (f + self.state.intercept)).collect()
    }

    /// Runs one iteration.
    pub fn step(&mut self) {
        let margins = self.margins();
        let mut change: Vec<f64> = self.w.iter().map(|w| self.lambda * w).collect();
        let mut signed = 0.0;
        for (p, r) in self.state.residuals(&margins).enumerate() {
            let factor = self.rho * self.y[p] * r;
            signed += factor;
            change.iter_mut().zip(&self.phi[p]).for_each(|(change, phi)| *change += factor * phi);
        }
        let step = times(&self.s, &change);
        self.w.iter_mut().zip(&step).for_each(|(w, step)| *w -= step / self.zeta);
        if self.with_intercept {
            self.state.intercept -= signed / self.zeta;
        }
        let margins = self.margins();
        self.state.update(&margins, self.c, self.rho);
    }
}
