import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { Tracer } from '@holdfast/platform';
import { createMemoryStore } from './memory/index.ts';
import { traceWrites } from './traced-store.ts';

const traceparent = (span: number): string => `00-${'a'.repeat(32)}-${String(span).padStart(16, '0')}-01`;

/** A tracer within the span of a request; `next` is the span of work inside. */
function tracerWith(next: (around: number) => number): Tracer {
  let current = 1;
  return {
    span: async (_name, _options, work) => {
      const around = current;
      current = next(around);
      try {
        return await work({ set: () => {} });
      } finally {
        current = around;
      }
    },
    traceparent: () => traceparent(current),
    within: (_traceparent, work) => work(),
  };
}

test('a traced write has its span as its id', async () => {
  let spans = 1;
  const store = traceWrites(
    createMemoryStore(),
    tracerWith(() => ++spans),
  );
  for (const name of ['a', 'b']) await store.write([{ kind: 'create', key: `core/configmaps/x/${name}`, value: '{}' }]);
  assert.deepEqual([await store.writeIdAt(1), await store.writeIdAt(2)], [traceparent(2), traceparent(3)]);
  await store.close();
});

test('two writes are never one, although both have the span of a client and no span of their own', async () => {
  const store = traceWrites(
    createMemoryStore(),
    tracerWith((around) => around),
  );
  for (const name of ['a', 'b']) await store.write([{ kind: 'create', key: `core/configmaps/x/${name}`, value: '{}' }]);
  assert.equal(await store.currentRevision(), 2);
  assert.notEqual(await store.writeIdAt(1), traceparent(1));
  await store.close();
});
