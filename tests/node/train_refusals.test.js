// train_refusals.test.js - train() refuses wrong options, texts, vocabularies and checkpoints
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, train } from '../../web/lib/api/index.js';
import { classic, refusedRun, small, steps, text, tiny } from './small_runs.js';

describe('refusals', () => {
  test('of data', async () => {
    await refusedRun(tiny, '', {}, 'bad-argument', /no text to learn from/);
    await refusedRun(tiny, ' \n<|endoftext|>\n ', {}, 'bad-argument', /no text to learn from/);
    await refusedRun(tiny, 7, {}, 'bad-argument', /data is 7, expected a text/);
    await refusedRun({ ...classic, kind: 'encoder_decoder' }, text, {}, 'bad-argument', /pair 1 has no tab/);
    await refusedRun(
      { ...classic, kind: 'encoder_decoder' },
      'a\tb\n\tb\n',
      {},
      'bad-argument',
      /pair 2 has no source before its tab/,
    );
    await refusedRun(
      { ...classic, kind: 'encoder_decoder' },
      'a\tb\na\t\n',
      {},
      'bad-argument',
      /pair 2 has no target behind its tab/,
    );
    await refusedRun(tiny, text, { validation: '' }, 'bad-argument', /no text/);
    await refusedRun(tiny, text, { validation: 1.5 }, 'bad-option', /a share between 0 and 1/);
  });

  test('of configurations', async () => {
    await refusedRun({ ...tiny, d_model: 33 }, text, {}, 'bad-config', /d_model 33 is not divisible by n_heads 2/);
    await refusedRun({ ...tiny, d_modle: 32 }, text, {}, 'bad-config', /there is no field "d_modle"/);
    await refusedRun({ ...tiny, kind: 'encoder' }, text, {}, 'unsupported', /without mlm_head/);
    await refusedRun({ n_layers: 2 }, text, {}, 'bad-config', /d_model is missing/);
    await refusedRun(null, text, {}, 'bad-argument', /expected a configuration/);
  });

  test('of options', async () => {
    await refusedRun(
      tiny,
      text,
      { vocabSize: 100 },
      'bad-option',
      /vocabSize is 100, expected a whole number from 257/,
    );
    await refusedRun(
      tiny,
      text,
      { batchTokens: 32 },
      'bad-option',
      /batchTokens is 32, less than one sequence of the context, 64/,
    );
    await refusedRun(tiny, text, { step: 3 }, 'bad-option', /train has no option "step"/);
    await refusedRun(tiny, text, { dropout: 1 }, 'bad-option', /dropout is 1/);
    await refusedRun(tiny, text, { muon: 'yes' }, 'bad-option', /muon is "yes"/);
    await refusedRun(tiny, text, { microTokens: 0 }, 'bad-option', /microTokens is 0, expected a whole number from 1/);
    await refusedRun(tiny, text, { teacher: {} }, 'bad-option', /teacher is .*, expected a loaded model/);
    await refusedRun(tiny, text, { teacherShare: 0.5 }, 'bad-option', /teacherShare is given without a teacher/);
    const teacher = await create({ ...tiny, vocab_size: 40, context_length: 8 });
    const examples = { examples: [[1, 2, 3]] };
    await refusedRun(tiny, text, { teacher, vocabSize: 300 }, 'bad-option', /those of the teacher/);
    await refusedRun(tiny, text, { teacher, teacherShare: 2 }, 'bad-option', /teacherShare is 2/);
    await refusedRun(tiny, text, { teacher }, 'no-tokenizer', /the teacher has no tokenizer/);
    await refusedRun(
      { ...tiny, vocab_size: 50 },
      examples,
      { teacher },
      'bad-config',
      /a teacher of 40 tokens and a context of 8 does not fit a model of 50 and/,
    );
    teacher.dispose();
    const run = train(tiny, text, { ...small, steps: 3 });
    await run.next();
    await assert.rejects(run.files({ dtype: 'q4_1' }), { code: 'bad-option' });
    assert.equal((await run.next()).value.step, 2); // and the run is unchanged
    await run.dispose();
  });

  test('of checkpoints that do not fit', async () => {
    const run = train(tiny, text, { ...small, steps: 5 });
    await steps(run);
    const checkpoint = await run.checkpoint();
    await run.dispose();
    await refusedRun({ ...tiny, d_ff: 96 }, text, { ...small, checkpoint }, 'bad-config', /another configuration/);
    await refusedRun(tiny, text, { ...small, checkpoint, seed: 2 }, 'bad-config', /another seed/);
    await refusedRun(tiny, 'short', { ...small, checkpoint }, 'bad-config', /other data/);
    await refusedRun(tiny, `${text} `, { ...small, checkpoint }, 'bad-config', /other data/);
    await refusedRun(
      tiny,
      text,
      { ...small, checkpoint: checkpoint.slice(0, 1000) },
      'bad-file',
      /not written by this package/,
    );
    await refusedRun(
      tiny,
      text,
      { ...small, checkpoint: new Uint8Array(3) },
      'bad-file',
      /not written by this package/,
    );
    await refusedRun(tiny, text, { ...small, checkpoint: 'x' }, 'bad-option', /expected bytes from run.checkpoint/);
    const broken = checkpoint.slice();
    broken[broken.length - 7] = 0; // within the vocabulary
    await refusedRun(tiny, text, { ...small, checkpoint: broken }, 'bad-file', /not written by this package/);
    const cut = new Uint8Array([...checkpoint.slice(0, 5000), ...checkpoint.slice(9000)]);
    await refusedRun(tiny, text, { ...small, checkpoint: cut }, 'truncated', /has \d+ bytes, expected \d+/);
  });

  test('of a run whose loss becomes NaN: the error has the code not-finite', async () => {
    const run = train(tiny, text, { ...small, steps: 100, lr: 1, muon: false, clip: 0, warmup: 0, weightDecay: 10 });
    await assert.rejects(steps(run), { code: 'not-finite' });
    await run.dispose();
  });
});
