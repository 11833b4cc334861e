// cli_progress.js - the progress line of a download in a terminal

/** Delay before the first drawing, so that short loads show nothing. */
const DELAY_MS = 300;
/** Time between two drawings. */
const EVERY_MS = 100;

/**
 * @param {number} bytes
 * @returns {string} "12.3 MB", in units of 1,000
 */
export function bytesText(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; bytes >= 1000 && i < units.length - 1; i++) bytes /= 1000;
  return `${i ? bytes.toFixed(1) : bytes} ${units[i]}`;
}

/**
 * @param {{loaded: number, total: number | null, fromCache: boolean}} progress
 * @param {number} seconds  since the first byte
 * @returns {string}
 */
export function progressText({ loaded, total, fromCache }, seconds) {
  const share = total ? ` (${Math.floor((100 * loaded) / total)} %)` : '';
  const rate = seconds > 0 && !fromCache ? `, ${bytesText(Math.round(loaded / seconds))}/s` : '';
  const action = fromCache ? 'reading from the cache' : 'loading';
  const size = total === null ? '' : ` of ${bytesText(total)}`;
  return `${action}: ${bytesText(loaded)}${size}${share}${rate}`;
}

/**
 * Draw the progress of a load over one line.
 * @param {{write(text: string): any, isTTY?: boolean, columns?: number}} stream
 * @param {boolean} [always]  draw every event, in lines of their own where the stream is no terminal
 * @returns {{onProgress: (progress: import('./index.js').Progress) => void, clear: () => void} | null} null: nothing is
 *   to be drawn
 */
export function progressLine(stream, always = false) {
  if (!always && !stream.isTTY) return null;
  const begun = performance.now();
  let drawn = 0;
  let first = 0;
  let shown = '';
  return {
    onProgress(progress) {
      if (progress.phase !== 'download') return;
      const now = performance.now();
      first ||= now;
      if (!always && (now - begun < DELAY_MS || now - drawn < EVERY_MS)) return;
      drawn = now;
      const text = progressText(progress, (now - first) / 1000).slice(0, (stream.columns || 80) - 1);
      stream.write(stream.isTTY ? `\r${text}${' '.repeat(Math.max(0, shown.length - text.length))}` : `${text}\n`);
      shown = text;
    },
    clear() {
      if (shown && stream.isTTY) stream.write(`\r${' '.repeat(shown.length)}\r`);
      shown = '';
    },
  };
}
