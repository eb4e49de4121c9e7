import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '@holdfast/api';
import { fittingDrivers } from './csi-node.ts';

const ZONE = 'topology.kubernetes.io/zone';

const nodeOf = (labels: Readonly<Record<string, string>>): Node =>
  ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels } }) as unknown as Node;

const driverOf = (name: string, topology: Readonly<Record<string, string>>) => ({
  name,
  node: { nodeId: 'machine-1', maxVolumes: 0, topology },
});

test('a driver does not change a label that the node or another driver has; it is not published', () => {
  const drivers = [driverOf('a', { [ZONE]: 'moon' }), driverOf('b', { rack: '1' }), driverOf('c', { rack: '2' })];
  const { fitting, collisions } = fittingDrivers(nodeOf({ [ZONE]: 'earth' }), drivers);
  assert.deepEqual(
    fitting.map(({ name }) => name),
    ['b'],
  );
  assert.match(
    collisions[0] ?? '',
    /driver a: .*collision: driver reported ".*zone":"moon" but existing label is .*"earth"/,
  );
  assert.match(collisions[1] ?? '', /driver c: .*"rack":"2" .*"rack":"1"/);
  const same = fittingDrivers(nodeOf({ [ZONE]: 'moon' }), drivers.slice(0, 2));
  assert.deepEqual([same.fitting.length, same.collisions], [2, []]);
});
