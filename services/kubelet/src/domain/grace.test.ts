import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import fc from 'fast-check';
import { containerGrace, effectivePodGrace, graceAfterHook } from './grace.ts';

const pod = (init: { deletion?: number; spec?: number; liveness?: number; startup?: number }): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...(init.deletion === undefined ? {} : { deletionGracePeriodSeconds: init.deletion }) },
  spec: {
    containers: [
      {
        name: 'main',
        resources: {},
        ...(init.liveness === undefined ? {} : { livenessProbe: { terminationGracePeriodSeconds: init.liveness } }),
        ...(init.startup === undefined ? {} : { startupProbe: { terminationGracePeriodSeconds: init.startup } }),
      },
    ],
    ...(init.spec === undefined ? {} : { terminationGracePeriodSeconds: init.spec }),
  },
  status: {},
});

test('[TERM-33] [TERM-34] [TERM-35] [TERM-36] effective grace of a pod', () => {
  const cases: readonly { tracked: number; pod: Pod; override?: number; expected: number; why: string }[] = [
    { tracked: 0, pod: pod({ deletion: 30, spec: 60 }), expected: 30, why: 'the deletion says it' },
    { tracked: 0, pod: pod({ spec: 60 }), expected: 60, why: 'else the spec' },
    { tracked: 20, pod: pod({ deletion: 30 }), expected: 20, why: 'tracked is shorter' },
    { tracked: 20, pod: pod({ deletion: 5 }), expected: 5, why: 'a later request shortens' },
    { tracked: 0, pod: pod({ spec: 60 }), override: 10, expected: 10, why: 'eviction overrides' },
    { tracked: 0, pod: pod({ deletion: 5, spec: 60 }), override: 10, expected: 5, why: 'but only shortens' },
    { tracked: 0, pod: pod({ spec: 60 }), override: 0, expected: 60, why: 'an override of 0 is not immediate' },
    { tracked: 20, pod: pod({ spec: 60 }), override: 0, expected: 20, why: 'it does not undo what is tracked' },
    { tracked: 0, pod: pod({ deletion: 0, spec: 60 }), expected: 60, why: 'nor is a deletion with 0' },
    { tracked: 0, pod: pod({}), expected: 1, why: 'never below a second' },
  ];
  for (const each of cases)
    assert.equal(effectivePodGrace(each.tracked, each.pod, each.override), each.expected, each.why);
});

test('[SAFE-05] [TERM-43] the tracked grace period never grows, whatever is requested later', () => {
  const seconds = fc.integer({ min: 0, max: 1000 });
  fc.assert(
    fc.property(fc.array(seconds, { minLength: 1 }), seconds, (requests, spec) => {
      let tracked = effectivePodGrace(0, pod({ deletion: requests[0] ?? 0, spec }));
      for (const deletion of requests) {
        const next = effectivePodGrace(tracked, pod({ deletion, spec }));
        assert.ok(next <= tracked && next >= 1);
        tracked = next;
      }
    }),
  );
});

test('[TERM-20] [TERM-21] [TERM-22] [TERM-23] [TERM-24] [TERM-25] [PROBE-17] grace period of one container', () => {
  const liveness = { kind: 'livenessProbe', container: 'main' } as const;
  const startup = { kind: 'startupProbe', container: 'main' } as const;
  assert.equal(containerGrace(pod({ spec: 60 }), { kind: 'pod', graceSeconds: 7 }), 7);
  assert.equal(containerGrace(pod({ spec: 60 }), { kind: 'pod', graceSeconds: 1 }), 2);
  assert.equal(containerGrace(pod({ spec: 60 }), liveness), 60);
  assert.equal(containerGrace(pod({ spec: 60, liveness: 9 }), liveness), 9);
  assert.equal(containerGrace(pod({ spec: 60, startup: 8 }), startup), 8);
  assert.equal(containerGrace(pod({ spec: 60, liveness: 9, deletion: 4 }), liveness), 4);
  assert.equal(containerGrace(pod({}), liveness), 2);
});

test('[TERM-28] [TERM-29] [TERM-32] whole seconds of the hook are subtracted, two are always left', () => {
  assert.equal(graceAfterHook(30, 10_999), 20);
  assert.equal(graceAfterHook(30, 999), 30);
  assert.equal(graceAfterHook(30, 29_500), 2);
  assert.equal(graceAfterHook(30, 45_000), 2);
});
