import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog, type SpanOptions, type Tracer } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { Causes } from './causes.ts';
import { createController } from './controller.ts';
import { CAUSES_MAX } from './limits.ts';
import { createWorkQueue } from './work-queue.ts';

/** A tracer whose current span is set by `within`, and that notes the causes of spans. */
function fakeTracer() {
  let current: string | undefined;
  const passes: (readonly string[])[] = [];
  const tracer: Tracer = {
    span: (_name, { causes = [] }: SpanOptions, work) => {
      passes.push(causes);
      return work({ set: () => {} });
    },
    traceparent: () => current,
    within: (traceparent, work) => {
      const before = current;
      current = traceparent;
      try {
        return work();
      } finally {
        current = before;
      }
    },
  };
  return { tracer, passes };
}

test('a pass knows each span that asked for its key, once; time asks without one', async () => {
  const { tracer, passes } = fakeTracer();
  const clock = createVirtualClock();
  const queue = createWorkQueue({ clock, tracer });
  for (const cause of ['a', 'b', 'a', undefined]) tracer.within(cause, () => queue.add('key'));
  tracer.within('c', () => queue.addAfter('late', 50));
  const log = createSilentLog();
  const controller = createController({
    name: 'x',
    queue,
    workers: 1,
    reconcile: async () => undefined,
    clock,
    log,
    tracer,
  });
  await controller.start();
  await clock.advance(100);
  assert.deepEqual(passes, [['a', 'b'], []]);
  tracer.within('d', () => queue.add('key'));
  await clock.advance(1);
  assert.deepEqual(passes.at(-1), ['d'], 'the earlier ones are forgotten');
  await controller.stop();
});

test('a key has a bounded number of causes', () => {
  const { tracer } = fakeTracer();
  const causes = new Causes(tracer);
  for (let i = 0; i < 100; i++) tracer.within(`cause ${i}`, () => causes.note('key'));
  assert.equal(causes.take('key').length, CAUSES_MAX);
  assert.deepEqual(causes.take('key'), []);
});
