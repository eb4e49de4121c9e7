import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { CONFIG_MAPS, DEPLOYMENTS } from '@holdfast/api';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

let cluster: Cluster;
let folder = '';

before(async () => {
  cluster = await startCluster({ clock: 'virtual', hollowNodes: 1, https: true });
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-history-'));
  writeFileSync(path.join(folder, 'kubeconfig'), cluster.kubeconfig);
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function history(...argv: readonly string[]) {
  const [out, printed]: [string[], string[]] = [[], []];
  const tell = (line: string): void => void out.push(line);
  const print = (line: string): void => {
    printed.push(line);
    tell(line);
  };
  const env = { KUBECONFIG: path.join(folder, 'kubeconfig') };
  const code = await runCommand('history', argv, { print, tell, env, clock: createSystemClock() });
  return { code, out: out.join('\n'), printed };
}

const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' } } as const;

test('history says who changed what, what they had seen and what was refused; --html draws it', async () => {
  const { client } = cluster.access({ name: 'alice', groups: ['system:masters'] });
  await client.create(CONFIG_MAPS, { ...settings, data: { level: '<low>' } });
  await client.patch(
    CONFIG_MAPS,
    { namespace: 'default', name: 'settings' },
    { type: 'merge', body: { data: { level: 'high' } } },
  );
  await assert.rejects(client.create(CONFIG_MAPS, settings));
  await client.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 1,
      strategy: {},
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'app', resources: {} }] },
      },
    },
    status: {},
  });
  await cluster.settle();
  const told = await history('--since', '1h', '--object', 'cm/default/settings');
  const [head = '', created = '', changed = '', refused = '', ...rest] = told.out.split('\n');
  assert.match(head, /^TIME +REVISION +WHO +DID +OBJECT +HAD SEEN +WHAT$/);
  assert.match(created, /alice \(holdfast-cluster\) +created +configmaps default\/settings/);
  assert.match(
    changed,
    /alice \(holdfast-cluster\) +changed +configmaps default\/settings .* data\.level: "<low>" -> "high"$/,
  );
  assert.match(refused, /alice \(holdfast-cluster\) +was refused .* configmaps "settings" already exists$/);
  assert.deepEqual([told.code, rest], [0, []]);

  const mine = (await history('--since', '1h', '--user', 'alice', '--json')).out
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    mine.map(({ type }) => type),
    ['created', 'updated', 'refused', 'created'],
  );

  const both = await history('--since', '1h', '--user', 'alice', '--json', '--html', path.join(folder, 'both.html'));
  assert.deepEqual(
    both.printed.map((line) => JSON.parse(line).type),
    ['created', 'updated', 'refused', 'created'],
  );
  assert.match(both.out, /4 changes are in .*both\.html/);

  const file = path.join(folder, 'history.html');
  assert.equal((await history('--since', '1h', '--html', file)).code, 0);
  const page = readFileSync(file, 'utf8');
  assert.ok(page.startsWith('<!doctype html>') && !/<script|https?:\/\//.test(page), 'it needs no server');
  assert.match(page, /<tr id="c\d+" class="fault">/);
  assert.match(page, /class="arrow ?"/);
  assert.match(page, /replicaset-controller|kube-controller-manager/);
  assert.ok(page.includes('&lt;low&gt;') && !page.includes('<low>'), 'values are no markup');
});

test('history refuses what it does not understand in one sentence with the next step', async () => {
  for (const [argv, sentence] of [
    [['--object', 'pod/a/b/c'], /"pod\/a\/b\/c" is not an object\n {2}Give it as KIND\/NAMESPACE\/NAME/],
    [['--object', 'nothing/a'], /has no resource "nothing"/],
    [['--object', 'node/default/a'], /nodes have no namespace/],
    [['--since', 'yesterday'], /"yesterday" is not a duration\n {2}Give it as in --since 10m/],
    [['pod/web'], /"pod\/web" is not expected/],
    [['--html', path.join(folder, 'no', 'such', 'page.html')], /cannot be written/],
  ] as const) {
    const { code, out } = await history(...argv);
    assert.match(out, sentence);
    assert.notEqual(code, 0);
  }
  assert.match((await history('--object', 'pods/default/none')).out, /^nothing changed in the last 10m$/);
});

test('the history of a cluster of a test is a value, and a JSON answer of the control endpoint', async () => {
  const changes = await cluster.history({ path: '/api/v1/namespaces/default/configmaps/settings', user: 'alice' });
  assert.deepEqual(
    changes.map(({ type, by }) => [type, by?.user]),
    [
      ['created', 'alice'],
      ['updated', 'alice'],
      ['refused', 'alice'],
    ],
  );
  const from = changes[0]?.revision ?? '';
  assert.equal((await cluster.history({ path: '/api/v1/configmaps', from, user: 'alice' })).length, 2);
  await assert.rejects(cluster.history({ path: 'pods' }), /is not a path of the API/);
  await assert.rejects(cluster.history({ since: 'long ago' }), /the history was refused: since takes a duration/);
});
