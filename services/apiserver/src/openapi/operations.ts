import type { ServedKind } from '../endpoints/served-kinds.ts';
import { groupVersion } from '../served.ts';
import { structNameOf, WATCH_EVENT } from './kind-schemas.ts';

/** One path with its operations, in terms that both versions of OpenAPI are written from. */
export interface ApiPath {
  readonly path: string;
  readonly pathParameters: readonly string[];
  readonly operations: readonly ApiOperation[];
}

export interface ApiOperation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly action: string;
  readonly kind: Kind;
  /** Struct of the answer, where it is not that of the kind. */
  readonly answer?: string;
  readonly parameters: readonly QueryParameter[];
  /** Struct of the body; `patch` takes any patch document. */
  readonly body?: 'object' | 'patch';
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface QueryParameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
}

const text = (name: string): QueryParameter => ({ name, type: 'string' });
const integer = (name: string): QueryParameter => ({ name, type: 'integer' });
const flag = (name: string): QueryParameter => ({ name, type: 'boolean' });

const WRITE_PARAMETERS = [text('dryRun'), text('fieldManager'), text('fieldValidation')];
const PATCH_PARAMETERS = [...WRITE_PARAMETERS, flag('force')];
const DELETE_PARAMETERS = [
  text('dryRun'),
  integer('gracePeriodSeconds'),
  flag('orphanDependents'),
  text('propagationPolicy'),
];
const LIST_PARAMETERS = [
  flag('allowWatchBookmarks'),
  text('continue'),
  text('fieldSelector'),
  text('labelSelector'),
  integer('limit'),
  text('resourceVersion'),
  text('resourceVersionMatch'),
  flag('sendInitialEvents'),
  integer('timeoutSeconds'),
  flag('watch'),
];

type Shape = Omit<ApiOperation, 'kind'>;
const LIST: Shape = { method: 'get', action: 'list', parameters: LIST_PARAMETERS };

const ON_COLLECTION: Readonly<Record<string, Shape>> = {
  create: { method: 'post', action: 'post', parameters: WRITE_PARAMETERS, body: 'object' },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    parameters: [...DELETE_PARAMETERS, ...LIST_PARAMETERS],
    answer: 'meta.v1.Status',
  },
};

const ON_ITEM: Readonly<Record<string, Shape>> = {
  get: { method: 'get', action: 'get', parameters: [] },
  update: { method: 'put', action: 'put', parameters: WRITE_PARAMETERS, body: 'object' },
  patch: { method: 'patch', action: 'patch', parameters: PATCH_PARAMETERS, body: 'patch' },
  delete: { method: 'delete', action: 'delete', parameters: DELETE_PARAMETERS },
};

type Shapes = Readonly<Record<string, Shape | undefined>>;

const ON_SUBRESOURCE: Shapes = { ...ON_ITEM, create: ON_COLLECTION['create'] };

/** Every path of one kind: collections, objects, subresources, and the older paths of watches. */
export function pathsOf(served: ServedKind): readonly ApiPath[] {
  const { plural, namespaced, verbs, group, version, kind } = served;
  const root = `/${group === '' ? 'api' : 'apis'}/${groupVersion(served)}`;
  const scope = namespaced ? ['namespace'] : [];
  const base = `${root}/${namespaced ? `namespaces/{namespace}/${plural}` : plural}`;
  const item = [...scope, 'name'];
  const own = { group, version, kind };
  const list = structNameOf({ group, version, kind: `${kind}List` });
  const onCollection = { ...ON_COLLECTION, list: list === undefined ? LIST : { ...LIST, answer: list } };
  const paths: readonly ApiPath[] = [
    { path: base, pathParameters: scope, operations: operationsOf(onCollection, verbs, own) },
    { path: `${base}/{name}`, pathParameters: item, operations: operationsOf(ON_ITEM, verbs, own) },
    ...served.subresources.flatMap((sub) => {
      const operations = operationsOf(ON_SUBRESOURCE, sub.verbs, sub.body ?? own);
      const path = `${base}/{name}/${sub.name}`;
      const whole = { path, pathParameters: item, operations };
      return sub.name === 'proxy'
        ? [whole, { ...whole, path: `${path}/{path}`, pathParameters: [...item, 'path'] }]
        : [whole];
    }),
    ...(namespaced && verbs.includes('list')
      ? [{ path: `${root}/${plural}`, pathParameters: [], operations: operationsOf(onCollection, ['list'], own) }]
      : []),
    ...(verbs.includes('watch') ? watchPaths(served, root) : []),
  ];
  return paths.filter((each) => each.operations.length > 0);
}

/** Where older clients watch: they look these paths up in the document. */
function watchPaths({ plural, namespaced, group, version, kind }: ServedKind, root: string): readonly ApiPath[] {
  const shape = { method: 'get', parameters: LIST_PARAMETERS, answer: WATCH_EVENT } as const;
  const operation = { ...shape, kind: { group, version, kind } };
  const list = [{ ...operation, action: 'watchlist' }];
  const scope = namespaced ? ['namespace'] : [];
  const base = `${root}/watch/${namespaced ? `namespaces/{namespace}/${plural}` : plural}`;
  return [
    { path: base, pathParameters: scope, operations: list },
    { path: `${base}/{name}`, pathParameters: [...scope, 'name'], operations: [{ ...operation, action: 'watch' }] },
    ...(namespaced ? [{ path: `${root}/watch/${plural}`, pathParameters: [], operations: list }] : []),
  ];
}

const operationsOf = (shapes: Shapes, offered: readonly string[], kind: Kind): readonly ApiOperation[] =>
  offered.flatMap((verb) => (shapes[verb] === undefined ? [] : [{ ...shapes[verb], kind }]));
