import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineLinkName, overlap } from './machine-routes.ts';

const NETWORKS = ['10.244.0.0/16', '10.96.0.0/12'];
const OWN = machineLinkName('/var/lib/one/network');

test('the default route and routes of the own link leave room for the networks of a cluster', () => {
  assert.equal(overlap(NETWORKS, ['', ''], OWN), '');
  const byDefault = 'default via 192.0.2.1 dev eth0 proto dhcp\n';
  assert.equal(
    overlap(NETWORKS, [byDefault, `10.96.0.0/12 via 169.254.244.5 dev ${OWN} src 169.254.244.6\n`], OWN),
    '',
  );
});

test('a network inside, around or equal to one of the cluster is named', () => {
  for (const route of [
    '10.244.3.0/24 dev cni0 scope link',
    '10.0.0.0/8 via 192.0.2.1 dev tun0',
    'unreachable 10.244.0.0/16',
  ])
    assert.equal(
      overlap(NETWORKS, [`default via 192.0.2.1 dev eth0\n${route}\n`, ''], OWN),
      `this machine has another route for 10.244.0.0/16: ${route}`,
    );
  const other = `10.96.0.0/12 via 169.254.244.5 dev ${machineLinkName('/var/lib/two/network')}`;
  assert.match(overlap(NETWORKS, ['', other], OWN), /^this machine has another route for 10\.96\.0\.0\/12/);
});

test('the name of a link is short enough for the kernel, and each directory has its own', () => {
  assert.ok(OWN.length <= 15);
  assert.notEqual(OWN, machineLinkName('/var/lib/two/network'));
});

test('routes between the nodes of the cluster are no obstacle', () => {
  assert.equal(overlap(['10.244.1.0/24'], ['unreachable 10.244.0.0/16 proto 212\n'], 'hf-1'), '');
  assert.match(overlap(['10.244.1.0/24'], ['unreachable 10.244.0.0/16 proto 21\n'], 'hf-1'), /another route/);
});
