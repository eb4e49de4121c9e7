import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureZoneOf } from '@holdfast/api';
import fc from 'fast-check';
import { node } from '../../testing/builders.ts';
import { ZoneCounts, zoneState } from './zones.ts';

const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  zone: fc.constantFrom('x', 'y'),
  isReady: fc.boolean(),
  isGone: fc.boolean(),
});

test('counts kept per node equal those of a walk over all nodes', () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const counts = new ZoneCounts();
      const model = new Map<string, { readonly zone: string; readonly isReady: boolean }>();
      const nodeIn = (name: string, zone: string) => node(name, { labels: { 'topology.kubernetes.io/zone': zone } });
      for (const { name, zone, isReady, isGone } of changes) {
        if (isGone) counts.delete(name);
        else counts.set(nodeIn(name, zone), isReady);
        if (isGone) model.delete(name);
        else model.set(name, { zone, isReady });
        const states = ['x', 'y'].flatMap((each) => {
          const members = [...model.values()].filter((one) => one.zone === each);
          const expected = { nodes: members.length, notReady: members.filter((one) => !one.isReady).length };
          const probe = nodeIn('probe', each);
          const found = counts.of(probe);
          assert.deepEqual(found, members.length === 0 ? undefined : { name: failureZoneOf(probe), ...expected });
          return found === undefined ? [] : [zoneState(found)];
        });
        const isFull = states.length > 0 && states.every((state) => state === 'fully-disrupted');
        assert.equal(counts.isFullDisruption, isFull);
      }
    }),
  );
});
