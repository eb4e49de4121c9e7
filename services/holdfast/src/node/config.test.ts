import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readNodeConfig } from './config.ts';

const read = (...argv: readonly string[]) =>
  readNodeConfig({ argv: ['--state-dir=/var/lib/holdfast', ...argv], env: {} });

test('a node knows the settings of a kubelet and those of the network of its pods', () => {
  const config = read('--node-name=N1', '--cluster-cidr=10.9.0.0/16', '--healthz-bind-address=none');
  assert.equal(config?.kubelet.nodeName, 'n1');
  assert.deepEqual(
    [config?.podNetwork, config?.clusterNetwork, config?.healthz, config?.proxyTokenFile],
    ['auto', '10.9.0.0/16', undefined, undefined],
  );
  assert.deepEqual(read()?.healthz, { host: '0.0.0.0', port: 10_256 });
  assert.equal(read('--help'), undefined);
});

test('a network of pods that is none is refused', () => {
  for (const text of ['10.244.0.0', 'fd00::/56', 'x'])
    assert.throws(
      () => read(`--cluster-cidr=${text}`),
      (error) => error instanceof OperatorError && /--cluster-cidr/.test(error.message),
    );
});
