import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindsOf, menuKinds, pluralTitle } from './kinds.ts';
import { listHash, objectHash, PODS, pathOf, readRoute } from './routes.ts';
import { ageOf, parse } from './times.ts';
import { drawnLines, partsOf, withoutManagedFields } from './yaml-text.ts';

test('addresses of pages are read as they are written', () => {
  const filter = { namespace: 'shop', labels: 'app=web,tier in (a)', fields: '', words: 'x y' };
  assert.deepEqual(readRoute(listHash(PODS, filter)), { page: 'list', resource: PODS, filter });
  const object = readRoute(objectHash(PODS, '', 'system:node a/b', 'yaml'));
  assert.deepEqual(object, { page: 'object', resource: PODS, namespace: '', name: 'system:node a/b', tab: 'yaml' });
  assert.deepEqual(readRoute('#/nothing/of/that%'), { page: 'overview' });
  assert.equal(
    pathOf({ group: 'apps', version: 'v1', plural: 'deployments' }, 'a', 'b/c'),
    '/apis/apps/v1/namespaces/a/deployments/b%2Fc',
  );
});

test('ages are counted as kubectl counts them', () => {
  const at = (seconds: number) => ageOf('1970-01-01T00:00:00Z', seconds * 1000);
  assert.deepEqual([0, 119, 120, 7_199, 7_200, 172_800, 86_400 * 730].map(at), [
    '0s',
    '119s',
    '2m',
    '119m',
    '2h',
    '2d',
    '2y',
  ]);
  assert.equal(parse('2026-11-23T17:19:42.5Z'), 1_795_454_382_500);
  assert.equal(parse('2024-02-29T00:00:00Z'), 1_709_164_800_000);
  assert.equal(parse('yesterday'), undefined);
});

test('field owners are left out of YAML, and nothing else', () => {
  const yaml = 'metadata:\n  managedFields:\n  - manager: a\n    fields:\n      f:x: {}\n  name: web\nspec: {}\n';
  assert.equal(withoutManagedFields(yaml), 'metadata:\n  name: web\nspec: {}\n');
  const indented = 'metadata:\n  managedFields:\n    - manager: a\n  name: web\n';
  assert.equal(withoutManagedFields(indented), 'metadata:\n  name: web\n');
});

test('a line of YAML has keys, marks and texts, and loses nothing', () => {
  const kinds = (line: string) => partsOf(line).map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds('  - name: web'), ['mark   - ', 'key name', 'mark :', 'text  web']);
  assert.deepEqual(kinds('  image: a:b'), ['mark   ', 'key image', 'mark :', 'text  a:b']);
  for (const line of ['', 'text: "a: b"', '  - http://x', '# note: x', '"a b": c']) {
    assert.equal(
      partsOf(line)
        .map(({ text }) => text)
        .join(''),
      line,
    );
  }
});

test('a long line of YAML that somebody stored is not searched for a key', () => {
  const line = `  ${'- '.repeat(2_000)}x: y`;
  assert.deepEqual(partsOf(line), [{ kind: 'text', text: line }]);
});

test('each kind is listed once, in the version that the server prefers', () => {
  const resource = { resource: 'widgets', responseKind: { kind: 'Widget' }, scope: 'Namespaced', verbs: ['list'] };
  const document = {
    items: [
      {
        metadata: { name: 'x.io' },
        versions: [
          { version: 'v2', resources: [resource] },
          { version: 'v1', resources: [resource] },
        ],
      },
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            resources: [
              { ...resource, resource: 'pods', responseKind: { kind: 'Pod' } },
              { resource: 'bindings', verbs: ['create'] },
            ],
          },
        ],
      },
    ],
  };
  const kinds = kindsOf(document);
  assert.deepEqual(
    kinds.map(({ group, version, plural }) => `${group}/${version}/${plural}`),
    ['x.io/v2/widgets', '/v1/pods'],
  );
  assert.deepEqual(
    menuKinds(kinds).map(({ title }) => title),
    ['Workloads'],
  );
  const titles = ['Pod', 'NetworkPolicy', 'Ingress', 'Endpoints', 'Gateway'].map((kind) =>
    pluralTitle({ group: '', version: 'v1', plural: '', kind, isNamespaced: true, verbs: [] }),
  );
  assert.deepEqual(titles, ['Pods', 'NetworkPolicies', 'Ingresses', 'Endpoints', 'Gateways']);
});

test('of very many lines the first are drawn, and a sentence says how to get the others', () => {
  const lines = Array.from({ length: 100_000 }, (_, line) => line);
  const drawn = drawnLines(lines);
  assert.ok(drawn.lines.length < 10_000);
  assert.equal(drawn.left, '96,000 more lines are not drawn: `kubectl get -o yaml` prints all of them.');
  assert.deepEqual(drawnLines(['a']), { lines: ['a'], left: '' });
});
