// progress.js - the progress line of a download in a terminal

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
 * @param {number} seconds
 * @returns {string} "45 s", "3 min", "1 h 20 min"
 */
export function durationText(seconds) {
  if (seconds < 99.5) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * @param {Pick<import('../../api/index.js').Progress, 'loaded' | 'total' | 'fromCache' | 'bytesPerSecond' |
 *   'secondsLeft'>} progress
 * @returns {string}
 */
export function progressText({ loaded, total, fromCache, bytesPerSecond, secondsLeft }) {
  const share = total ? ` (${Math.floor((100 * loaded) / total)} %)` : '';
  const speed = bytesPerSecond !== null && !fromCache ? `, ${bytesText(Math.round(bytesPerSecond))}/s` : '';
  const left = speed && secondsLeft ? `, ${durationText(secondsLeft)} left` : '';
  const rate = speed + left;
  const action = fromCache ? 'reading from the cache' : 'loading';
  const size = total === null ? '' : ` of ${bytesText(total)}`;
  return `${action}: ${bytesText(loaded)}${size}${share}${rate}`;
}

/**
 * Draw the progress of a load over one line.
 * @param {{write(text: string): any, isTTY?: boolean, columns?: number}} stream
 * @param {boolean} [always]  draw every event, in lines of their own where the stream is no terminal
 * @returns {{onProgress: (progress: import('../../api/index.js').Progress) => void, clear: () => void} | null} null:
 *   nothing is to be drawn
 */
export function progressLine(stream, always = false) {
  if (!always && !stream.isTTY) return null;
  const begun = performance.now();
  let drawn = 0;
  let shown = '';
  return {
    onProgress(progress) {
      if (progress.phase !== 'download') return;
      const now = performance.now();
      if (!always && (now - begun < DELAY_MS || now - drawn < EVERY_MS)) return;
      drawn = now;
      const text = progressText(progress).slice(0, (stream.columns || 80) - 1);
      stream.write(stream.isTTY ? `\r${text}${' '.repeat(Math.max(0, shown.length - text.length))}` : `${text}\n`);
      shown = text;
    },
    clear() {
      if (shown && stream.isTTY) stream.write(`\r${' '.repeat(shown.length)}\r`);
      shown = '';
    },
  };
}
