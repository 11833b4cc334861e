// spectra.js - singular values of a product of thin matrices, eigenvalues of a small square one

/**
 * @param {Float64Array} a
 * @param {Float64Array} b
 */
function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/**
 * R of the QR decomposition of the transpose of rows, by modified Gram-Schmidt: rows^T = Q R.
 * @param {Float64Array[]} rows  [r, n]
 * @returns {Float64Array[]} [r, r], upper triangular
 */
function triangle(rows) {
  const q = rows.map((row) => row.slice());
  const r = rows.map(() => new Float64Array(rows.length));
  q.forEach((own, i) => {
    r[i][i] = Math.hypot(...own);
    for (let k = 0; k < own.length; k++) own[k] /= r[i][i] || 1;
    for (let j = i + 1; j < q.length; j++) {
      const [other, factor] = [q[j], dot(own, q[j])];
      r[i][j] = factor;
      for (let k = 0; k < own.length; k++) other[k] -= factor * own[k];
    }
  });
  return r;
}

/**
 * The singular values of a^T b, which are those of Ra Rb^T, by one-sided Jacobi rotations.
 * @param {Float64Array[]} a  [r, n]
 * @param {Float64Array[]} b  [r, m]
 * @returns {number[]} r of them, the largest first
 */
export function singularValues(a, b) {
  const [ra, rb] = [triangle(a), triangle(b)];
  const r = a.length;
  // its columns, as rows
  const u = rb.map((y) => Float64Array.from(ra, (x) => dot(x, y)));
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let i = 0; i < r; i++)
      for (let j = i + 1; j < r; j++) {
        const [x, y] = [u[i], u[j]];
        const [ii, jj, ij] = [dot(x, x), dot(y, y), dot(x, y)];
        if (Math.abs(ij) <= 1e-15 * Math.sqrt(ii * jj)) continue;
        turned = true;
        const zeta = (jj - ii) / (2 * ij);
        const t = Math.sign(zeta || 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cos = 1 / Math.hypot(1, t);
        for (let k = 0; k < r; k++) [x[k], y[k]] = [cos * (x[k] - t * y[k]), cos * (t * x[k] + y[k])];
      }
  }
  return u.map((column) => Math.hypot(...column)).sort((x, y) => y - x);
}

/** @typedef {[re: number, im: number]} Complex */
const times = (/** @type {Complex} */ [a, b], /** @type {Complex} */ [c, d]) =>
  /** @type {Complex} */ ([a * c - b * d, a * d + b * c]);
const minus = (/** @type {Complex} */ a, /** @type {Complex} */ b) =>
  /** @type {Complex} */ ([a[0] - b[0], a[1] - b[1]]);
const root = (/** @type {Complex} */ [a, b]) => {
  const size = Math.hypot(a, b);
  return /** @type {Complex} */ ([
    Math.sqrt((size + a) / 2),
    Math.sign(b || 1) * Math.sqrt(Math.max(0, (size - a) / 2)),
  ]);
};

/**
 * The eigenvalues of a real matrix: Hessenberg form, then the QR algorithm in complex numbers with Wilkinson's shift.
 * @param {Float64Array[]} matrix  [n, n], not changed
 * @returns {Complex[]}
 */
export function eigenvalues(matrix) {
  const h = hessenberg(matrix).map((row) => Array.from(row, (x) => /** @type {Complex} */ ([x, 0])));
  /** @type {Complex[]} */
  const out = [];
  const size = (/** @type {Complex} */ [a, b]) => Math.abs(a) + Math.abs(b);
  for (let n = h.length, steps = 0; n > 0; steps++) {
    let from = n - 1;
    while (from > 0 && size(h[from][from - 1]) > 1e-15 * (size(h[from][from]) + size(h[from - 1][from - 1]))) from--;
    if (from === n - 1 || steps > 200) {
      out.push(h[n - 1][n - 1]);
      n--;
      steps = 0;
      continue;
    }
    step(h, from, n, steps % 11 === 10 ? h[n - 1][n - 2] : shiftOf(h, n));
  }
  return out;
}

/**
 * The eigenvalue of the last two rows that is nearer to the last entry.
 * @param {Complex[][]} h
 * @param {number} n
 * @returns {Complex}
 */
function shiftOf(h, n) {
  const [a, b, c, d] = [h[n - 2][n - 2], h[n - 2][n - 1], h[n - 1][n - 2], h[n - 1][n - 1]];
  const half = times(minus(a, d), [0.5, 0]);
  const bc = times(b, c);
  const square = times(half, half);
  const disc = root([square[0] + bc[0], square[1] + bc[1]]);
  const sign = half[0] * disc[0] + half[1] * disc[1] >= 0 ? 1 : -1;
  const below = /** @type {Complex} */ ([half[0] + sign * disc[0], half[1] + sign * disc[1]]);
  const norm = below[0] ** 2 + below[1] ** 2;
  if (!norm) return d;
  return minus(d, times(bc, [below[0] / norm, -below[1] / norm]));
}

/**
 * One QR step of rows from .. n - 1 with Givens rotations.
 * @param {Complex[][]} h
 * @param {number} from
 * @param {number} n
 * @param {Complex} shift
 */
function step(h, from, n, shift) {
  /** @type {{c: Complex, s: Complex}[]} */
  const rotations = [];
  for (let i = from; i < n; i++) h[i][i] = minus(h[i][i], shift);
  for (let i = from; i < n - 1; i++) {
    const [x, y] = [h[i][i], h[i + 1][i]];
    const r = Math.hypot(...x, ...y) || 1;
    const [c, s] = [/** @type {Complex} */ ([x[0] / r, x[1] / r]), /** @type {Complex} */ ([y[0] / r, y[1] / r])];
    rotations.push({ c, s });
    for (let j = i; j < n; j++) {
      const [p, q] = [h[i][j], h[i + 1][j]];
      const [cp, sq] = [times([c[0], -c[1]], p), times([s[0], -s[1]], q)];
      h[i][j] = [cp[0] + sq[0], cp[1] + sq[1]];
      h[i + 1][j] = minus(times(c, q), times(s, p));
    }
  }
  rotations.forEach(({ c, s }, k) => {
    const i = from + k;
    for (let j = from; j < Math.min(n, i + 2); j++) {
      const [p, q] = [h[j][i], h[j][i + 1]];
      const [cp, sq] = [times(c, p), times(s, q)];
      h[j][i] = [cp[0] + sq[0], cp[1] + sq[1]];
      h[j][i + 1] = minus(times([c[0], -c[1]], q), times([s[0], -s[1]], p));
    }
  });
  for (let i = from; i < n; i++) h[i][i] = [h[i][i][0] + shift[0], h[i][i][1] + shift[1]];
}

/**
 * A matrix with the same eigenvalues and zeros below the first subdiagonal, by Gaussian elimination with pivots.
 * @param {Float64Array[]} matrix
 */
function hessenberg(matrix) {
  const a = matrix.map((row) => row.slice());
  const n = a.length;
  for (let k = 1; k < n - 1; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k - 1]) > Math.abs(a[pivot][k - 1])) pivot = i;
    if (!a[pivot][k - 1]) continue;
    [a[k], a[pivot]] = [a[pivot], a[k]];
    for (const row of a) [row[k], row[pivot]] = [row[pivot], row[k]];
    for (let i = k + 1; i < n; i++) {
      const factor = a[i][k - 1] / a[k][k - 1];
      for (let j = k - 1; j < n; j++) a[i][j] -= factor * a[k][j];
      for (const row of a) row[k] += factor * row[i];
    }
  }
  return a;
}
