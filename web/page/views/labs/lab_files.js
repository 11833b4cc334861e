// lab_files.js - what lies beside the page for a lab: the model that it measures, and its last full run

/**
 * Where the model of a lab lies.
 * @param {string} model  `Lab.model`
 */
export const modelFile = (model) => `weights/${model}`;

/**
 * The size of a file beside the page in bytes, null where the server does not say it.
 * @param {string} file
 * @returns {Promise<number | null>}
 */
export async function sizeOf(file) {
  try {
    const response = await fetch(new URL(file, document.baseURI), { method: 'HEAD' });
    return (response.ok && Number(response.headers.get('content-length'))) || null;
  } catch {
    return null;
  }
}

/**
 * The result of the last full run on the command line, null where there is none.
 * @param {string} name  of a lab
 * @returns {Promise<import('glassformer/labs').LabResult | null>}
 */
export async function recordedRun(name) {
  try {
    const response = await fetch(new URL(`labs/${name}.json`, document.baseURI));
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
