// lab_run.svelte.js - a run of a lab and what is shown of it. It lasts longer than the component: a visitor who looks at
// another view or lab finds it as it was. Not reading its reports stops it.
import { load } from 'glassformer';
import { runLab } from 'glassformer/labs';
import { messageOf } from '../../state/error_message.js';
import { modelFile } from './lab_files.js';

/** @typedef {import('glassformer/labs').Figure} Figure */
/** @typedef {import('glassformer/labs').LabReport} LabReport */
/** @typedef {import('glassformer/labs').LabResult} LabResult */
/** @typedef {Pick<import('glassformer/labs').LabOptions, 'seed' | 'size' | 'change'>} Asked */

export class LabRun {
  /** @type {'idle' | 'loading' | 'running' | 'stopped' | 'done'} */
  phase = $state('idle');
  progress = $state(0); // from 0 to 1
  doing = $state('');
  /** @type {Figure[]} */
  figures = $state.raw([]);
  /** @type {LabResult | null} */
  result = $state.raw(null);
  alarm = $state('');
  /** @type {Map<string, Figure>} by id */
  #latest = new Map();
  /** @type {LabReport | null} of the reports that are not shown yet */
  #report = null;
  #planned = false;
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

  /** Begin anew. @param {Asked} asked */
  async start(asked) {
    if (this.busy) return;
    this.#ended.abort();
    const { signal } = (this.#ended = new AbortController());
    this.#clear();
    this.phase = 'loading';
    const { name, model: file } = this.#lab;
    try {
      const model = file ? await load(new URL(modelFile(file), document.baseURI), { signal }) : undefined;
      signal.throwIfAborted();
      const reports = (this.#reports = runLab(name, { ...asked, model, signal }));
      signal.addEventListener('abort', async () => {
        await reports.return(/** @type {any} */ (undefined)).catch(() => {}); // the reader has heard of it
        model?.dispose();
      });
    } catch (error) {
      return this.#fail(error, signal);
    }
    await this.#read(signal);
  }

  /** Stop where it is; a model on its way is given up. */
  stop() {
    if (!this.busy) return;
    if (this.phase === 'loading') this.#ended.abort();
    this.phase = this.phase === 'loading' ? 'idle' : 'stopped';
  }

  /** Go on after `stop`. */
  async resume() {
    if (this.phase !== 'stopped') return;
    this.phase = 'running';
    if (!this.#reading) await this.#read(this.#ended.signal); // else the report on its way is read after all
  }

  /** Read reports until the run is stopped, done or begun anew. @param {AbortSignal} signal */
  async #read(signal) {
    const reports = /** @type {ReturnType<typeof runLab>} */ (this.#reports);
    this.phase = 'running';
    this.#reading = true;
    try {
      while (this.phase === 'running') {
        const { done, value } = await reports.next();
        if (signal.aborted) return;
        if (done) this.#finish(value);
        else this.#take(value);
      }
      this.#reading = false;
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  /** @param {unknown} error @param {AbortSignal} signal of the run that failed */
  #fail(error, signal) {
    if (signal.aborted) return; // by the visitor
    this.#ended.abort();
    this.alarm = `${messageOf(error)}.`;
    this.phase = 'idle';
  }

  #clear() {
    [this.progress, this.doing, this.figures, this.result, this.alarm] = [0, '', [], null, ''];
    this.#latest.clear();
    this.#report = null;
    this.#reading = false;
  }

  /** Show a report in the next frame, with those that come until then. @param {LabReport} report */
  #take(report) {
    for (const figure of report.figures) this.#latest.set(figure.id, figure);
    this.#report = report;
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => {
      this.#planned = false;
      this.#show();
    });
  }

  #show() {
    if (!this.#report) return;
    ({ progress: this.progress, doing: this.doing } = this.#report);
    const texts = (/** @type {Figure} */ { kind }) => Number(kind === 'texts');
    this.figures = [...this.#latest.values()].sort((a, b) => texts(a) - texts(b)); // drawings side by side
    this.#report = null;
  }

  /** @param {LabResult} result */
  #finish(result) {
    this.#show();
    this.result = result;
    this.progress = 1;
    this.phase = 'done';
    this.#ended.abort(); // its model is given back
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

/** One lab runs at a time: its times are measured. @param {LabRun} run */
export function stopOthers(run) {
  for (const other of runs.values()) if (other !== run) other.stop();
}
