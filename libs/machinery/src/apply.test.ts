import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Applied, applyServerSide } from './apply.ts';
import { deepFreeze } from './deep.ts';
import type { Json, JsonObject } from './json.ts';
import { MAX_CONFLICTS_TOLD } from './limits.ts';
import { managedFieldsOf, trackUpdate } from './managed-fields/track.ts';
import { StatusError } from './status.ts';
import { configMap, deployment, pod } from './testing-schemas.ts';

const T1 = '2024-01-01T00:00:01Z';
const T2 = '2024-01-01T00:00:02Z';

interface Request {
  readonly live?: JsonObject | undefined;
  readonly config: JsonObject;
  readonly manager?: string;
  readonly force?: boolean;
  readonly time?: string;
}

const deploymentConfig = (spec?: JsonObject, metadata: JsonObject = {}): JsonObject =>
  deepFreeze({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', ...metadata },
    ...(spec === undefined ? {} : { spec }),
  });

const apply = ({ live, config, manager = 'alice', force = false, time = T1 }: Request): JsonObject =>
  applyServerSide({ live, config, manager, force, time, schema: deployment(), apiVersion: 'apps/v1' }).object;

const template = (...containers: JsonObject[]): JsonObject => ({ spec: { containers } });

const at = (value: Json | undefined, ...path: (string | number)[]): Json | undefined => {
  let found: Json | undefined = value;
  for (const step of path)
    found =
      typeof found === 'object' && found !== null
        ? Object.entries(found).find(([key]) => key === String(step))?.[1]
        : undefined;
  return found;
};

const fieldsOf = (object: JsonObject, manager: string): Json | undefined => {
  const entries = managedFieldsOf(object);
  return at(
    Array.isArray(entries) ? entries.find((entry: Json) => at(entry, 'manager') === manager) : undefined,
    'fieldsV1',
  );
};

const statusOf = (run: () => unknown): StatusError => {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
};

const full = deploymentConfig(
  {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: template({ name: 'web', image: 'nginx', ports: [{ containerPort: 80 }] }),
  },
  { labels: { app: 'web' } },
);

test('an apply owns exactly the fields of its configuration; keys are completed with their defaults', () => {
  const applied = apply({ config: full });
  assert.deepEqual(managedFieldsOf(applied), [
    {
      manager: 'alice',
      operation: 'Apply',
      apiVersion: 'apps/v1',
      time: T1,
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { 'f:app': {} } },
        'f:spec': {
          'f:replicas': {},
          'f:selector': {},
          'f:template': {
            'f:spec': {
              'f:containers': {
                'k:{"name":"web"}': {
                  '.': {},
                  'f:image': {},
                  'f:name': {},
                  'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
                },
              },
            },
          },
        },
      },
    },
  ]);
});

test('one conflict is reported in one line', () => {
  const live = apply({ config: full });
  const refused = statusOf(() => apply({ live, config: deploymentConfig({ replicas: 5 }), manager: 'bob' }));
  assert.deepEqual(refused.body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Apply failed with 1 conflict: conflict with "alice": .spec.replicas',
    reason: 'Conflict',
    details: {
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.spec.replicas' }],
    },
    code: 409,
  });
});

test('several conflicts are reported by manager; updaters with their version', () => {
  const first = apply({ config: full });
  const live = trackUpdate({
    live: first,
    updated: { ...first, spec: { ...(at(first, 'spec') as JsonObject), replicas: 9 } },
    schema: deployment(),
    manager: 'kubectl-scale',
    apiVersion: 'apps/v1',
    subresource: 'scale',
    time: T2,
  });
  const config = deploymentConfig(
    { replicas: 5, template: template({ name: 'web', image: 'other' }) },
    { labels: { app: 'no' } },
  );
  const { message, details } = statusOf(() => apply({ live, config, manager: 'bob' })).body;
  assert.equal(
    message,
    'Apply failed with 3 conflicts: conflicts with "alice":\n- .metadata.labels.app\n- .spec.template.spec.containers[name="web"].image\n' +
      'conflicts with "kubectl-scale" with subresource "scale" using apps/v1:\n- .spec.replicas',
  );
  assert.equal(details?.causes?.length, 3);
});

test('a report of thousands of conflicts names some of them and their number', () => {
  const annotations = (value: string) =>
    Object.fromEntries(Array.from({ length: MAX_CONFLICTS_TOLD + 5 }, (_, index) => [`a${index}`, value]));
  const of = (value: string) => ({ ...full, metadata: { name: 'web', annotations: annotations(value) } });
  const live = apply({ config: of('a') });
  const { message = '', details } = statusOf(() => apply({ live, config: of('b'), manager: 'bob' })).body;
  assert.match(message, /^Apply failed with 2005 conflicts: [^]*\nand 5 more$/);
  assert.equal(details?.causes?.length, MAX_CONFLICTS_TOLD);
});

test('force takes the fields over, a field with an equal value is shared', () => {
  const live = apply({ config: full });
  const forced = apply({
    live,
    config: deploymentConfig({ replicas: 5, selector: { matchLabels: { app: 'web' } } }),
    manager: 'bob',
    force: true,
    time: T2,
  });
  assert.equal(at(forced, 'spec', 'replicas'), 5);
  assert.deepEqual(fieldsOf(forced, 'bob'), { 'f:spec': { 'f:replicas': {}, 'f:selector': {} } });
  assert.equal(at(fieldsOf(forced, 'alice'), 'f:spec', 'f:replicas'), undefined);
  assert.deepEqual(at(fieldsOf(forced, 'alice'), 'f:spec', 'f:selector'), {});
});

test('a field that an applier drops is removed unless another manager owns it', () => {
  const live = apply({ config: full });
  const shared = apply({
    live,
    config: deploymentConfig({ selector: { matchLabels: { app: 'web' } } }),
    manager: 'bob',
  });
  const released = apply({ live: shared, config: deploymentConfig(), time: T2 });
  assert.equal(fieldsOf(released, 'alice'), undefined);
  assert.equal(at(released, 'spec', 'replicas'), undefined);
  assert.equal(at(released, 'metadata', 'labels'), undefined);
  assert.deepEqual(at(released, 'spec', 'selector'), { matchLabels: { app: 'web' } });
});

test('an item is removed with all its content when its last owner drops it', () => {
  const live = apply({ config: full });
  const added = apply({
    live,
    config: deploymentConfig({ template: template({ name: 'side', image: 'x' }) }),
    manager: 'carol',
  });
  assert.deepEqual(at(added, 'spec', 'template', 'spec', 'containers', 1), { name: 'side', image: 'x' });
  const moved = apply({
    live: added,
    config: deploymentConfig({ template: template({ name: 'web', env: [{ name: 'A', value: '1' }] }) }),
    manager: 'carol',
  });
  assert.deepEqual(at(moved, 'spec', 'template', 'spec', 'containers'), [
    { name: 'web', image: 'nginx', ports: [{ containerPort: 80 }], env: [{ name: 'A', value: '1' }] },
  ]);
  assert.deepEqual(at(fieldsOf(moved, 'carol'), 'f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"web"}'), {
    '.': {},
    'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
    'f:name': {},
  });
});

test('a list has the order of the configuration, and items of others keep their place', () => {
  const names = (object: JsonObject): unknown => {
    const containers = at(object, 'spec', 'template', 'spec', 'containers');
    return Array.isArray(containers) ? containers.map((c: Json) => at(c, 'name')) : undefined;
  };
  const list = (...all: string[]): JsonObject =>
    deploymentConfig({ template: template(...all.map((name) => ({ name }))) });
  const live = apply({ config: list('a', 'b', 'c') });
  assert.deepEqual(names(apply({ live, config: list('c', 'a'), manager: 'bob' })), ['b', 'c', 'a']);
  assert.deepEqual(names(apply({ live, config: list('x', 'b', 'y'), manager: 'bob' })), ['a', 'x', 'b', 'c', 'y']);
});

test('a second apply that changes nothing keeps its time, a new owner gets one', () => {
  const live = apply({ config: full });
  const request = {
    live,
    config: full,
    manager: 'alice',
    force: false,
    time: T2,
    schema: deployment(),
    apiVersion: 'apps/v1',
  };
  const again: Applied = applyServerSide(request);
  assert.equal(again.changed, false);
  assert.deepEqual(again.object, live);
  const other = applyServerSide({ ...request, manager: 'bob' });
  assert.equal(other.changed, false);
  assert.deepEqual(fieldsOf(other.object, 'bob'), fieldsOf(other.object, 'alice'));
  assert.equal(JSON.stringify(managedFieldsOf(other.object)).includes(T2), true);
});

test('an applier has the same identity in every version', () => {
  const live = apply({ config: full });
  const older = JSON.parse(
    JSON.stringify(live).replace('"apiVersion":"apps/v1","time"', '"apiVersion":"apps/v1beta1","time"'),
  );
  const applied = apply({ live: older, config: full });
  assert.deepEqual(managedFieldsOf(applied), managedFieldsOf(live));
});

test('a map that lost its last key is removed, even when it has an owner', () => {
  const live = trackUpdate({
    live: undefined,
    updated: deploymentConfig(undefined, { labels: { app: '1' } }),
    schema: deployment(),
    manager: 'creator',
    apiVersion: 'apps/v1',
    time: T1,
  });
  const taken = apply({ live, config: deploymentConfig(undefined, { labels: { app: '2' } }), force: true });
  assert.deepEqual(fieldsOf(taken, 'creator'), { 'f:metadata': { 'f:labels': {} } });
  const released = apply({ live: taken, config: deploymentConfig() });
  assert.equal(JSON.stringify(at(released, 'metadata')).includes('labels":null'), false);
  assert.equal(at(released, 'metadata', 'labels'), undefined);
});

test('the first apply to an untracked object gives the rest to before-first-apply', () => {
  const live: JsonObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', uid: 'u' },
    spec: { replicas: 1, paused: true },
  };
  const refused = statusOf(() => apply({ live, config: deploymentConfig({ replicas: 2 }) }));
  assert.equal(
    refused.message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
  );
  const forced = apply({ live, config: deploymentConfig({ replicas: 2 }), force: true });
  assert.deepEqual(fieldsOf(forced, 'before-first-apply'), { 'f:spec': { 'f:paused': {} } });
});

test('kubectl takes over the fields of its client-side apply', () => {
  const lastApplied = JSON.stringify(deploymentConfig({ replicas: 1 }));
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': lastApplied };
  const live = trackUpdate({
    live: undefined,
    updated: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', annotations },
      spec: { replicas: 1, paused: true },
    },
    schema: deployment(),
    manager: 'kubectl-client-side-apply',
    apiVersion: 'apps/v1',
    time: T1,
  });
  assert.equal(statusOf(() => apply({ live, config: deploymentConfig({ replicas: 2 }) })).code, 409);
  const applied = apply({ live, config: deploymentConfig({ replicas: 2 }), manager: 'kubectl' });
  assert.equal(at(applied, 'spec', 'replicas'), 2);
  const annotation = at(applied, 'metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration');
  assert.equal(at(JSON.parse(typeof annotation === 'string' ? annotation : ''), 'spec', 'replicas'), 2);
  const config = deploymentConfig({ replicas: 2 });
  const again = {
    live: applied,
    config,
    manager: 'kubectl',
    force: false,
    time: T2,
    schema: deployment(),
    apiVersion: 'apps/v1',
  };
  assert.equal(applyServerSide(again).changed, false);
  const refused = statusOf(() =>
    apply({ live, config: deploymentConfig({ replicas: 2, paused: false }), manager: 'kubectl' }),
  );
  assert.equal(
    refused.message,
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.paused',
  );
});

test('a configuration that does not match its schema is refused with the messages of Kubernetes', () => {
  const messageOf = (config: JsonObject): string => statusOf(() => apply({ config })).message;
  const prefix = 'failed to create typed patch object (/web; apps/v1, Kind=Deployment): ';
  assert.equal(messageOf({ ...full, bogus: 1, bogus2: 1 }), `${prefix}.bogus: field not declared in schema`);
  assert.equal(
    messageOf(deploymentConfig({ replicas: 'two' })),
    `${prefix}.spec.replicas: expected numeric (int or float), got string`,
  );
  assert.equal(
    messageOf(deploymentConfig({ template: template({ name: 'a' }, { name: 'a' }) })),
    `${prefix}.spec.template.spec.containers: duplicate entries for key [name="a"]`,
  );
  assert.equal(
    messageOf(deploymentConfig({ template: template({ image: 'a' }) })),
    `${prefix}.spec.template.spec.containers: element 0: associative list with keys has an element that omits key field "name" (and doesn't have default value)`,
  );
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: true } };
  const refused = statusOf(() =>
    applyServerSide({
      live: undefined,
      config,
      schema: configMap(),
      manager: 'a',
      apiVersion: 'v1',
      force: false,
      time: T1,
    }),
  );
  assert.equal(
    refused.message,
    'failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata.name: expected string, got &value.valueUnstructured{Value:true}',
  );
  assert.deepEqual([refused.code, refused.reason], [500, undefined]);
  assert.equal(messageOf(deploymentConfig(undefined, { managedFields: [] })), 'metadata.managedFields must be nil');
  assert.equal(
    statusOf(() => apply({ config: { ...full, apiVersion: 'apps/v2' } })).message,
    'Incorrect version specified in apply patch. Specified patch version: apps/v2, expected: apps/v1',
  );
});

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor');
const text = fc.constantFrom('1', '2', '3');
// Empty maps and lists are not stored but count as applied. This test does not cover that.
const named = <T>(more: fc.Arbitrary<T>): fc.Arbitrary<(T & { name: string })[]> =>
  fc.uniqueArray(
    fc.tuple(name, more).map(([n, rest]) => ({ name: n, ...rest })),
    { selector: (item) => item.name, minLength: 1, maxLength: 3 },
  );
const containers = named(
  fc.record(
    {
      image: text,
      args: fc.array(text, { minLength: 1, maxLength: 2 }),
      env: named(fc.record({ value: text }, { requiredKeys: [] })),
    },
    { requiredKeys: [] },
  ),
);

const labels = fc.array(fc.tuple(name, text), { minLength: 1, maxLength: 3 }).map((pairs) => Object.fromEntries(pairs));
const podConfig: fc.Arbitrary<JsonObject> = fc
  .record(
    { labels, finalizers: fc.uniqueArray(text, { minLength: 1 }), nodeSelector: labels, nodeName: text, containers },
    { requiredKeys: [] },
  )
  .map(({ labels: l, finalizers, ...spec }) => {
    const metadata = {
      name: 'p',
      ...(l === undefined ? {} : { labels: l }),
      ...(finalizers === undefined ? {} : { finalizers }),
    };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, ...(Object.keys(spec).length === 0 ? {} : { spec }) };
    const json: JsonObject = JSON.parse(JSON.stringify(pod));
    return deepFreeze(json);
  });

const applyPod = (live: JsonObject | undefined, config: JsonObject, manager: string): Applied =>
  applyServerSide({ live: deepFreeze(live), config, manager, schema: pod(), apiVersion: 'v1', force: true, time: T1 });

test('apply is idempotent', () => {
  fc.assert(
    fc.property(podConfig, podConfig, podConfig, (first, second, third) => {
      const one = applyPod(undefined, first, 'one').object;
      const two = applyPod(one, second, 'two').object;
      const three = applyPod(two, third, 'one').object;
      const again = applyPod(three, third, 'one');
      assert.deepEqual(again.object, three);
      assert.equal(again.changed, false);
    }),
  );
});

test('a field without an owner is never removed while its parent has an owner', () => {
  const keeper: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', labels: { kept: 'x' } },
    spec: { schedulerName: 'kept' },
  };
  const orphansOf = (object: JsonObject): unknown[] => [
    at(object, 'metadata', 'labels', 'orphan'),
    at(object, 'metadata', 'annotations', 'orphan'),
    at(object, 'spec', 'dnsPolicy'),
  ];
  const objectAt = (value: JsonObject, ...path: string[]): JsonObject => (at(value, ...path) ?? {}) as JsonObject;
  fc.assert(
    fc.property(podConfig, podConfig, (first, second) => {
      const owned = applyPod(applyPod(undefined, keeper, 'keeper').object, first, 'one').object;
      const labelsOf = objectAt(owned, 'metadata', 'labels');
      const live: JsonObject = {
        ...owned,
        metadata: {
          ...objectAt(owned, 'metadata'),
          labels: { ...labelsOf, orphan: 'x' },
          annotations: { orphan: 'x' },
        },
        spec: { ...objectAt(owned, 'spec'), dnsPolicy: 'Default' },
      };
      assert.deepEqual(orphansOf(applyPod(live, second, 'one').object), ['x', 'x', 'Default']);
    }),
  );
});

test('a struct is removed with its defaulted fields when its last owner drops it', () => {
  const strategy = { type: 'RollingUpdate' };
  const live = apply({ config: deploymentConfig({ paused: true, strategy }) });
  const defaulted = { ...live, spec: { paused: true, strategy: { ...strategy, rollingUpdate: { maxSurge: '25%' } } } };
  const released = apply({ live: defaulted, config: deploymentConfig({ paused: true }) });
  assert.deepEqual(at(released, 'spec'), { paused: true });
});

test('two appliers of disjoint fields never conflict, and neither removes fields of the other', () => {
  const oneSays = fc.record({ a: text, b: text }, { requiredKeys: [] });
  const twoSays = fc.record({ c: text, d: text }, { requiredKeys: [] });
  const config = (data: object): JsonObject => {
    const metadata = { name: 'x' };
    return JSON.parse(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        ...(Object.keys(data).length === 0 ? {} : { data }),
      }),
    );
  };
  const step = fc.oneof(
    oneSays.map((data) => ['one', data] as const),
    twoSays.map((data) => ['two', data] as const),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      let live: JsonObject | undefined;
      const wanted = new Map<string, object>();
      for (const [manager, data] of steps) {
        live = applyServerSide({
          live,
          config: config(data),
          manager,
          schema: configMap(),
          apiVersion: 'v1',
          force: false,
          time: T1,
        }).object;
        wanted.set(manager, data);
        assert.deepEqual(at(live, 'data') ?? {}, Object.assign({}, ...wanted.values()));
      }
    }),
  );
});

test('after a forced apply the object has the applied values', () => {
  const covers = (object: Json | undefined, config: Json): void => {
    if (Array.isArray(config) || typeof config !== 'object' || config === null) return assert.deepEqual(object, config);
    for (const [key, value] of Object.entries(config)) {
      if (key === 'containers' || key === 'env' || key === 'finalizers') continue;
      covers(at(object, key), value);
    }
  };
  fc.assert(
    fc.property(podConfig, podConfig, (first, second) => {
      const live = applyPod(undefined, first, 'one').object;
      const applied = applyPod(live, second, 'two').object;
      covers(applied, second);
      for (const container of (at(second, 'spec', 'containers') ?? []) as readonly JsonObject[]) {
        const found = ((at(applied, 'spec', 'containers') ?? []) as readonly JsonObject[]).find(
          (c) => c['name'] === container['name'],
        );
        covers(found, container);
      }
      assert.equal('polluted' in {}, false);
    }),
  );
});
