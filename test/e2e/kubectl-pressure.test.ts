import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

test('a pod that writes past its own limit is evicted, and reports why', async () => {
  const command = ['/bin/sh', '-c', 'head -c 200000 /dev/zero; sleep 3600'];
  const resources = { limits: { 'ephemeral-storage': '10Ki' } };
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'talks', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'busybox', command, resources }] },
  });
  const read = (path: string): Promise<string> => run('get', 'pod', 'talks', '-o', `jsonpath={${path}}`);
  await waitFor('it is evicted', async () => (await read('.status.reason')) === 'Evicted');
  assert.equal(await read('.status.phase'), 'Failed');
  const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 10Ki. ';
  assert.equal(await read('.status.message'), message);
  assert.equal(await read('.status.conditions[?(@.type=="DisruptionTarget")].reason'), '', 'it is its own fault');
  await waitFor('its event', async () =>
    (await run('get', 'events', '--field-selector', 'reason=Evicted')).includes('Pod ephemeral local storage usage'),
  );
});
