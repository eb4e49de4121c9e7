import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { CONFIG_MAPS, NAMESPACES, PERSISTENT_VOLUME_CLAIMS, PODS, type Pod } from '@holdfast/api';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

let cluster: Cluster;
let folder = '';

before(async () => {
  cluster = await startCluster({ clock: 'virtual', hollowNodes: 1, https: true });
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-why-'));
  writeFileSync(path.join(folder, 'kubeconfig'), cluster.kubeconfig);
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function why(
  ...argv: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand('why', argv, {
    print: (line) => void out.push(line),
    tell: (line) => void err.push(line),
    env: { KUBECONFIG: path.join(folder, 'kubeconfig') },
    clock: createSystemClock(),
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

const pod = (name: string, command: string[], requests: Record<string, string> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'app', command, resources: { requests } }] },
  status: {},
});

test('why explains a pending pod, a crash loop, an unbound claim and a stuck namespace of a cluster', async () => {
  const { client } = cluster;
  await client.create(PODS, pod('big', [], { cpu: '1000' }));
  await client.create(PODS, pod('crashes', ['exit-after', '1', '3']));
  await client.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
    status: {},
  });
  await client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'stuck' },
    spec: {},
    status: {},
  });
  const held = { name: 'held', namespace: 'stuck', finalizers: ['example.com/hold'] };
  await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: held });
  await client.delete(NAMESPACES, { name: 'stuck' });
  await cluster.advance('30s');
  const all = await why('pod/big', 'pod/crashes', 'pvc/data', 'ns/stuck');
  assert.equal(all.code, 0, all.err);
  const [big = '', crashes = '', data = '', stuck = ''] = all.out.split('\n');
  assert.match(
    big,
    /^pod default\/big waits: none of the 1 nodes fits: 1 Insufficient cpu\. The wait ends when pods that use cpu end/,
  );
  const untold = await why('pod/big', '--nodes', '--json');
  assert.deepEqual([untold.code, JSON.parse(untold.out).placement], [0, undefined]);
  assert.match(untold.err, /^ {2}this API server does not tell what the scheduler found on each node/);
  assert.match(crashes, /^pod default\/crashes waits: container main ends again and again .* with exit code 3/);
  assert.match(data, /^persistentvolumeclaim default\/data waits: its storage class none does not exist/);
  assert.match(
    stuck,
    /^namespace stuck waits: .*configmaps\. has 1 resource instances.*example\.com\/hold in 1 resource/,
  );
  const document = JSON.parse((await why('pod/big', '--json')).out);
  assert.deepEqual(Object.keys(document), ['subject', 'waitsFor', 'endsWhen', 'since']);
});

test('why answers with one sentence for a kind without waits, and fails for an absent object', async () => {
  const plain = await why('cm/kube-root-ca.crt');
  assert.match(plain.out, /^configmap default\/kube-root-ca\.crt waits for nothing: it exists, and no explanation/);
  for (const name of ['nobody', 'db-1']) {
    const { code, out, err } = await why(`pod/${name}`);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^holdfast: there is no pod default\/\S+, and nothing is going to make it\n/);
  }
  assert.match((await why('pods')).err, /no object was named/);
});
