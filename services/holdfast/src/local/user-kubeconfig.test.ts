import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock, OperatorError } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { parse } from 'yaml';
import { mergeContext, removeContext, userKubeconfig } from './user-kubeconfig.ts';

const clock = createSystemClock();
const ENTRY = { name: 'holdfast-dev', cluster: { server: 'https://127.0.0.1:1' }, user: { token: 'secret' } };
const FOREIGN = `# mine
apiVersion: v1
kind: Config
clusters:
- name: work
  cluster: {server: "https://work", insecure-skip-tls-verify: true}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: shop}
current-context: work
users:
- name: me
  user:
    exec: {command: login, args: [a], apiVersion: client.authentication.k8s.io/v1} # by hand
preferences: {colors: true}
extensions:
- name: other-tool
`;

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-kubeconfig-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a context comes and goes, and everything else in the file stays as it was', async (t) => {
  const file = path.join(folderOf(t), 'config');
  writeFileSync(file, FOREIGN);
  chmodSync(file, 0o640);
  await mergeContext(file, ENTRY, { clock, makeCurrent: false });
  const merged = parse(readFileSync(file, 'utf8'));
  assert.equal(merged['current-context'], 'work');
  assert.deepEqual(merged.contexts[1], {
    name: 'holdfast-dev',
    context: { cluster: 'holdfast-dev', user: 'holdfast-dev' },
  });
  assert.deepEqual(merged.clusters[1], { name: 'holdfast-dev', cluster: ENTRY.cluster });
  assert.equal(statSync(file).mode & 0o777, 0o640);

  await mergeContext(file, { ...ENTRY, user: { token: 'new' } }, { clock, makeCurrent: true });
  const again = parse(readFileSync(file, 'utf8'));
  assert.deepEqual(
    [again.users.length, again.users[1].user.token, again['current-context']],
    [2, 'new', 'holdfast-dev'],
  );

  await removeContext(file, 'holdfast-dev', { clock, isMade: true });
  const left = readFileSync(file, 'utf8');
  assert.equal(left, FOREIGN.replace('current-context: work', 'current-context: ""'));
  assert.deepEqual(readdirSync(path.dirname(file)), ['config'], 'no draft and no lock is left');
});

test('a new file is for its owner alone; a link stays a link', async (t) => {
  const folder = folderOf(t);
  const [file, link] = [path.join(folder, 'deep', 'config'), path.join(folder, 'link')];
  await mergeContext(file, ENTRY, { clock, makeCurrent: true });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(parse(readFileSync(file, 'utf8')).kind, 'Config');
  symlinkSync(file, link);
  await removeContext(link, 'holdfast-dev', { clock, isMade: false });
  assert.deepEqual(parse(readFileSync(file, 'utf8')).contexts, []);
  symlinkSync(path.join(folder, 'nowhere'), path.join(folder, 'dangling'));
  await assert.rejects(
    mergeContext(path.join(folder, 'dangling'), ENTRY, { clock, makeCurrent: false }),
    /link to nothing/,
  );
});

test('a file that was made for contexts goes with the last of them, unless somebody wrote something else into it', async (t) => {
  const file = path.join(folderOf(t), 'config');
  const leave = (name = ENTRY.name) => removeContext(file, name, { clock, isMade: true });
  await mergeContext(file, ENTRY, { clock, makeCurrent: true });
  await mergeContext(file, { ...ENTRY, name: 'holdfast-two' }, { clock, makeCurrent: false });
  await leave();
  assert.equal(existsSync(file), true, 'the other cluster is in it');
  await leave('holdfast-two');
  assert.equal(existsSync(file), false);
  for (const theirs of ['preferences: {colors: true}\n', '# mine\n']) {
    await mergeContext(file, ENTRY, { clock, makeCurrent: true });
    writeFileSync(file, readFileSync(file, 'utf8') + theirs);
    await leave();
    assert.match(readFileSync(file, 'utf8'), new RegExp(theirs.trim().slice(0, 6)));
    rmSync(file);
  }
  assert.deepEqual(readdirSync(path.dirname(file)), [], 'no draft and no lock is left');
});

test('a broken file is refused with a sentence and stays as it is', async (t) => {
  const file = path.join(folderOf(t), 'config');
  for (const text of ['a: [', '- a list', 'contexts: none\n', 'a: 1\n---\nb: 2\n']) {
    writeFileSync(file, text);
    await assert.rejects(
      mergeContext(file, ENTRY, { clock, makeCurrent: true }),
      (error) => error instanceof OperatorError && /is broken and stays as it is: /.test(error.message),
    );
    assert.equal(readFileSync(file, 'utf8'), text);
  }
});

test('the lock of kubectl is waited for, then named', async (t) => {
  const file = path.join(folderOf(t), 'config');
  writeFileSync(`${file}.lock`, '');
  const virtual = createVirtualClock();
  const merging = mergeContext(file, ENTRY, { clock: virtual, makeCurrent: false });
  const refused = assert.rejects(merging, /locked by another program/);
  await virtual.advance(10_000);
  await refused;
  const second = mergeContext(file, ENTRY, { clock: virtual, makeCurrent: false });
  rmSync(`${file}.lock`);
  await virtual.advance(100);
  await second;
  assert.equal(parse(readFileSync(file, 'utf8')).contexts.length, 1);
});

test('of several files in KUBECONFIG the first that exists is changed, else the last; without it ~/.kube/config', (t) => {
  const folder = folderOf(t);
  const [first, second] = [path.join(folder, 'a'), path.join(folder, 'b')];
  const KUBECONFIG = [first, second].join(path.delimiter);
  assert.equal(userKubeconfig({ KUBECONFIG }), second);
  writeFileSync(second, '');
  assert.equal(userKubeconfig({ KUBECONFIG }), second);
  writeFileSync(first, '');
  assert.equal(userKubeconfig({ KUBECONFIG }), first);
  assert.equal(userKubeconfig({ HOME: '/home/me' }), '/home/me/.kube/config');
});
