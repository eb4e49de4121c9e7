import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, attemptSend, edit } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const deployment = (name: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'busybox', command: ['sleep', '60'] }] },
    },
  },
});
const read = (what: string, name: string, jsonPath: string): Promise<string> =>
  run('get', what, name, '-o', `jsonpath=${jsonPath}`);

test('a strategic merge patch adds a container by its name and keeps the others', async () => {
  await send(['create'], deployment('strategic'));
  const sidecar = { spec: { template: { spec: { containers: [{ name: 'side', image: 'side:1' }] } } } };
  assert.equal(
    await run('patch', 'deploy', 'strategic', '-p', JSON.stringify(sidecar)),
    'deployment.apps/strategic patched\n',
  );
  const names = '{.spec.template.spec.containers[*].name}';
  assert.deepEqual((await read('deploy', 'strategic', names)).split(' ').toSorted(), ['main', 'side']);
  const removal = { spec: { template: { spec: { containers: [{ name: 'side', $patch: 'delete' }] } } } };
  await run('patch', 'deploy', 'strategic', '-p', JSON.stringify(removal));
  assert.equal(await read('deploy', 'strategic', names), 'main');
});

test('a merge patch replaces lists and removes null fields', async () => {
  await send(['create'], deployment('merged'));
  await run('annotate', 'deploy', 'merged', 'note=old');
  const patch = {
    metadata: { annotations: { note: null } },
    spec: { template: { spec: { containers: [{ name: 'only', image: 'other:1' }] } } },
  };
  await run('patch', 'deploy', 'merged', '--type=merge', '-p', JSON.stringify(patch));
  assert.equal(await read('deploy', 'merged', '{.spec.template.spec.containers[*].name}'), 'only');
  assert.equal(await read('deploy', 'merged', '{.metadata.annotations.note}'), '');
});

test('a JSON patch is atomic, and a patch without effect says so', async () => {
  await run('create', 'configmap', 'listed', '--from-literal=a=1');
  const patch = (...operations: readonly object[]): ReturnType<typeof attempt> =>
    attempt('patch', 'cm', 'listed', '--type=json', '-p', JSON.stringify(operations));
  const added = await patch({ op: 'test', path: '/data/a', value: '1' }, { op: 'add', path: '/data/b', value: '2' });
  assert.equal(added.stdout, 'configmap/listed patched\n');
  const failed = await patch({ op: 'remove', path: '/data/a' }, { op: 'test', path: '/data/b', value: 'no' });
  assert.equal(failed.code, 1);
  assert.equal(await read('cm', 'listed', '{.data}'), '{"a":"1","b":"2"}');
  assert.equal(
    await run('patch', 'cm', 'listed', '-p', '{"data":{"a":"1"}}'),
    'configmap/listed patched (no change)\n',
  );
});

test('a patch of the scale subresource scales, and one of the status subresource leaves the spec unchanged', async () => {
  await send(['create'], deployment('parts'));
  assert.match(
    await run('patch', 'deploy', 'parts', '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":1}}'),
    /parts patched\n$/,
  );
  assert.equal(await read('deploy', 'parts', '{.spec.replicas}'), '1');
  await run('patch', 'deploy', 'parts', '--subresource=status', '--type=merge', '-p', '{"spec":{"replicas":9}}');
  assert.equal(await read('deploy', 'parts', '{.spec.replicas}'), '1');
  await run('delete', 'deploy', 'parts');
});

test('label and annotate add, refuse to overwrite, overwrite, and remove', async () => {
  await run('create', 'configmap', 'marked');
  assert.equal(await run('label', 'cm', 'marked', 'tier=front'), 'configmap/marked labeled\n');
  const refused = await attempt('label', 'cm', 'marked', 'tier=back');
  assert.equal(refused.stderr, "error: 'tier' already has a value (front), and --overwrite is false\n");
  assert.equal(await run('label', 'cm', 'marked', 'tier=back', '--overwrite'), 'configmap/marked labeled\n');
  assert.equal(await run('get', 'cm', '-l', 'tier in (back)', '-o', 'name'), 'configmap/marked\n');
  assert.equal(await run('label', 'cm', 'marked', 'tier-'), 'configmap/marked unlabeled\n');
  assert.equal(await run('annotate', 'cm', 'marked', 'why=because'), 'configmap/marked annotated\n');
  assert.equal(await run('annotate', 'cm', 'marked', 'why-'), 'configmap/marked annotated\n');
  const invalid = await attempt('label', 'cm', 'marked', 'tier=a/b');
  assert.match(invalid.stderr, /invalid label value|must be/);
});

test('replace writes the whole object, and is refused after a concurrent change', async () => {
  await run('create', 'configmap', 'replaced', '--from-literal=a=1');
  const seen = JSON.parse(await run('get', 'cm', 'replaced', '-o', 'json')) as object;
  assert.equal(await send(['replace'], { ...seen, data: { a: '2' } }), 'configmap/replaced replaced\n');
  const late = await attemptSend(['replace'], { ...seen, data: { a: '3' } });
  assert.equal(late.code, 1);
  assert.match(
    late.stderr,
    /^Error from server \(Conflict\): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "replaced": the object has been modified; please apply your changes to the latest version and try again\n$/,
  );
  assert.equal(await read('cm', 'replaced', '{.data.a}'), '2');
});

test('replace --force deletes and creates: the object has another uid', async () => {
  await run('create', 'configmap', 'forced', '--from-literal=a=1');
  const uid = await read('cm', 'forced', '{.metadata.uid}');
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'forced' }, data: { a: '2' } };
  assert.equal(await send(['replace', '--force'], manifest), 'configmap "forced" deleted\nconfigmap/forced replaced\n');
  assert.notEqual(await read('cm', 'forced', '{.metadata.uid}'), uid);
});

test('edit saves the changes of the editor', async () => {
  await run('create', 'configmap', 'edited', '--from-literal=a=before');
  const edited = await edit('sed -i s/before/after/', 'cm', 'edited');
  assert.deepEqual(edited, { code: 0, stdout: 'configmap/edited edited\n', stderr: '' });
  assert.equal(await read('cm', 'edited', '{.data.a}'), 'after');
});

test('a change of an immutable field is refused with the field and the reason', async () => {
  await send(['create'], deployment('fixed'));
  const selector = '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}';
  const refused = await attempt('patch', 'deploy', 'fixed', '--type=merge', '-p', selector);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The Deployment "fixed" is invalid: /);
  assert.match(refused.stderr, /spec.selector: Invalid value: .*: field is immutable/);
});
