import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import '@holdfast/platform/bigint-json';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, attemptSend } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const configMap = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

for (const validate of ['true', 'false']) {
  test(`apply --validate=${validate} prints created, unchanged and configured`, async () => {
    const name = `applied-${validate}`;
    const apply = (data: Record<string, string>): Promise<string> =>
      send(['apply', `--validate=${validate}`], configMap(name, data));
    assert.equal(await apply({ a: '1' }), `configmap/${name} created\n`);
    assert.equal(await apply({ a: '1' }), `configmap/${name} unchanged\n`);
    assert.equal(await apply({ b: '2' }), `configmap/${name} configured\n`);
    assert.equal(await run('get', 'cm', name, '-o', 'jsonpath={.data}'), '{"b":"2"}');
  });
}

test('apply removes fields that the manifest no longer has and keeps fields of others', async () => {
  await send(['apply'], configMap('shared', { mine: '1', old: '1' }));
  await run('patch', 'cm', 'shared', '--type=merge', '-p', '{"data":{"theirs":"1"}}');
  await send(['apply'], configMap('shared', { mine: '2' }));
  assert.equal(await run('get', 'cm', 'shared', '-o', 'jsonpath={.data}'), '{"mine":"2","theirs":"1"}');
});

test('apply refuses an unknown field, warns on request, and drops it without validation', async () => {
  const misspelt = { ...configMap('misspelt', {}), dataa: { a: '1' } };
  const refused = await attemptSend(['apply'], misspelt);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /strict decoding error: unknown field "dataa"/);
  const warned = await attemptSend(['apply', '--validate=warn'], misspelt);
  assert.equal(warned.code, 0);
  assert.match(warned.stderr, /Warning: unknown field "dataa"/);
  const silent = await attemptSend(['apply', '--validate=false'], misspelt);
  assert.equal(silent.stderr, '');
  assert.equal(await run('get', 'cm', 'misspelt', '-o', 'jsonpath={.dataa}'), '');
});

test('apply --server-side names the conflict and its manager, and --force-conflicts takes the field over', async () => {
  const apply = (manager: string, value: string, ...flags: string[]): ReturnType<typeof attemptSend> =>
    attemptSend(
      ['apply', '--server-side', `--field-manager=${manager}`, ...flags],
      configMap('owned', { color: value }),
    );
  assert.equal((await apply('alice', 'red')).stdout, 'configmap/owned serverside-applied\n');
  const conflict = await apply('bob', 'blue');
  assert.equal(conflict.code, 1);
  assert.match(conflict.stderr, /^error: Apply failed with 1 conflict: conflict with "alice": \.data\.color\n/);
  assert.match(conflict.stderr, /re-run the apply\n {2}command with the `--force-conflicts` flag/);
  assert.equal((await apply('bob', 'blue', '--force-conflicts')).stdout, 'configmap/owned serverside-applied\n');
  const managers = 'jsonpath={range .metadata.managedFields[*]}{.manager}={.operation} {end}';
  assert.equal(await run('get', 'cm', 'owned', '--show-managed-fields', '-o', managers), 'bob=Apply ');
});

test('a client-side applied object moves to --server-side without a conflict', async () => {
  await send(['apply'], configMap('moved', { a: '1' }));
  assert.equal(
    await send(['apply', '--server-side'], configMap('moved', { a: '2' })),
    'configmap/moved serverside-applied\n',
  );
  assert.equal(await run('get', 'cm', 'moved', '-o', 'jsonpath={.data.a}'), '2');
});

test('diff prints nothing and exits with 0 without differences, otherwise prints them and exits with 1', async () => {
  await send(['apply'], configMap('compared', { a: '1' }));
  assert.deepEqual(await attemptSend(['diff'], configMap('compared', { a: '1' })), { code: 0, stdout: '', stderr: '' });
  const different = await attemptSend(['diff'], configMap('compared', { a: '2' }));
  assert.equal(different.code, 1);
  assert.match(different.stdout, /^- {2}a: "1"\n\+ {2}a: "2"$/m);
  const absent = await attemptSend(['diff'], configMap('not-there', { a: '2' }));
  assert.equal(absent.code, 1);
  assert.match(absent.stdout, /^\+ {2}name: not-there$/m);
});

test('dry runs of the client and the server change nothing', async () => {
  const manifest = configMap('dry', { a: '1' });
  assert.equal(await send(['apply', '--dry-run=client'], manifest), 'configmap/dry created (dry run)\n');
  assert.equal(await send(['apply', '--dry-run=server'], manifest), 'configmap/dry created (server dry run)\n');
  assert.equal((await attempt('get', 'cm', 'dry')).code, 1);
});

test('create refuses an existing object, and create --save-config can be applied later', async () => {
  const manifest = configMap('fresh', { a: '1' });
  assert.equal(await send(['create', '--save-config'], manifest), 'configmap/fresh created\n');
  const again = await attemptSend(['create'], manifest);
  assert.equal(
    again.stderr,
    'Error from server (AlreadyExists): error when creating "STDIN": configmaps "fresh" already exists\n',
  );
  const applied = await attemptSend(['apply'], configMap('fresh', { a: '2' }));
  assert.deepEqual(applied, { code: 0, stdout: 'configmap/fresh configured\n', stderr: '' });
});

test('apply of an object created without apply warns once and continues', async () => {
  await send(['create'], configMap('raw', { a: '1' }));
  const applied = await attemptSend(['apply'], configMap('raw', { a: '2' }));
  assert.match(
    applied.stderr,
    /^Warning: resource configmaps\/raw is missing the kubectl.kubernetes.io\/last-applied-configuration/,
  );
  assert.equal(applied.stdout, 'configmap/raw configured\n');
  assert.equal((await attemptSend(['apply'], configMap('raw', { a: '3' }))).stderr, '');
});

test('apply --prune removes objects that left the set', async () => {
  const member = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', labels: { set: 'pruned' } },
  });
  const flags = ['apply', '--prune', '-l', 'set=pruned', '--prune-allowlist=core/v1/ConfigMap'];
  await send(flags, member('stays'), member('leaves'));
  assert.equal(await send(flags, member('stays')), 'configmap/stays unchanged\nconfigmap/leaves pruned\n');
});

test('apply -k builds a kustomization folder, and delete -k removes its objects', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-kustomize-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(configMap('settings', { a: '1' })));
  const kustomization = {
    namePrefix: 'green-',
    labels: [{ pairs: { from: 'kustomize' } }],
    resources: ['settings.json'],
    configMapGenerator: [{ name: 'made', namespace: 'default', literals: ['b=2'] }],
  };
  writeFileSync(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  const applied = (await run('apply', '-k', folder))
    .replace(/made-[a-z0-9]{10}/, 'made-HASH')
    .trim()
    .split('\n');
  assert.deepEqual(applied.toSorted(), ['configmap/green-made-HASH created', 'configmap/green-settings created']);
  assert.equal((await run('get', 'cm', '-l', 'from=kustomize', '-o', 'name')).split('\n').length, 3);
  await run('delete', '-k', folder);
  assert.equal(await run('get', 'cm', '-l', 'from=kustomize', '-o', 'name'), '');
});

const LEDGERS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'ledgers.bank.example.com' },
  spec: {
    group: 'bank.example.com',
    scope: 'Namespaced',
    names: { plural: 'ledgers', singular: 'ledger', kind: 'Ledger', listKind: 'LedgerList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', additionalProperties: { type: 'integer', format: 'int64' } },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
        additionalPrinterColumns: [{ name: 'Odd', type: 'integer', jsonPath: '.spec.odd' }],
      },
    ],
  },
};

const ledger = (spec: object, name = 'large'): object => ({
  apiVersion: 'bank.example.com/v1',
  kind: 'Ledger',
  metadata: { name, namespace: 'default' },
  spec,
});

test('integers of 64 bits in a custom resource are exact', async () => {
  await send(['create'], LEDGERS);
  await run('wait', '--for=condition=Established', 'crd/ledgers.bank.example.com');
  const spec = { odd: 9_007_199_254_740_993n, largest: 2n ** 63n - 1n, smallest: -(2n ** 63n), five: 5 };
  const shown = (): Promise<string> =>
    run('get', 'ledger', 'large', '-o', 'jsonpath={.spec.odd} {.spec.largest} {.spec.smallest} {.spec.five}');
  await send(['create'], ledger(spec));
  assert.equal(await shown(), '9007199254740993 9223372036854775807 -9223372036854775808 5');
  assert.match(await run('get', 'ledger', 'large'), /large +9007199254740993\n/);
  await run('patch', 'ledger', 'large', '--type=merge', '-p', '{"spec":{"odd":9007199254740995}}');
  assert.equal(await shown(), '9007199254740995 9223372036854775807 -9223372036854775808 5');
  await send(['apply', '--server-side', '--force-conflicts'], ledger({ ...spec, five: 9_007_199_254_740_997n }));
  assert.equal(await shown(), '9007199254740993 9223372036854775807 -9223372036854775808 9007199254740997');
});

test('wait ends when a condition or a field of a custom resource has its value', async () => {
  await send(['create'], ledger({ five: 4 }, 'waited'));
  const wait = (what: string): Promise<string> => run('wait', `--for=${what}`, 'ledger/waited', '--timeout=60s');
  const waits = [wait('condition=Balanced'), wait('jsonpath={.spec.five}=5')];
  const conditions = [{ type: 'Balanced', status: 'True' }];
  await run(
    'patch',
    'ledger',
    'waited',
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { five: 5 }, status: { conditions } }),
  );
  for (const waited of waits) assert.match(await waited, /^ledger\.bank\.example\.com\/waited condition met/);
});
