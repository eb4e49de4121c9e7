import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { createSqliteStore } from '@holdfast/store/sqlite';
import { readBackupFile } from '../../backup/backup-file.ts';
import { readStartConfig } from '../../config.ts';
import { beginStore } from '../../embedded/open-store.ts';
import { runCommand } from '../run.ts';

const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };
const MAPS = '/api/v1/namespaces/default/configmaps';

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-backup-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(command: string, ...argv: readonly string[]) {
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const code = await runCommand(command, argv, { print: note, tell: note, env: {}, clock: machine.clock });
  return { code, text: lines.join('\n') };
}

const put = (cluster: Cluster, name: string, n: number) =>
  cluster.fetch(`${MAPS}/${name}`, {
    method: 'PUT',
    body: JSON.stringify({ metadata: { name }, data: { n: `${n}` } }),
  });

/** Writes the same number to one object and then to the other, over and over. */
async function writeInOrder(cluster: Cluster, hasEnded: () => boolean): Promise<number> {
  for (let n = 1; ; n++) {
    await put(cluster, 'first', n);
    await put(cluster, 'second', n);
    if (hasEnded()) return n;
  }
}

test('a backup under writes is one moment, and comes back equal in a store on disk and in memory', async (t) => {
  const folder = makeFolder(t);
  const kubeconfig = path.join(folder, 'kubeconfig');
  await using cluster = await startCluster({ https: true });
  writeFileSync(kubeconfig, cluster.kubeconfig);
  for (const name of ['first', 'second']) {
    await cluster.fetch(MAPS, { method: 'POST', body: JSON.stringify({ metadata: { name }, data: { n: '0' } }) });
  }
  const secret = { metadata: { name: 'key' }, stringData: { word: 'hidden' } };
  await cluster.fetch('/api/v1/namespaces/default/secrets', { method: 'POST', body: JSON.stringify(secret) });
  let hasEnded = false;
  const writing = writeInOrder(cluster, () => hasEnded);
  const file = path.join(folder, 'backup');
  for (let i = 0; i < 5; i++) {
    assert.match(
      (await run('backup', file, '--force', '--kubeconfig', kubeconfig)).text,
      /^\d+ objects at revision \d+ in /,
    );
    const { objects, revision } = await readBackupFile(file);
    const n = (name: string): number =>
      Number(JSON.parse(objects.find(({ key }) => key === `core/configmaps/default/${name}`)?.value ?? '').data.n);
    assert.ok([n('second'), n('second') + 1].includes(n('first')), `${n('first')} and then ${n('second')}`);
    assert.ok(objects.every((each) => each.revision <= revision));
  }
  const before = readFileSync(file);
  const again = await run('backup', file, '--kubeconfig', kubeconfig);
  assert.deepEqual(
    [again.code, again.text],
    [2, `holdfast: ${file} exists\n  Name another file, or replace it with --force.`],
  );
  assert.deepEqual(readFileSync(file), before);
  hasEnded = true;
  assert.ok((await writing) > 1);
  assert.equal(statSync(file).mode & 0o777, 0o600);

  const content = await readBackupFile(file);
  assert.match(content.objects.find(({ key }) => key === 'core/secrets/default/key')?.value ?? '', /aGlkZGVu/);
  const dataDir = path.join(folder, 'data');
  const restored = await run('restore', file, '--data-dir', dataDir, '--json');
  assert.equal(restored.code, 0, restored.text);
  const directory = path.join(dataDir, 'store');
  const store = await createSqliteStore({ ...machine, directory });
  const page = await store.list('');
  assert.deepEqual(page.objects, content.objects);
  assert.equal(page.revision, JSON.parse(restored.text).revision);
  const newest = await cluster
    .fetch(`${MAPS}/first`)
    .then((answer) => answer.json() as Promise<{ metadata: { resourceVersion: string } }>);
  assert.ok(page.revision > Number(newest.metadata.resourceVersion), 'above all that the lost history had');
  const [first] = content.objects;
  assert.ok(first !== undefined);
  const update = { kind: 'update', key: first.key, value: first.value, expectedRevision: first.revision } as const;
  assert.equal((await store.write([update])).outcome, 'committed');
  await store.close();
  assert.match((await run('restore', file, '--data-dir', dataDir)).text, /has data, and nothing was restored/);
  const twice = readStartConfig({ argv: ['--data-dir', dataDir, '--from', file], env: {} });
  await assert.rejects(beginStore(twice, { ...machine, directory: dataDir }), {
    message: 'this cluster has begun already, and its store stays as it is',
    nextStep: 'Start it without --from.',
  });

  const second = await run('restore', file, '--data-dir', path.join(folder, 'second'), '--json');
  const leastWrites = 1;
  assert.ok(
    JSON.parse(second.text).revision > page.revision + leastWrites,
    'above what the first restored store wrote',
  );

  const config = readStartConfig({ argv: ['--memory', '--from', file], env: {} });
  const { opening, began } = await beginStore(config, { ...machine, directory: folder });
  assert.match(began?.text ?? '', /^\d+ objects of .*backup, taken \d+s ago$/);
  const inMemory = await opening;
  assert.deepEqual((await inMemory.list('')).objects, content.objects);
  assert.ok((await inMemory.currentRevision()) > content.revision);
});

test('a damaged backup is refused with a sentence, and nothing is restored', async (t) => {
  const folder = makeFolder(t);
  const [kubeconfig, file, dataDir] = ['kubeconfig', 'backup', 'data'].map((name) => path.join(folder, name));
  assert.ok(kubeconfig !== undefined && file !== undefined && dataDir !== undefined);
  await using cluster = await startCluster({ https: true });
  writeFileSync(kubeconfig, cluster.kubeconfig);
  const asAnn = { 'impersonate-user': 'ann', 'impersonate-group': 'system:authenticated' };
  assert.equal((await cluster.fetch('/holdfast.io/backup/v1', { headers: asAnn })).status, 403);
  assert.equal((await run('backup', file, '--kubeconfig', kubeconfig)).code, 0);
  writeFileSync(file, readFileSync(file, 'utf8').replace('default', 'DEFAULT'));
  const damaged = await run('restore', file, '--data-dir', dataDir);
  assert.deepEqual(
    [damaged.code, /damaged one: its hash is wrong\n {2}Use another copy/.test(damaged.text)],
    [2, true],
  );
  assert.deepEqual(readdirSync(folder).sort(), ['backup', 'kubeconfig']);
  assert.match((await run('restore', path.join(folder, 'none'))).text, /cannot be read/);
  assert.match((await run('backup', '--kubeconfig', kubeconfig)).text, /one file has to be named/);
});
