// posted_errors.test.js - errors and reasons of signals that are posted between threads
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { packError, unpackError } from '../../web/lib/base/failure.js';
import { guarded, publicError } from '../../web/lib/base/errors.js';
import { GlassformerError, create, depth, load, train } from '../../web/lib/api/index.js';
import { config, openModels } from './bad_inputs.js';
import { collect, stories } from './helpers.js';

const models = await openModels();

describe('errors that are posted between threads', () => {
  const sent = (error) => unpackError(structuredClone(packError(error)));
  test('keep name, message, stack, code and the chain of causes', () => {
    const deepest = Object.assign(new RangeError('deepest'), { code: 'ERR_X' }),
      middle = new GlassformerError('network', 'middle', { cause: deepest });
    const got = sent(new TypeError('outer', { cause: middle }));
    assert.ok(
      got instanceof TypeError && got.cause instanceof GlassformerError && got.cause.cause instanceof RangeError,
    );
    assert.deepEqual(
      [got.message, got.cause.code, got.cause.message, got.cause.cause.code],
      ['outer', 'network', 'middle', 'ERR_X'],
    );
    assert.equal(got.cause.cause.stack, deepest.stack);
    assert.deepEqual(Object.keys(got), [], 'nothing of it is shown as a field');
    const abort = sent(new DOMException('stopped', 'AbortError'));
    assert.deepEqual([abort.name, abort.message, abort.code], ['AbortError', 'stopped', 20]);
    const many = sent(new AggregateError([new Error('one'), new Error('two')], 'all'));
    assert.deepEqual(
      many.errors.map((e) => e.message),
      ['one', 'two'],
    );
    const newer = sent(new GlassformerError('a-newer-code', 'x')); // of a worker of another version
    assert.deepEqual([newer.constructor, newer.code], [GlassformerError, 'a-newer-code']);
    const keys = [{ key: 'model_type', choices: ['llama', 'mistral'] }];
    assert.deepEqual(sent(new GlassformerError('bad-config', 'x', { keys })).keys, keys);
  });
  test('with circular causes, very long chains or values that cannot be cloned still arrive', () => {
    const one = new Error('one'),
      two = new Error('two', { cause: one });
    one.cause = two;
    const got = sent(one);
    assert.equal(got.cause.message, 'two');
    assert.equal(got.cause.cause, got);
    let chain = new Error('0');
    for (let i = 1; i < 1000; i++) chain = new Error(String(i), { cause: chain });
    let length = 0;
    for (let e = sent(chain); e instanceof Error; e = e.cause) length++;
    assert.ok(length > 5 && length < 100, `${length}`);
    for (const cause of [
      () => 1,
      Symbol('odd'),
      new WeakMap(),
      { f() {} },
      new Proxy(
        {},
        {
          get() {
            throw new Error('no');
          },
        },
      ),
    ]) {
      const { message, cause: found } = sent(new Error('outer', { cause }));
      assert.deepEqual([message, typeof found], ['outer', 'string']);
    }
    for (const value of [undefined, null, 5, 'text', 10n]) assert.equal(sent(value), value);
    assert.equal(typeof sent(() => 1), 'string');
    assert.equal(sent(Object.assign(new Error('of a caller'), { keys: [() => 1] })).message, 'of a caller');
  });
  test('of other classes become a GlassformerError, with the original as the cause', () => {
    const own = new GlassformerError('network', 'x'),
      reason = { why: 1 },
      aborted = AbortSignal.abort(reason);
    assert.equal(publicError(own), own);
    assert.equal(publicError(reason, aborted), reason);
    for (const [error, code] of [
      [new TypeError('t'), 'internal'],
      [new RangeError('Array buffer allocation failed'), 'out-of-memory'],
      [new RangeError('Maximum call stack size exceeded'), 'internal'],
      [reason, 'internal'],
      [undefined, 'internal'],
      [Object.assign(new Error('Cannot find module x'), { code: 'ERR_MODULE_NOT_FOUND' }), 'not-found'],
      [new TypeError('Failed to fetch dynamically imported module: x'), 'not-found'],
    ]) {
      const out = publicError(error);
      assert.ok(out instanceof GlassformerError);
      assert.equal(out.code, code);
      assert.equal(out.cause, error);
    }
    assert.throws(
      () =>
        guarded(() => {
          throw 5;
        }),
      { code: 'internal' },
    );
  });
  test('the reason of a signal arrives unchanged, of whatever type', async () => {
    for (const reason of [undefined, 5, 'text', { why: 1 }, new Error('enough')]) {
      for (const m of [models.here, models.there]) {
        const signal = AbortSignal.abort(reason);
        for (const call of [
          () => m.plain.forward([1], { signal }),
          () => collect(m.plain.generate([1], { signal })),
          () => m.plain.session({ signal }),
          () => m.plain.trace([1], { signal }),
        ]) {
          const got = await Promise.resolve()
            .then(call)
            .then(
              () => assert.fail('it was not aborted'),
              (e) => e,
            );
          assert.equal(got, signal.reason);
        }
      }
      const signal = AbortSignal.abort(reason);
      for (const call of [
        () => load(stories, { signal }),
        () => create(config, { signal }),
        () => depth({ d_model: 8, n_layers: 1, n_heads: 1 }, { signal }),
        () => collect(train(config, 'text', { signal })),
      ]) {
        assert.equal(
          await Promise.resolve()
            .then(call)
            .then(
              () => assert.fail('it was not aborted'),
              (e) => e,
            ),
          signal.reason,
        );
      }
    }
  });
});
