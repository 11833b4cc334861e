// lab_run.svelte.js - a run of a lab and what is shown of it. It lasts longer than the component: a visitor who looks at
// another view or lab finds it as it was. Not reading its reports stops it.
import { load } from 'glassformer';
import { runLab } from 'glassformer/labs';
import { messageOf } from '../../state/base/error_message.js';
import { drawingsFirst } from './recorded.js';

/** @typedef {import('glassformer/labs').Figure} Figure */
/** @typedef {import('glassformer/labs').LabResult} LabResult */

/** The address of a lab's model, beside the page. @param {string} model  `Lab.model` */
export const modelFile = (model) => `weights/${model}`;

export class LabRun {
  /** @type {'idle' | 'loading' | 'running' | 'stopped' | 'done'} */
  phase = $state('idle');
  progress = $state(0); // from 0 to 1
  doing = $state('');
  /** Drawings first, side by side. @type {Figure[]} */
  figures = $state.raw([]);
  /** @type {LabResult | null} */
  result = $state.raw(null);
  alarm = $state('');
  /** Options of the run that is shown. @type {{ change: number, size: 'full' | 'short' }} */
  asked = { change: 0, size: 'full' };
  #ended = new AbortController();
  /** @type {ReturnType<typeof runLab> | null} */
  #reports = null;
  #reading = false;
  #lab;

  /** @param {import('glassformer/labs').Lab} lab */
  constructor(lab) {
    this.#lab = lab;
  }

  get busy() {
    return this.phase === 'loading' || this.phase === 'running';
  }

  /** Begin anew. @param {{ change: number, size: 'full' | 'short' }} asked */
  async start(asked) {
    this.#ended.abort();
    this.asked = asked;
    const { signal } = (this.#ended = new AbortController());
    [this.progress, this.doing, this.figures, this.result, this.alarm] = [0, '', [], null, ''];
    this.phase = 'loading';
    const { name, model: file } = this.#lab;
    try {
      const model = file ? await load(new URL(modelFile(file), document.baseURI), { signal }) : undefined;
      const reports = (this.#reports = runLab(name, { ...asked, model, signal }));
      signal.addEventListener('abort', async () => {
        await reports.return(/** @type {any} */ (undefined)).catch(() => {}); // the reader has heard of it
        model?.dispose();
      });
      await this.#read(signal);
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  /** Stop where it is; a model on its way is given up. */
  stop() {
    if (!this.busy) return;
    if (this.phase === 'loading') this.#ended.abort();
    this.phase = this.phase === 'loading' ? 'idle' : 'stopped';
  }

  /** Go on after `stop`. */
  async resume() {
    this.phase = 'running';
    const { signal } = this.#ended;
    if (!this.#reading) await this.#read(signal).catch((error) => this.#fail(error, signal)); // else it goes on
  }

  /** Read reports until the run is stopped, done or begun anew. @param {AbortSignal} signal */
  async #read(signal) {
    const reports = /** @type {ReturnType<typeof runLab>} */ (this.#reports);
    this.phase = 'running';
    this.#reading = true;
    while (this.phase === 'running') {
      const { done, value } = await reports.next();
      if (signal.aborted) return;
      if (done) {
        [this.result, this.progress, this.phase] = [value, 1, 'done'];
        this.#ended.abort(); // its model is given back
      } else this.#take(value);
    }
    this.#reading = false;
  }

  /** @param {import('glassformer/labs').LabReport} report */
  #take({ progress, doing, figures }) {
    [this.progress, this.doing] = [progress, doing];
    if (!figures.length) return;
    const latest = new Map([...this.figures, ...figures].map((figure) => [figure.id, figure]));
    this.figures = drawingsFirst([...latest.values()]);
  }

  /** @param {unknown} error @param {AbortSignal} signal of the run that failed */
  #fail(error, signal) {
    if (signal.aborted) return; // by the visitor
    this.#ended.abort();
    this.alarm = `${messageOf(error)}.`;
    this.phase = 'idle';
  }
}

/** The page has one of each lab. @type {Map<string, LabRun>} */
const runs = new Map();

/** @param {import('glassformer/labs').Lab} lab */
export function labRunOf(lab) {
  const run = runs.get(lab.name) ?? new LabRun(lab);
  runs.set(lab.name, run);
  return run;
}

/** One lab runs at a time: times are measured. */
export function stopLabs() {
  for (const run of runs.values()) run.stop();
}
