import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../generated/types.ts';
import { saysTheSame } from './same-spec.ts';

const token = (name: string): NonNullable<PodSpec['volumes']>[number] => ({
  name,
  projected: { sources: [], defaultMode: 420 },
});

const specWith = (name: string, more: Partial<PodSpec> = {}): PodSpec => ({
  containers: [{ name: 'c', image: 'i', resources: {}, volumeMounts: [{ name, mountPath: '/t', readOnly: true }] }],
  volumes: [token(name)],
  ...more,
});

const known = specWith('kube-api-access-aaaaa');

test('a spec is unchanged when only the name of its token volume differs', () => {
  assert.equal(saysTheSame({ spec: specWith('kube-api-access-aaaaa') }, known), true);
  assert.equal(saysTheSame({ spec: specWith('kube-api-access-bbbbb') }, known), true);
  assert.equal(saysTheSame({ spec: specWith('kube-api-access-bbbbb') }, undefined), false);
});

test('a spec is changed when any field differs, is added or is removed', () => {
  const name = 'kube-api-access-bbbbb';
  const others: readonly PodSpec[] = [
    specWith(name, { nodeName: 'n' }),
    specWith(name, { containers: [] }),
    specWith(name, { volumes: [] }),
    specWith(name, { containers: known.containers }),
    { ...specWith(name), volumes: [token(name), token(name)] },
    { ...specWith(name), volumes: [token('other')] },
  ];
  for (const other of others) assert.equal(saysTheSame({ spec: other }, known), false, JSON.stringify(other));
  assert.equal(saysTheSame({ spec: specWith(name) }, specWith('kube-api-access-aaaaa', { hostname: 'h' })), false);
});

test('a user volume with the name of the token volume is detected', () => {
  const name = 'kube-api-access-bbbbb';
  const taken = specWith(name, { volumes: [{ name, emptyDir: {} }, token(name)] });
  const free = specWith('kube-api-access-aaaaa', { volumes: [{ name, emptyDir: {} }, token('kube-api-access-aaaaa')] });
  assert.equal(saysTheSame({ spec: taken }, free), false);
  assert.equal(saysTheSame({ spec: free }, free), true);
});

test('claims of ephemeral volumes have the name of the pod, so their state is unknown', () => {
  const spec = specWith('kube-api-access-aaaaa', { volumes: [{ name: 'scratch', ephemeral: {} }] });
  assert.equal(saysTheSame({ spec: spec }, spec), false);
});
