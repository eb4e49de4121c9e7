import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { CONFIG_MAPS, SECRETS, SERVICES } from '@holdfast/api';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

const SCHEMA = { openAPIV3Schema: { type: 'object' } };
const DEFINITION = {
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: SCHEMA }],
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1/' } },
    },
  },
};

const readJson = async (cluster: Cluster, url: string) => JSON.parse(await (await cluster.fetch(url)).text());

test('a snapshot of a running cluster starts test clusters, without secrets unless they are asked for', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-snapshot-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await using running = await startCluster({ https: true });
  writeFileSync(kubeconfig, running.kubeconfig);
  const body = (object: object) => ({ method: 'POST', body: JSON.stringify(object) });
  const names = Array.from({ length: 501 }, (_, i) => `map-${i}`);
  for (const name of names) {
    await running.fetch('/api/v1/namespaces/default/configmaps', body({ metadata: { name } }));
  }
  const calls = { url: 'https://127.0.0.1:1/' };
  const webhook = { name: 'a.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], clientConfig: calls };
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  await running.fetch(hooks, body({ metadata: { name: 'calls' }, webhooks: [webhook] }));
  await running.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body(DEFINITION));
  await running.fetch('/api/v1/namespaces/default/secrets', body({ metadata: { name: 'key' } }));
  const spec = { ports: [{ port: 80 }] };
  await running.fetch('/api/v1/namespaces/default/services', body({ metadata: { name: 'web' }, spec }));

  const told: string[] = [];
  const note = (line: string): void => void told.push(line);
  const terminal = { print: note, tell: note, env: {}, clock: createSystemClock() };
  const take = (file: string, ...more: readonly string[]) =>
    runCommand('snapshot', ['--kubeconfig', kubeconfig, file, ...more], terminal);
  const [plain, whole] = [path.join(folder, 'plain.json'), path.join(folder, 'whole.json')];
  assert.deepEqual([await take(plain), await take(whole, '--secrets')], [0, 0]);
  assert.match(
    told.join('\n'),
    /^\d+ objects in .*plain.json\nWebhook configurations are left out.*\nSecrets are left out/,
  );
  assert.equal(statSync(whole).mode & 0o777, 0o600);

  const at = (name: string) => ({ namespace: 'default', name });
  await using first = await startCluster({ from: plain, clock: 'virtual' });
  assert.deepEqual(
    (await first.client.get(CONFIG_MAPS, at('map-500'))).metadata.uid,
    (await running.client.get(CONFIG_MAPS, at('map-500'))).metadata.uid,
  );
  assert.deepEqual((await readJson(first, hooks)).items, [], 'the copy calls nobody');
  const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com';
  assert.deepEqual((await readJson(first, definition)).spec.conversion, { strategy: 'None' });
  assert.equal(await first.client.find(SECRETS, at('key')), undefined);
  const web = await first.client.get(SERVICES, at('web'));
  await first.fetch('/api/v1/namespaces/default/services', body({ metadata: { name: 'more' }, spec }));
  assert.notEqual((await first.client.get(SERVICES, at('more'))).spec.clusterIP, web.spec.clusterIP);
  await first.fetch('/api/v1/namespaces', body({ metadata: { name: 'goes' } }));
  await first.fetch('/api/v1/namespaces/goes', { method: 'DELETE' });
  await first.settle();
  assert.equal((await first.fetch('/api/v1/namespaces/goes')).status, 404, 'the controllers work');
  await using second = await startCluster({ from: whole });
  assert.equal((await second.client.get(SECRETS, at('key'))).metadata.name, 'key');

  assert.equal(await runCommand('snapshot', ['--kubeconfig', kubeconfig], terminal), 2);
  assert.match(told.at(-1) ?? '', /no file is named\n.*snapshot state\.json/);
  assert.equal(await runCommand('snapshot', ['--kubeconfig', kubeconfig, 'a', '--out', 'b'], terminal), 2);
  assert.match(told.at(-1) ?? '', /writes one file/);
  assert.equal(await take(path.join(folder, 'no', 'file')), 2);
});
