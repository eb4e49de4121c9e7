import { nextTurn } from '@holdfast/platform';
import { tagOf } from '../http/entity-tag.ts';
import { AGGREGATED_DISCOVERY_MS, AGGREGATED_OPENAPI_BYTES_MAX } from '../limits.ts';
import { foreignPart } from '../openapi/foreign-version-2.ts';
import { inTurns } from '../turns/parts.ts';
import type { RemoteApi } from './api-services.ts';
import { fetchDocument } from './fetch-document.ts';
import type { DiscoveryFetchDeps } from './remote-discovery.ts';

/** The part of another server's OpenAPI 2 document about one of its versions. */
export interface RemoteOpenApi2 {
  readonly etag: string | undefined;
  /** A `ForeignPart` as JSON: its values would take many times as much memory. */
  readonly json: Uint8Array;
  readonly hash: string;
}

const PATH = '/openapi/v2';

const prefixOf = ({ group, version }: RemoteApi): string =>
  group === '' ? `/api/${version}/` : `/apis/${group}/${version}/`;

/** Resolves with `undefined` when the server has no such document. Rejects when it cannot be read. */
export async function fetchOpenApi2(
  deps: DiscoveryFetchDeps,
  api: RemoteApi,
  kept: RemoteOpenApi2 | undefined,
): Promise<RemoteOpenApi2 | undefined> {
  const { status, text, etag } = await fetchDocument(deps, {
    api,
    path: PATH,
    accept: 'application/json',
    etag: kept?.etag,
    bytesMax: AGGREGATED_OPENAPI_BYTES_MAX,
    timeoutMs: AGGREGATED_DISCOVERY_MS,
  });
  if (status === 404) return undefined;
  if (status === 304 && kept !== undefined) return kept;
  if (status !== 200) throw new Error(`${PATH}: status ${status}`);
  const part = await inTurns(foreignPart(JSON.parse(text), prefixOf(api)), nextTurn);
  const json = Buffer.from(JSON.stringify(part));
  const hash = tagOf(json);
  return kept?.hash === hash && kept.etag === etag ? kept : { etag, json, hash };
}
