import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Cp } from '@kubernetes/client-node';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import { createKubectl, STREAM_PROTOCOLS, tryKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);
const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-cp-'));
const at = (...names: readonly string[]): string => path.join(folder, ...names);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'store', namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: 'busybox',
          command: ['sleep', '1000'],
          workingDir: '/data',
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  });
  await run('wait', '--for=condition=Ready', 'pod/store', '--timeout=60s');
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

for (const { name, environment } of STREAM_PROTOCOLS) {
  test(`${name}: cp copies files and folders into a pod and back unchanged`, async () => {
    const large = Buffer.from(Uint8Array.from({ length: 3 * 1024 * 1024 }, (_, i) => Math.imul(i, 0x9e37_79b1) >>> 24));
    mkdirSync(at(name, 'deep', 'er'), { recursive: true });
    writeFileSync(at(name, 'large'), large);
    writeFileSync(at(name, 'deep', 'er', 'small'), 'small\n');
    const cp = async (from: string, to: string): Promise<void> => {
      const result = await tryKubectl(cluster.ready.kubeconfig, ['cp', from, to], '', environment);
      assert.equal(result.code, 0, result.stderr);
    };
    await cp(at(name), `store:/data/${name}`);
    assert.equal(await run('exec', 'store', '--', 'cat', `/data/${name}/deep/er/small`), 'small\n');
    await cp(`store:/data/${name}`, at(`${name}-back`));
    assert.deepEqual(readFileSync(at(`${name}-back`, 'large')), large);
    assert.equal(readFileSync(at(`${name}-back`, 'deep', 'er', 'small'), 'utf8'), 'small\n');
  });
}

test('the official JavaScript client copies files both ways', async (t) => {
  // It leaves a file of each copy.
  const mark = `tmp-${process.pid}-`;
  t.after(() => {
    for (const name of readdirSync(tmpdir())) if (name.startsWith(mark)) rmSync(path.join(tmpdir(), name));
  });
  const cp = new Cp(loadKubeConfig(cluster.ready.kubeconfig));
  mkdirSync(at('js-back'), { recursive: true });
  writeFileSync(at('note'), 'by the client\n');
  // It keeps the whole path and has no completion event.
  await cp.cpToPod('default', 'store', 'main', at('note'), '/data');
  const there = `/data${at('note')}`;
  await waitFor(
    'the file is in the pod',
    async () => (await attempt('exec', 'store', '--', 'cat', there)).stdout === 'by the client\n',
  );
  await run('exec', 'store', '--', 'cp', there, '/data/note');
  await cp.cpFromPod('default', 'store', 'main', 'note', at('js-back'));
  const back = at('js-back', 'note');
  await waitFor('the file is back', () => existsSync(back) && readFileSync(back, 'utf8') === 'by the client\n');
});
