import { type ProtobufIdentity, readProtobufIdentity } from '@holdfast/api/protobuf-identity';
import { type ResourceRequest, readRequestInfo } from '@holdfast/apiserver/request-info';
import type { ApiRequest } from '@holdfast/client';

/** A request of a client for objects, read once for all lenses. */
export interface Asked {
  readonly request: ApiRequest;
  readonly info: ResourceRequest;
  /** The name of the object. A new one has the name of its body, or `web-*` for a `generateName`. Empty for a collection. */
  readonly name: string;
  readonly isWrite: boolean;
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** `undefined` for paths without objects: discovery, health. */
export function readAsked(request: ApiRequest): Asked | undefined {
  const info = readRequestInfo(request);
  if (info.kind !== 'resource') return undefined;
  const name = info.name === '' && info.verb === 'create' ? nameOfNew(request) : info.name;
  return { request, info, name, isWrite: WRITES.has(info.verb) };
}

/** What a body says of its object, in JSON or protobuf; `undefined` for another encoding. */
export function bodyOf({ body }: ApiRequest): ProtobufIdentity | undefined {
  if (body === undefined) return undefined;
  try {
    const known = typeof body === 'string' ? undefined : readProtobufIdentity(body);
    if (known !== undefined) return known;
    const value: unknown = JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function nameOfNew(request: ApiRequest): string {
  const { name, generateName } = bodyOf(request)?.metadata ?? {};
  if (typeof name === 'string' && name !== '') return name;
  return typeof generateName === 'string' ? `${generateName}*` : '';
}
