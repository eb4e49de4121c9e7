import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holds } from './holds.ts';

test('a container is free when the last step that holds it down is over', () => {
  const holds = new Holds();
  const [zone, crash] = [holds.hold(['apiserver-1', 'nats-1']), holds.hold(['apiserver-1'])];
  assert.deepEqual(crash(), []);
  const again = holds.hold(['nats-1']);
  assert.deepEqual(zone(), ['apiserver-1']);
  assert.deepEqual(again(), ['nats-1']);
  assert.deepEqual(holds.hold(['nats-1'])(), ['nats-1']);
});
