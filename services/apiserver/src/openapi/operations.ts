import type { ServedKind } from '../endpoints/served-kinds.ts';
import { groupVersion } from '../served.ts';

/** One path with its operations, in terms that both versions of OpenAPI are written from. */
export interface ApiPath {
  readonly path: string;
  readonly pathParameters: readonly string[];
  readonly operations: readonly ApiOperation[];
}

export interface ApiOperation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly action: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly parameters: readonly QueryParameter[];
  /** Struct of the body; `patch` takes any patch document. */
  readonly body?: 'object' | 'patch';
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

const ON_COLLECTION: Readonly<Record<string, Shape>> = {
  list: { method: 'get', action: 'list', parameters: LIST_PARAMETERS },
  create: { method: 'post', action: 'post', parameters: WRITE_PARAMETERS, body: 'object' },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    parameters: [...DELETE_PARAMETERS, ...LIST_PARAMETERS],
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

/** Every path of one kind: collections, objects, subresources. */
export function pathsOf(served: ServedKind): readonly ApiPath[] {
  const { plural, namespaced, verbs, group, version, kind } = served;
  const root = `/${group === '' ? 'api' : 'apis'}/${groupVersion(served)}`;
  const base = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const scope = namespaced ? ['namespace'] : [];
  const own = { group, version, kind };
  const item = [...scope, 'name'];
  const operations = (
    shapes: Shapes,
    offered: readonly string[],
    of: ApiOperation['kind'] = own,
  ): readonly ApiOperation[] =>
    offered.flatMap((verb) => (shapes[verb] === undefined ? [] : [{ ...shapes[verb], kind: of }]));
  const paths: readonly ApiPath[] = [
    { path: base, pathParameters: scope, operations: operations(ON_COLLECTION, verbs) },
    { path: `${base}/{name}`, pathParameters: item, operations: operations(ON_ITEM, verbs) },
    ...served.subresources.map((sub) => ({
      path: `${base}/{name}/${sub.name}`,
      pathParameters: item,
      operations: operations(ON_SUBRESOURCE, sub.verbs, sub.body),
    })),
    ...(namespaced && verbs.includes('list')
      ? [{ path: `${root}/${plural}`, pathParameters: [], operations: operations(ON_COLLECTION, ['list']) }]
      : []),
  ];
  return paths.filter((each) => each.operations.length > 0);
}
