import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portHints } from './port-hints.ts';

const metadata = { name: 'web', namespace: 'shop', uid: 'u' };

test('ports of pods and services come with the command that brings them here', () => {
  const containers = [{ ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }] }, {}];
  assert.deepEqual(portHints({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } }), [
    'kubectl port-forward -n shop pod/web 8080:80',
  ]);
  const spec = { ports: [{ port: 9000 }, { port: 9000, protocol: 'TCP' }] };
  assert.deepEqual(portHints({ apiVersion: 'v1', kind: 'Service', metadata, spec }), [
    'kubectl port-forward -n shop service/web 9000:9000',
  ]);
  assert.deepEqual(portHints({ apiVersion: 'v1', kind: 'Node', metadata, spec }), []);
  assert.deepEqual(portHints({ apiVersion: 'v1', kind: 'Service', metadata }), []);
});
