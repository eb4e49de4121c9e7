import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readProxyConfig } from './config.ts';

const read = (...argv: readonly string[]) => readProxyConfig({ argv, env: {} });

test('ports and options have the defaults of kube-proxy', () => {
  const config = read('--node-name=a');
  assert.deepEqual(config?.healthz, { host: '0.0.0.0', port: 10_256 });
  assert.equal(config.metricsAddress, '127.0.0.1:10249');
  assert.deepEqual(config.options, {
    clusterCidrs: [],
    masqueradeAll: false,
    nodePortAddresses: [],
    networkPolicies: true,
  });
});

test('addresses can be left out, and a mistake is refused', () => {
  const none = read('--node-name=a', '--healthz-bind-address=none', '--metrics-bind-address=none');
  assert.deepEqual([none?.healthz, none?.metricsAddress], [undefined, undefined]);
  assert.deepEqual(read('--node-name=a', '--healthz-bind-address=[::1]:1')?.healthz, { host: '::1', port: 1 });
  for (const wrong of ['--healthz-bind-address=here', '--cluster-cidr=10.0.0.300/8', '--nodeport-addresses=primary'])
    assert.throws(() => read('--node-name=a', wrong), OperatorError, wrong);
});

test('a proxy needs its node, except to remove the rules', () => {
  assert.throws(() => read(), OperatorError);
  assert.equal(read('--cleanup')?.isCleanup, true);
  assert.equal(read('--help'), undefined);
});
