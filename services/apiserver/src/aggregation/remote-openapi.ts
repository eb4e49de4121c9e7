import { isJsonObject, type JsonObject, ownValue } from '@holdfast/machinery';
import { nextTurn } from '@holdfast/platform';
import { tagOf } from '../http/entity-tag.ts';
import { AGGREGATED_DISCOVERY_BYTES_MAX, AGGREGATED_DISCOVERY_MS, AGGREGATED_OPENAPI_BYTES_MAX } from '../limits.ts';
import { convertedToVersion3 } from '../openapi/converted-version-3.ts';
import type { ForeignPart } from '../openapi/foreign-version-2.ts';
import { openApi3Protobuf } from '../openapi/version-3-protobuf.ts';
import { inTurns } from '../turns/parts.ts';
import type { RemoteApi } from './api-services.ts';
import { fetchDocument } from './fetch-document.ts';
import type { DiscoveryFetchDeps } from './remote-discovery.ts';
import type { RemoteOpenApi2 } from './remote-openapi-2.ts';

/** The OpenAPI 3 document of a version that another server serves. */
export interface RemoteOpenApi {
  /** The server's address of it, which changes with the content. A converted document has one of its own. */
  readonly url: string;
  readonly json: Uint8Array;
  /** Absent when parts of the document cannot be encoded so. */
  readonly protobuf: Uint8Array | undefined;
  readonly hash: string;
}

const ROOT = '/openapi/v3';

/** The name of its document in the list of all. */
export const openApiNameOf = ({ group, version }: Pick<RemoteApi, 'group' | 'version'>): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

interface Documents {
  readonly openApi: RemoteOpenApi | undefined;
  readonly openApi2: RemoteOpenApi2 | undefined;
}

/**
 * Resolves with `undefined` when the server has no such document. Rejects when it cannot be read. The document of a
 * server that publishes only OpenAPI 2 is converted, as in Kubernetes.
 */
export async function fetchOpenApi(
  deps: DiscoveryFetchDeps,
  api: RemoteApi,
  { openApi: kept, openApi2 }: Documents,
): Promise<RemoteOpenApi | undefined> {
  const bounds = { api, accept: 'application/json', timeoutMs: AGGREGATED_DISCOVERY_MS };
  const root = await fetchDocument(deps, { ...bounds, path: ROOT, bytesMax: AGGREGATED_DISCOVERY_BYTES_MAX });
  if (root.status === 404 && openApi2 !== undefined) return converted(api, openApi2, kept);
  if (root.status !== 200) return undefined;
  const url = placeOf(JSON.parse(root.text), openApiNameOf(api));
  if (url === undefined) return undefined;
  if (kept?.url === url && url.includes('?hash=')) return kept;
  const { status, text } = await fetchDocument(deps, { ...bounds, path: url, bytesMax: AGGREGATED_OPENAPI_BYTES_MAX });
  const document: unknown = status === 200 ? JSON.parse(text) : undefined;
  if (!isJsonObject(document) || typeof document['openapi'] !== 'string')
    throw new Error(`${url} is not an OpenAPI document`);
  const json = Buffer.from(text);
  if (kept?.url === url && json.equals(kept.json)) return kept;
  return { url, json, protobuf: await inProtobuf(document), hash: tagOf(json) };
}

async function converted(
  api: RemoteApi,
  { json: version2, hash }: RemoteOpenApi2,
  kept: RemoteOpenApi | undefined,
): Promise<RemoteOpenApi> {
  const url = `/openapi/v2?hash=${hash}`;
  if (kept?.url === url) return kept;
  const part = JSON.parse(Buffer.from(version2).toString()) as ForeignPart;
  const document: JsonObject = await inTurns(convertedToVersion3(part, openApiNameOf(api)), nextTurn);
  const json = Buffer.from(JSON.stringify(document));
  if (json.length > AGGREGATED_OPENAPI_BYTES_MAX) throw new Error('the converted OpenAPI 2 document is too large');
  return { url, json, protobuf: await inProtobuf(document), hash: tagOf(json) };
}

function placeOf(root: unknown, name: string): string | undefined {
  const paths = isJsonObject(root) ? root['paths'] : undefined;
  const entry = isJsonObject(paths) ? ownValue(paths, name) : undefined;
  const url = isJsonObject(entry) ? entry['serverRelativeURL'] : undefined;
  return typeof url === 'string' && url.startsWith(`${ROOT}/`) ? url : undefined;
}

async function inProtobuf(document: object): Promise<Uint8Array | undefined> {
  try {
    return await inTurns(openApi3Protobuf(document), nextTurn);
  } catch {
    return undefined;
  }
}
