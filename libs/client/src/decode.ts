import type { KubeObject, ResourceRef } from '@holdfast/api';
import { type StatusDetails, StatusError, type StatusReason } from '@holdfast/machinery';
import type { DiscoveredResource, KubeList } from './port.ts';
import { SEEN_ANNOTATION } from './seen.ts';
import { type ApiResponse, TransportError } from './transport/port.ts';

/**
 * The only place where a response of the API gets a type. The server validated the object when it stored it, so this
 * checks only the outer structure.
 */
export function decodeObject<T extends KubeObject>(resource: ResourceRef<T>, value: unknown): T {
  const record = asRecord(value, 'an object');
  asRecord(record['metadata'], 'metadata of an object');
  if (typeof record['kind'] === 'string' && typeof record['apiVersion'] === 'string') return record as unknown as T;
  return Object.freeze({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...record }) as unknown as T;
}

export function decodeList<T extends KubeObject>(resource: ResourceRef<T>, value: unknown): KubeList<T> {
  const list = asRecord(value, 'a list');
  const metadata = asRecord(list['metadata'], 'metadata of a list');
  const items = list['items'];
  const continueToken = metadata['continue'];
  return {
    resourceVersion: typeof metadata['resourceVersion'] === 'string' ? metadata['resourceVersion'] : '',
    continueToken: typeof continueToken === 'string' && continueToken !== '' ? continueToken : undefined,
    items: Array.isArray(items) ? items.map((item) => decodeObject(resource, item)) : [],
  };
}

/** The metadata of an object, under the kind of the object whatever form the server chose for it. */
export function metadataOf<T extends KubeObject>(resource: ResourceRef<T>, { metadata }: T): T {
  checkMetadata(metadata);
  return Object.freeze({
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: withoutExtras(metadata),
  }) as unknown as T;
}

/** Removes what only readers of whole objects need: it can be large, and caches keep it. */
function withoutExtras(metadata: KubeObject['metadata']): KubeObject['metadata'] {
  const { managedFields: _managedFields, annotations, labels: _labels, ...kept } = metadata;
  const seen = annotations?.[SEEN_ANNOTATION];
  return seen === undefined ? kept : { ...kept, annotations: { [SEEN_ANNOTATION]: seen } };
}

/** Servers behind the API server validate nothing for their clients. Throws for what a cache or a controller would trip over. */
function checkMetadata(metadata: KubeObject['metadata']): void {
  const {
    ownerReferences = [],
    finalizers = [],
    name = '',
    ...others
  }: Readonly<Record<string, unknown>> = { ...metadata };
  const { namespace = '', uid = '', resourceVersion = '' } = others;
  const isRight =
    [name, namespace, uid, resourceVersion].every(isText) &&
    isListOf(finalizers, isText) &&
    isListOf(ownerReferences, isOwner);
  if (!isRight) throw new TransportError('the metadata of an object is not readable');
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  value === null || (Array.isArray(value) && value.every(isItem));

function isOwner(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { apiVersion, kind, name, uid }: Readonly<Record<string, unknown>> = { ...value };
  return [apiVersion, kind, name, uid].every(isText);
}

/** Decodes an APIResourceList. Drops subresources and entries that miss their name or kind. */
export function decodeResources(
  { group, version }: Pick<ResourceRef, 'group' | 'version'>,
  value: unknown,
): readonly DiscoveredResource[] {
  const { resources } = asRecord(value, 'a list of resources');
  return (Array.isArray(resources) ? resources : []).flatMap((each: unknown) => {
    const { name, kind, namespaced, verbs } = asRecord(each, 'a resource');
    if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/')) return [];
    const ref = { group, version, kind, plural: name, namespaced: namespaced === true };
    return [{ ref, verbs: Array.isArray(verbs) ? verbs.filter((verb) => typeof verb === 'string') : [] }];
  });
}

export function jsonOf(response: ApiResponse): unknown {
  if (response.body.kind === 'json') return response.body.value();
  throw new TransportError(`expected a JSON answer, got ${response.body.kind} with status ${response.status}`);
}

/** Returns the error for a response with a status of 400 or above. */
export function statusErrorOf(response: ApiResponse): StatusError {
  if (response.body.kind === 'json') return statusErrorFrom(response.body.value(), response.status);
  const text = response.body.kind === 'text' ? response.body.text : '';
  return new StatusError({ ...fallback(response.status), message: text === '' ? `HTTP ${response.status}` : text });
}

/** Returns the error in a `Status` document: the body of a response, or the object of an ERROR frame. */
export function statusErrorFrom(value: unknown, httpStatus = 500): StatusError {
  const status = asRecord(value, 'a Status');
  const code = typeof status['code'] === 'number' ? status['code'] : httpStatus;
  const details = status['details'];
  return new StatusError({
    code,
    reason: typeof status['reason'] === 'string' ? (status['reason'] as StatusReason) : fallback(code).reason,
    message: typeof status['message'] === 'string' ? status['message'] : `HTTP ${code}`,
    ...(typeof details === 'object' && details !== null ? { details: details as StatusDetails } : {}),
  });
}

export function apiVersionOf(resource: ResourceRef): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Returns 0 for an object that was never stored. */
export function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}

const REASON_OF_CODE: ReadonlyMap<number, StatusReason> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'NotAcceptable'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
]);

function fallback(code: number): { code: number; reason: StatusReason } {
  return { code, reason: REASON_OF_CODE.get(code) ?? 'InternalError' };
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TransportError(`the answer does not hold ${what}`);
}
