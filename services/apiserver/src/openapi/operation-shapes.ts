import { ON_DELETE, ON_DELETE_COLLECTION, ON_LIST, ON_LOG, ON_PATCH, ON_WRITE, type Parameter } from './parameters.ts';
import { DELETE_OPTIONS, PATCH, STATUS } from './schema-names.ts';
import type { PublishedKind } from './schemas.ts';

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';

export interface ApiOperation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly type: TypeName; readonly required: boolean };
  readonly answer: TypeName;
  /** The response statuses. */
  readonly statuses: readonly number[];
  /** Absent for operations about the API itself. */
  readonly of?: { readonly action: string; readonly kind: PublishedKind };
}

/** The published name of a struct, or a plain type of JSON. */
export type TypeName = string;

export const ANY = ['*/*'];
export const TEXT_ENCODINGS: readonly string[] = ['application/json', 'application/yaml'];
export const PROTOBUF_ENCODING = 'application/vnd.kubernetes.protobuf';
export const ENCODINGS: readonly string[] = [...TEXT_ENCODINGS, PROTOBUF_ENCODING];
const STREAMS = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  STRATEGIC_MERGE_PATCH,
  'application/apply-patch+yaml',
];

/** An operation without its path. */
export type Shape = Pick<ApiOperation, 'method' | 'parameters' | 'body' | 'answer' | 'statuses'> & {
  readonly action: string;
  readonly consumes?: readonly string[];
  readonly produces?: readonly string[];
};

export type Shapes = Readonly<Record<string, Shape>>;

/** By verb, for a type; a delete responds with that type or with a `Status`. */
export function shapesOf(own: TypeName, deleted: TypeName = STATUS): Shapes {
  const body = { type: own, required: true };
  const patch = { type: PATCH, required: true };
  const written = { answer: own, statuses: [200, 201] };
  return {
    get: { method: 'get', action: 'get', parameters: [], answer: own, statuses: [200] },
    create: { method: 'post', action: 'post', parameters: ON_WRITE, body, answer: own, statuses: [200, 201, 202] },
    update: { method: 'put', action: 'put', parameters: ON_WRITE, body, ...written },
    patch: { method: 'patch', action: 'patch', parameters: ON_PATCH, consumes: PATCHES, body: patch, ...written },
    delete: deleting('delete', ON_DELETE, { answer: deleted, statuses: [200, 202] }),
    deletecollection: deleting('deletecollection', ON_DELETE_COLLECTION, { answer: STATUS, statuses: [200] }),
  };
}

const deleting = (
  action: string,
  parameters: readonly Parameter[],
  answer: Pick<Shape, 'answer' | 'statuses'>,
): Shape => ({ method: 'delete', action, parameters, body: { type: DELETE_OPTIONS, required: false }, ...answer });

export const reading = (action: string, answer: TypeName): Shape => ({
  method: 'get',
  action,
  parameters: ON_LIST,
  produces: [...ENCODINGS, ...STREAMS],
  answer,
  statuses: [200],
});

export const LOG: Shape = {
  method: 'get',
  action: 'get',
  parameters: ON_LOG,
  produces: ['text/plain', ...ENCODINGS],
  answer: 'string',
  statuses: [200],
};

const CONNECT_METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    get: 'get',
    create: 'post',
    update: 'put',
    patch: 'patch',
    delete: 'delete',
  }),
);

export function connecting(parameters: readonly Parameter[], verbs: readonly string[]): readonly Shape[] {
  const methods = verbs.flatMap((verb) => CONNECT_METHODS.get(verb) ?? []);
  // A proxy also passes methods without a verb.
  const all: readonly Method[] = methods.includes('delete') ? [...methods, 'head', 'options'] : methods;
  const shape = { action: 'connect', parameters, produces: ANY, answer: 'string', statuses: [200] } as const;
  return all.map((method) => ({ ...shape, method }));
}
