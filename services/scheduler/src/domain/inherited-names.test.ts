import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, outcome } from '../testing/cluster.ts';

/** The name of a label makes no difference: `constructor` is a topology key like `rack`. */
const INHERITED = fc.constantFrom('constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf');

interface Case {
  readonly domains: readonly (string | undefined)[];
  readonly placed: readonly number[];
  readonly kind: 'spread' | 'affinity' | 'anti-affinity' | 'node-selector';
}

const cases: fc.Arbitrary<Case> = fc.record({
  domains: fc.array(fc.constantFrom('x', 'y', undefined), { minLength: 1, maxLength: 5 }),
  placed: fc.array(fc.nat(4), { maxLength: 5 }),
  kind: fc.constantFrom('spread', 'affinity', 'anti-affinity', 'node-selector'),
});

function podWith(kind: Case['kind'], topologyKey: string): Pod {
  const labelSelector = { matchLabels: { app: 'a' } };
  const terms = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }] };
  const constraint = { topologyKey, labelSelector, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' };
  const spec = {
    spread: { topologySpreadConstraints: [constraint] },
    affinity: { affinity: { podAffinity: terms } },
    'anti-affinity': { affinity: { podAntiAffinity: terms } },
    'node-selector': { nodeSelector: { [topologyKey]: 'x' } },
  }[kind];
  return buildPod('new', { labels: { app: 'a' }, spec });
}

function choice({ domains, placed, kind }: Case, key: string): string {
  const nodes = domains.map((domain, i) =>
    buildNode(`n${i}`, domain === undefined ? {} : { labels: { [key]: domain } }),
  );
  const pods = placed
    .filter((at) => at < nodes.length)
    .map((at, i) => buildPod(`p${i}`, { nodeName: `n${at}`, labels: { app: 'a' } }));
  return outcome(clusterOf(nodes, pods), podWith(kind, key));
}

test('a topology key with an inherited name is handled like any other', () => {
  fc.assert(
    fc.property(cases, INHERITED, (each, key) => {
      assert.equal(choice(each, key).replaceAll(key, 'rack'), choice(each, 'rack'));
    }),
    { numRuns: 300 },
  );
});
