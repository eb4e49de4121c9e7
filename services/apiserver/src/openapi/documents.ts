import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { dateOf } from '@holdfast/platform';
import type { Catalog } from '../endpoints/catalog.ts';
import { VERSION } from '../endpoints/version.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { likedBest } from '../http/negotiation.ts';
import { KEPT_DOCUMENT_MS } from '../limits.ts';
import { openApi2 } from './version-2.ts';
import { openApi2Protobuf } from './version-2-protobuf.ts';
import { contentOf3, documentNames3, documentOf3 } from './version-3-documents.ts';
import { openApi3Protobuf } from './version-3-protobuf.ts';

export interface OpenApiDocuments {
  /** `undefined` for a path that is no OpenAPI document. */
  answer(request: ApiRequest, now: number): ApiResponse | undefined;
}

const ROOT_2 = '/openapi/v2';
const ROOT_3 = '/openapi/v3';
const JSON_TYPE = 'application/json';
const PROTOBUF_2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const PROTOBUF_3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
/** Names that are no media types; older clients ask by them. */
const OLD_PROTOBUF_2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const OLD_PROTOBUF_3 = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf';

/** Documents are generated when first asked for, and kept until a definition changes what they describe. */
export function createOpenApiDocuments(catalog: Catalog): OpenApiDocuments {
  const texts = new Map<string, Rendered>();
  const remember = (name: string, render: () => Uint8Array): Rendered => {
    const known = texts.get(name);
    if (known !== undefined) return known;
    const bytes = render();
    const rendered = { bytes, hash: tagOf(bytes) };
    texts.set(name, rendered);
    return rendered;
  };
  const version3 = (name: string): Rendered => {
    const { bytes } = remember(name, () => textOf(documentOf3(catalog, name)));
    return { bytes, hash: hashOf3(name) };
  };
  const hashes = new Map<string, string>();
  const known = { generation: catalog.generation, contents: contentOf3(catalog) };
  /** Only what a definition has changed is made anew. */
  const renew = (): void => {
    if (known.generation === catalog.generation) return;
    const contents = contentOf3(catalog);
    for (const name of new Set([...contents.keys(), ...known.contents.keys()])) {
      if (contents.get(name) === known.contents.get(name)) continue;
      for (const kept of [name, `${name} protobuf`]) texts.delete(kept);
      hashes.delete(name);
    }
    for (const kept of ['v2', 'v2 protobuf']) texts.delete(kept);
    Object.assign(known, { generation: catalog.generation, contents });
  };
  /** Most documents are never read: the list of all of them keeps no more than what it says of each. */
  const hashOf3 = (name: string): string => {
    const content = known.contents.get(name);
    const hash =
      hashes.get(name) ?? tagOf(content === undefined ? textOf(documentOf3(catalog, name)) : Buffer.from(content));
    hashes.set(name, hash);
    return hash;
  };
  /** Known by the same hash, whatever its form. */
  const protobuf3 = (name: string): Rendered => {
    const { bytes } = remember(`${name} protobuf`, () => openApi3Protobuf(documentOf3(catalog, name)));
    return { bytes, hash: hashOf3(name) };
  };
  return {
    answer: (request, now) => {
      const path = request.path.replace(/\/$/, '');
      if (path !== ROOT_2 && path !== ROOT_3 && !path.startsWith(`${ROOT_3}/`)) return undefined;
      renew();
      if (path === ROOT_2) return answer2(request, catalog, remember);
      if (path === ROOT_3) return bytesAnswer(request, rootOf3(catalog, hashOf3), JSON_TYPE);
      const name = path.slice(ROOT_3.length + 1);
      return documentNames3(catalog).includes(name)
        ? answer3({ request, name, now }, { version3, protobuf3 })
        : undefined;
    },
  };
}

interface Rendered {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

const textOf = (document: unknown): Uint8Array => Buffer.from(JSON.stringify(document));

/** Where each document is, by its hash. */
function rootOf3(catalog: Catalog, hashOf: (name: string) => string): Rendered {
  const places = documentNames3(catalog).map(
    (name) => [name, { serverRelativeURL: urlOf(name, hashOf(name)) }] as const,
  );
  const bytes = textOf({ paths: Object.fromEntries(places) });
  return { bytes, hash: tagOf(bytes) };
}

const urlOf = (name: string, hash: string): string => `${ROOT_3}/${name}?hash=${hash}`;

function answer2(
  request: ApiRequest,
  catalog: Catalog,
  remember: (name: string, render: () => Uint8Array) => Rendered,
): ApiResponse {
  const versions = catalog.versionsByGroup();
  const kinds = versions.flatMap(({ group, version }) => catalog.kindsOf(group, version));
  const document = (): unknown => openApi2(kinds, VERSION.gitVersion, versions);
  const type = likedBest(request.headers['accept'] ?? '', [JSON_TYPE, OLD_PROTOBUF_2, PROTOBUF_2]);
  if (type === '') return notAcceptable;
  if (type !== JSON_TYPE) {
    const rendered = remember('v2 protobuf', () => openApi2Protobuf(document()));
    return bytesAnswer(request, rendered, PROTOBUF_2);
  }
  const rendered = remember('v2', () => textOf(document()));
  return bytesAnswer(request, rendered, JSON_TYPE);
}

/** There is no API that could say more. */
const notAcceptable: ApiResponse = { status: 406, headers: { vary: 'Accept' }, body: { kind: 'empty' } };

interface Wanted3 {
  readonly request: ApiRequest;
  readonly name: string;
  readonly now: number;
}

interface Forms3 {
  readonly version3: (name: string) => Rendered;
  readonly protobuf3: (name: string) => Rendered;
}

/** A client that says which document it means may keep it; when that is no longer the right one, it is led to the one that is. */
function answer3({ request, name, now }: Wanted3, { version3, protobuf3 }: Forms3): ApiResponse {
  const type = likedBest(request.headers['accept'] ?? '', [JSON_TYPE, OLD_PROTOBUF_3, PROTOBUF_3]);
  if (type === '') return notAcceptable;
  const document = type === JSON_TYPE ? version3(name) : protobuf3(name);
  const answer = bytesAnswer(request, document, type === JSON_TYPE ? JSON_TYPE : PROTOBUF_3);
  const meant = request.query.get('hash') ?? '';
  if (meant === '') return answer;
  if (meant !== document.hash) {
    return {
      status: 301,
      headers: { ...answer.headers, location: urlOf(name, document.hash) },
      body: { kind: 'empty' },
    };
  }
  const expires = dateOf(now + KEPT_DOCUMENT_MS).toUTCString();
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'public, immutable', expires } };
}

function bytesAnswer(request: ApiRequest, { bytes, hash }: Rendered, contentType: string): ApiResponse {
  const value = (): unknown => JSON.parse(new TextDecoder().decode(bytes));
  return taggedAnswer(request, hash, {
    status: 200,
    headers: { 'content-type': contentType, vary: 'Accept' },
    body: { kind: 'json', bytes: () => bytes, value },
  });
}
