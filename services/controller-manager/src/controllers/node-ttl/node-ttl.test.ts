import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES } from '@holdfast/api';
import { conflict } from '@holdfast/machinery';
import fc from 'fast-check';
import { REFUSED_WRITE_RECHECK_MS } from '../../limits.ts';
import { node } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { decide, TTL_ANNOTATION } from './decide.ts';
import { nodeTtlController } from './index.ts';

const adviceFor = (nodes: number, current?: string): string | undefined => {
  const plain = node('a');
  const annotations = current === undefined ? {} : { [TTL_ANNOTATION]: current };
  return decide({ ...plain, metadata: { ...plain.metadata, annotations } }, nodes)?.metadata.annotations?.[
    TTL_ANNOTATION
  ];
};

test('the TTL grows with the cluster and does not flap at a boundary', () => {
  const sizes = [1, 100, 101, 500, 501, 1_000, 2_000, 10_000, 10_001];
  assert.deepEqual(
    sizes.map((size) => adviceFor(size)),
    ['0', '0', '15', '15', '30', '30', '60', '300', '600'],
  );
  assert.deepEqual([adviceFor(95, '15'), adviceFor(89, '15'), adviceFor(5, 'nonsense')], [undefined, '0', '0']);
});

test('with any cluster size: an unchanged value is not written again', () => {
  fc.assert(fc.property(fc.nat(20_000), (size) => assert.equal(adviceFor(size, adviceFor(size)), undefined)));
});

test('every node is updated once, and heartbeats cause no write', async () => {
  const world = createWorld();
  world.api.put(NODES, node('a'));
  const controller = new DrivenController(world, nodeTtlController);
  await controller.settle();
  const told = world.api.get(NODES, { name: 'a' });
  assert.equal(told.metadata.annotations?.[TTL_ANNOTATION], '0');
  world.api.put(NODES, { ...told, status: node('a', { ready: 'False' }).status });
  world.clock.skip(3_600_000);
  await controller.settle();
  assert.equal(world.api.writes.length, 1);
  assert.deepEqual(controller.errors, []);
});

test('a node that changes between the read and the write is advised after that change, not at the next check', async () => {
  const world = createWorld();
  world.api.put(NODES, node('a'));
  const controller = new DrivenController(world, nodeTtlController);
  const cache = world.api.cache(NODES);
  cache.freeze();
  world.api.put(NODES, node('a', { ready: 'False' }));
  await controller.settle();
  assert.equal(world.api.get(NODES, { name: 'a' }).metadata.annotations?.[TTL_ANNOTATION], undefined);
  cache.thaw();
  await controller.settle();
  assert.equal(world.api.get(NODES, { name: 'a' }).metadata.annotations?.[TTL_ANNOTATION], '0');
});

test('an advice that is refused as a conflict without a change, as by a webhook, is stored soon after', async () => {
  const world = createWorld();
  world.api.put(NODES, node('a'));
  let refusals = 0;
  world.api.beforeWrite = () => {
    if (refusals++ === 0) throw conflict({ group: '', resource: 'nodes', name: 'a' }, 'refused');
  };
  const controller = new DrivenController(world, nodeTtlController);
  await controller.settle();
  world.clock.skip(REFUSED_WRITE_RECHECK_MS);
  await controller.settle();
  assert.equal(world.api.get(NODES, { name: 'a' }).metadata.annotations?.[TTL_ANNOTATION], '0');
});
