import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { gatewayOf, nextAddress, readNetwork } from './address-pool.ts';

const network = (text: string) => {
  const read = readNetwork(text);
  assert.ok(read !== undefined, text);
  return read;
};

test('networks are read, and those without room for pods are refused', () => {
  assert.equal(gatewayOf(network('10.244.3.0/24')), '10.244.3.1');
  assert.equal(gatewayOf(network('10.244.3.77/24')), '10.244.3.1');
  for (const text of ['10.244.0.0', '10.244.0.0/31', '10.300.0.0/24', 'fd00::/64', '10.0.0.0/4', ''])
    assert.equal(readNetwork(text), undefined, text);
});

test('[POD-27] with any history of pods: an address is unique, in the network, and neither the gateway nor the broadcast address', () => {
  const steps = fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 80 });
  fc.assert(
    fc.property(steps, (commands) => {
      const place = network('192.168.7.8/29');
      const held = new Map<number, string>();
      let last: string | undefined;
      for (const [pod, isNew] of commands) {
        if (!isNew) held.delete(pod);
        else if (!held.has(pod)) {
          const used = new Set(held.values());
          const address = nextAddress(place, (each) => used.has(each), last);
          assert.equal(address === undefined, held.size === 5);
          if (address === undefined) continue;
          assert.match(address, /^192\.168\.7\.1[0-4]$/);
          assert.ok(!used.has(address));
          held.set(pod, address);
          last = address;
        }
      }
    }),
  );
});

test('a freed address rests until all others had their turn', () => {
  const place = network('10.0.0.0/29');
  const given: (string | undefined)[] = [];
  let last: string | undefined;
  for (let i = 0; i < 6; i++) {
    last = nextAddress(place, () => false, last);
    given.push(last);
  }
  assert.deepEqual(given, ['10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.2']);
});
