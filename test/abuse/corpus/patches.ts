import {
  BODY_BYTES,
  CORE,
  creation,
  filled,
  filledMap,
  type HostileRequest,
  STORED_BYTES,
  stored,
} from './hostile-request.ts';

const PODS = `${CORE}/pods`;
const CONFIG_MAPS = `${CORE}/configmaps`;
/** The maximum operations of a JSON patch. */
const OPERATIONS = 10_000;

const container = (index: number): unknown => ({ name: `c${index}`, image: 'i' });
const environment = (index: number): unknown => ({ name: `E${index}`, value: 'v' });
const toleration = (index: number): unknown => ({ key: `k${index}`, operator: 'Exists' });

const longPod = (name: string): unknown => ({
  metadata: { name },
  spec: {
    containers: [{ name: 'c', image: 'i', env: filled(STORED_BYTES / 2, environment) }],
    tolerations: filled(STORED_BYTES / 4, toleration),
  },
});
const LONG_POD = stored(PODS, () => longPod('long'));
const PATCHED = `${PODS}/long?dryRun=All`;
const LONG_DATA = stored(CONFIG_MAPS, () => ({
  metadata: { name: 'long', finalizers: filled(STORED_BYTES / 2, (index) => `a.io/f${index}`) },
  data: filledMap(STORED_BYTES / 2, (index) => [`k${index}`, 'v']),
}));
const PATCHED_DATA = `${CONFIG_MAPS}/long?dryRun=All`;

const patch = (kind: string, name: string, path: string, make: () => unknown): HostileRequest => ({
  ...creation(`${kind}: ${name}`, path, make),
  method: 'PATCH',
  headers: { 'content-type': `application/${kind}+json` },
  before: [path === PATCHED ? LONG_POD : LONG_DATA],
});

const ofList = (make: (index: number) => unknown): unknown[] =>
  Array.from({ length: OPERATIONS }, (_, index) => make(index));
const jsonPatch = (name: string, path: string, make: () => unknown): HostileRequest =>
  patch('json-patch', name, path, make);
const strategic = (name: string, path: string, make: () => unknown): HostileRequest =>
  patch('strategic-merge-patch', name, path, make);

const ENV = '/spec/containers/0/env';
const FINALIZERS = '/metadata/finalizers';

const JSON_PATCHES: readonly HostileRequest[] = [
  jsonPatch('inserts at the front', PATCHED, () =>
    ofList((index) => ({ op: 'add', path: `${ENV}/0`, value: environment(index) })),
  ),
  jsonPatch('inserts at the front of a list of texts', PATCHED_DATA, () =>
    ofList((index) => ({ op: 'add', path: `${FINALIZERS}/0`, value: `b.io/f${index}` })),
  ),
  jsonPatch('a long list, then inserts at its front', PATCHED_DATA, () => [
    { op: 'add', path: FINALIZERS, value: filled(BODY_BYTES - OPERATIONS * 70, (index) => `f${index}`) },
    ...ofList((index) => ({ op: 'add', path: `${FINALIZERS}/0`, value: `f${index}` })).slice(1),
  ]),
  jsonPatch('a long list, then removals at its front', PATCHED_DATA, () => [
    { op: 'add', path: FINALIZERS, value: filled(BODY_BYTES - OPERATIONS * 50, (index) => `f${index}`) },
    ...ofList(() => ({ op: 'remove', path: `${FINALIZERS}/0` })).slice(1),
  ]),
  jsonPatch('a list of as many numbers as fit, then inserts and removals at its front', PATCHED_DATA, () => [
    { op: 'add', path: FINALIZERS, value: filled(BODY_BYTES - OPERATIONS * 60, () => 1) },
    ...ofList((index) =>
      index % 2 === 0 ? { op: 'add', path: `${FINALIZERS}/0`, value: 1 } : { op: 'remove', path: `${FINALIZERS}/0` },
    ).slice(1),
  ]),
  jsonPatch('moves from the front to the end', PATCHED, () =>
    ofList(() => ({ op: 'move', from: `${ENV}/0`, path: `${ENV}/-` })),
  ),
  jsonPatch('moves of the whole list', PATCHED, () =>
    ofList((index) =>
      index % 2 === 0 ? { op: 'move', from: ENV, path: '/x' } : { op: 'move', from: '/x', path: ENV },
    ),
  ),
  jsonPatch('tests of the whole list', PATCHED, () => [
    { op: 'add', path: '/x', value: filled(BODY_BYTES / 2, environment) },
    ...ofList(() => ({ op: 'test', path: '/x/1', value: environment(1) })).slice(1),
  ]),
  jsonPatch('tests of two equal members', PATCHED_DATA, () => [
    { op: 'test', path: '/data', value: filledMap(STORED_BYTES / 2, (index) => [`k${index}`, 'v']) },
    ...ofList(() => ({ op: 'test', path: '/data/k1', value: 'v' })).slice(1),
  ]),
  jsonPatch('removals of members', PATCHED_DATA, () => ofList((index) => ({ op: 'remove', path: `/data/k${index}` }))),
  jsonPatch('copies', PATCHED_DATA, () =>
    ofList((index) => ({ op: 'copy', from: '/data/k1', path: `/data/n${index}` })),
  ),
  jsonPatch('copies that double', PATCHED_DATA, () =>
    ofList((index) => ({ op: 'copy', from: '/metadata/annotations', path: `/metadata/annotations/n${index}` })),
  ),
  jsonPatch('long paths', PATCHED_DATA, () => [
    { op: 'add', path: '/x', value: nested(190) },
    ...Array.from({ length: 7_000 }, () => ({ op: 'test', path: `/x${'/a'.repeat(190)}`, value: 1 })),
  ]),
  jsonPatch('one path of as many steps as fit', PATCHED_DATA, () => [
    { op: 'add', path: '/a'.repeat(BODY_BYTES / 2), value: 1 },
  ]),
  jsonPatch('one path of as many escapes as fit', PATCHED_DATA, () => [
    { op: 'add', path: `/${'~1~0'.repeat(BODY_BYTES / 4)}`, value: 1 },
  ]),
  jsonPatch('operations of unknown fields', PATCHED_DATA, () =>
    ofList(() => filledMap(290, (index) => [`u${index}`, 1])),
  ),
];

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

const containers = (list: readonly unknown[]): unknown => ({ spec: { containers: [{ name: 'c', env: list }] } });

const STRATEGIC: readonly HostileRequest[] = [
  strategic('$patch: delete of items', PATCHED, () =>
    containers(filled(BODY_BYTES, (index) => ({ name: `E${index}`, $patch: 'delete' }))),
  ),
  strategic('$patch: delete of the same item', PATCHED, () =>
    containers(filled(BODY_BYTES, () => ({ name: 'E1', $patch: 'delete' }))),
  ),
  strategic('$patch: delete of containers', PATCHED, () => ({
    spec: { containers: filled(BODY_BYTES, (index) => ({ name: `c${index}`, $patch: 'delete' })) },
  })),
  strategic('$patch: delete of items that are not there', PATCHED, () =>
    containers(filled(BODY_BYTES, (index) => ({ name: `x${index}`, $patch: 'delete' }))),
  ),
  strategic('$patch: replace of items', PATCHED, () =>
    containers(filled(BODY_BYTES, (index) => ({ name: `E${index}`, $patch: 'replace' }))),
  ),
  strategic('new items', PATCHED, () => containers(filled(BODY_BYTES, (index) => ({ name: `N${index}` })))),
  strategic('the same item', PATCHED, () => containers(filled(BODY_BYTES, () => ({ name: 'E1' })))),
  strategic('new containers', PATCHED, () => ({ spec: { containers: filled(BODY_BYTES, container) } })),
  strategic('an order of items', PATCHED, () => ({
    spec: {
      containers: [{ name: 'c', '$setElementOrder/env': filled(BODY_BYTES, (index) => ({ name: `E${index}` })) }],
    },
  })),
  strategic('a reversed order with the items', PATCHED, () => {
    const names = filled(BODY_BYTES / 2, (index) => ({ name: `E${index}` }));
    return { spec: { containers: [{ name: 'c', '$setElementOrder/env': names.toReversed(), env: names }] } };
  }),
  strategic('an order of finalizers', PATCHED_DATA, () => {
    const names = filled(BODY_BYTES / 2, (index) => `a.io/f${index}`);
    return { metadata: { '$setElementOrder/finalizers': names.toReversed(), finalizers: names } };
  }),
  strategic('finalizers', PATCHED_DATA, () => ({
    metadata: { finalizers: filled(BODY_BYTES, (index) => `a.io/f${index}`) },
  })),
  strategic('deleted finalizers', PATCHED_DATA, () => ({
    metadata: { '$deleteFromPrimitiveList/finalizers': filled(BODY_BYTES, (index) => `a.io/f${index}`) },
  })),
  strategic('$retainKeys', PATCHED_DATA, () => ({ data: { $retainKeys: filled(BODY_BYTES, (index) => `k${index}`) } })),
  strategic('nulls', PATCHED_DATA, () => ({ data: filledMap(BODY_BYTES, (index) => [`k${index}`, null]) })),
  strategic('owners', PATCHED_DATA, () => ({
    metadata: { ownerReferences: filled(BODY_BYTES, (index) => ({ uid: `u${index}`, $patch: 'delete' })) },
  })),
  strategic('tolerations', PATCHED, () => ({ spec: { tolerations: filled(BODY_BYTES, toleration) } })),
];

const apply = (name: string, path: string, make: () => unknown, query: string): HostileRequest => ({
  ...patch('merge-patch', name, path, make),
  name: `apply: ${name}`,
  path: `${path}&${query}`,
  headers: { 'content-type': 'application/apply-patch+yaml' },
});

const appliedPod = (bytes: number): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'long' },
  spec: {
    containers: [{ name: 'c', image: 'other', env: filled(bytes, (index) => ({ name: `E${index}`, value: 'other' })) }],
  },
});
const appliedData = (bytes: number): unknown => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'long' },
  data: filledMap(bytes, (index) => [`k${index}`, 'other']),
});

const OTHERS: readonly HostileRequest[] = [
  patch('merge-patch', 'nulls', PATCHED_DATA, () => ({ data: filledMap(BODY_BYTES, (index) => [`k${index}`, null]) })),
  patch('merge-patch', 'data', PATCHED_DATA, () => ({ data: filledMap(BODY_BYTES, (index) => [`n${index}`, 'v']) })),
  apply('list items of another owner', PATCHED, () => appliedPod(BODY_BYTES), 'fieldManager=a'),
  apply('list items of another owner, by force', PATCHED, () => appliedPod(BODY_BYTES), 'fieldManager=a&force=true'),
  apply('members of another owner', PATCHED_DATA, () => appliedData(BODY_BYTES), 'fieldManager=a'),
  apply('members of another owner, by force', PATCHED_DATA, () => appliedData(BODY_BYTES), 'fieldManager=a&force=true'),
  apply('kubectl takes over', PATCHED_DATA, () => appliedData(BODY_BYTES), 'fieldManager=kubectl&force=true'),
  apply(
    'items that stand twice',
    PATCHED,
    () => {
      const env = filled(BODY_BYTES, () => ({ name: 'E1', value: 'v' }));
      return { ...(appliedPod(10) as object), spec: { containers: [{ name: 'c', image: 'i', env }] } };
    },
    'fieldManager=a&force=true',
  ),
  apply(
    'fields that nobody knows',
    PATCHED_DATA,
    () => ({ ...(appliedData(10) as object), ...filledMap(BODY_BYTES, (index) => [`u${index}`, 1]) }),
    'fieldManager=a&force=true',
  ),
];

export const PATCHES: readonly HostileRequest[] = [...JSON_PATCHES, ...STRATEGIC, ...OTHERS];
