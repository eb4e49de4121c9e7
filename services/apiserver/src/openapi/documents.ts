import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { dateOf } from '@holdfast/platform';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { VERSION } from '../endpoints/version.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { likedBest } from '../http/negotiation.ts';
import { KEPT_DOCUMENT_MS } from '../limits.ts';
import { groupVersion } from '../served.ts';
import { signpost, signpostNames } from './signposts.ts';
import { openApi2, swaggerJson } from './version-2.ts';
import { swaggerProtobuf } from './version-2-protobuf.ts';
import { openApi3 } from './version-3.ts';
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

/** Documents are generated from the field tables when first asked for, and kept: the API does not change while it runs. */
export function createOpenApiDocuments(): OpenApiDocuments {
  const texts = new Map<string, Rendered>();
  const remember = (name: string, render: () => Uint8Array): Rendered => {
    const known = texts.get(name);
    if (known !== undefined) return known;
    const bytes = render();
    const rendered = { bytes, hash: tagOf(bytes) };
    texts.set(name, rendered);
    return rendered;
  };
  const version3 = (name: string): Rendered => remember(name, () => Buffer.from(JSON.stringify(documentOf(name))));
  /** Known by the same hash, whatever its form. */
  const protobuf3 = (name: string): Rendered => {
    const { bytes } = remember(`${name} protobuf`, () => openApi3Protobuf(documentOf(name)));
    return { bytes, hash: version3(name).hash };
  };
  return {
    answer: (request, now) => {
      const path = request.path.replace(/\/$/, '');
      if (path === ROOT_2) return answer2(request, remember);
      if (path === ROOT_3) return bytesAnswer(request, rootOf3(version3), JSON_TYPE);
      if (!path.startsWith(`${ROOT_3}/`)) return undefined;
      const name = path.slice(ROOT_3.length + 1);
      return documentNames().includes(name) ? answer3({ request, name, now }, { version3, protobuf3 }) : undefined;
    },
  };
}

interface Rendered {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/** `api/v1`, `apis/apps/v1`, ..., and the paths that lead there. */
function documentNames(): readonly string[] {
  const kinds = servedKinds().map((each) => `${each.group === '' ? 'api' : 'apis'}/${groupVersion(each)}`);
  return [...new Set([...kinds, ...signpostNames()])].sort();
}

function documentOf(name: string): unknown {
  if (signpostNames().includes(name)) return signpost(name);
  return openApi3(
    servedKinds().filter((each) => name === `${each.group === '' ? 'api' : 'apis'}/${groupVersion(each)}`),
  );
}

/** Where each document is, by its hash. */
function rootOf3(version3: (name: string) => Rendered): Rendered {
  const places = documentNames().map((name) => [name, { serverRelativeURL: urlOf(name, version3(name)) }] as const);
  const bytes = Buffer.from(JSON.stringify({ paths: Object.fromEntries(places) }));
  return { bytes, hash: tagOf(bytes) };
}

const urlOf = (name: string, { hash }: Rendered): string => `${ROOT_3}/${name}?hash=${hash}`;

function answer2(request: ApiRequest, remember: (name: string, render: () => Uint8Array) => Rendered): ApiResponse {
  const document = (): ReturnType<typeof openApi2> => openApi2(servedKinds(), VERSION.gitVersion);
  const type = likedBest(request.headers['accept'] ?? '', [JSON_TYPE, OLD_PROTOBUF_2, PROTOBUF_2]);
  if (type === '') return notAcceptable;
  if (type !== JSON_TYPE) {
    const rendered = remember('v2 protobuf', () => swaggerProtobuf(document()));
    return bytesAnswer(request, rendered, PROTOBUF_2);
  }
  const rendered = remember('v2', () => Buffer.from(JSON.stringify(swaggerJson(document()))));
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
    return { status: 301, headers: { ...answer.headers, location: urlOf(name, document) }, body: { kind: 'empty' } };
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
