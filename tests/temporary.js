// temporary.js - folders for files that tests write
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/**
 * An empty folder, which is removed at the end of the test that calls this; outside of a test, at the end of the file.
 * @param {string} name  a part of its name
 */
export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `glassformer-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
