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
import { owner, reference } from './reviews.ts';

const CONFIG_MAPS = `${CORE}/configmaps`;

/** Fields of metadata that every kind has, on the kind with the least of its own. */
const WIDE: readonly (readonly [string, string, (bytes: number) => unknown])[] = [
  ['labels', 'labels', (bytes) => filledMap(bytes, (index) => [`l${index}`, 'v'])],
  ['labels with prefixes', 'labels', (bytes) => filledMap(bytes, (index) => [`a${index}.io/l${index}`, 'v'])],
  ['wrong labels', 'labels', (bytes) => filledMap(bytes, (index) => [`-l${index}-`, '-v-'])],
  ['annotations', 'annotations', (bytes) => filledMap(bytes, (index) => [`a${index}`, 'v'])],
  ['finalizers', 'finalizers', (bytes) => filled(bytes, (index) => `a.io/f${index}`)],
  ['wrong finalizers', 'finalizers', (bytes) => filled(bytes, (index) => `-f${index}-`)],
  ['ownerReferences', 'ownerReferences', (bytes) => filled(bytes, reference)],
  ['the same ownerReference', 'ownerReferences', (bytes) => filled(bytes, () => reference(0))],
  ['managedFields', 'managedFields', (bytes) => filled(bytes, (index) => owner(index))],
  [
    'managedFields of one time',
    'managedFields',
    (bytes) => filled(bytes, (index) => owner(index, { 'f:data': { [`f:k${index}`]: {} } })),
  ],
  [
    'managedFields of appliers',
    'managedFields',
    (bytes) => filled(bytes, (index) => ({ ...(owner(index) as object), operation: 'Apply' })),
  ],
  [
    'managedFields of list keys',
    'managedFields',
    (bytes) => [owner(0, { 'f:data': filledMap(bytes, (index) => [`k:{"b":${index},"a":"${index}"}`, {}]) })],
  ],
];

const data = { a: 'b' };

export const METADATA: readonly HostileRequest[] = WIDE.flatMap(([what, field, make]) => [
  creation(`create: ${what}`, CONFIG_MAPS, () => ({
    metadata: { generateName: 'wide-', [field]: make(BODY_BYTES) },
    data,
  })),
  {
    ...creation(`update: ${what}`, `${CONFIG_MAPS}/plain`, () => ({
      metadata: { name: 'plain', [field]: make(BODY_BYTES) },
      data,
    })),
    method: 'PUT',
    before: [stored(CONFIG_MAPS, () => ({ metadata: { name: 'plain' }, data }))],
  },
  {
    ...creation(`merge patch: ${what}`, `${CONFIG_MAPS}/plain`, () => ({ metadata: { [field]: make(BODY_BYTES) } })),
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    before: [stored(CONFIG_MAPS, () => ({ metadata: { name: 'plain' }, data }))],
  },
  {
    ...creation(`apply: ${what}`, `${CONFIG_MAPS}/plain?fieldManager=corpus&force=true`, () => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'plain', ...(field === 'managedFields' ? {} : { [field]: make(BODY_BYTES) }) },
    })),
    method: 'PATCH',
    headers: { 'content-type': 'application/apply-patch+yaml' },
    before: [stored(CONFIG_MAPS, () => ({ metadata: { name: 'plain' }, data }))],
  },
  {
    ...creation(`change what has: ${what}`, `${CONFIG_MAPS}/has-${slug(what)}`, () => ({
      data: { a: `${'b'.repeat(9)}` },
    })),
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    before: [
      stored(CONFIG_MAPS, () => ({ metadata: { name: `has-${slug(what)}`, [field]: make(STORED_BYTES) }, data })),
    ],
  },
]);

function slug(text: string): string {
  return text.toLowerCase().replaceAll(' ', '-');
}
