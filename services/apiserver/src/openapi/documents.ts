import { createHash } from 'node:crypto';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { VERSION } from '../endpoints/version.ts';
import { jsonAnswer } from '../http/answers.ts';
import { groupVersion } from '../served.ts';
import { signpost, signpostNames } from './signposts.ts';
import { openApi2, swaggerJson } from './version-2.ts';
import { swaggerProtobuf } from './version-2-protobuf.ts';
import { openApi3 } from './version-3.ts';

export interface OpenApiDocuments {
  /** `undefined` for a path that is no OpenAPI document. */
  answer(request: ApiRequest): ApiResponse | undefined;
}

const ROOT_2 = '/openapi/v2';
const ROOT_3 = '/openapi/v3';
const PROTOBUF_2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

/** Documents are generated from the field tables when first asked for, and kept: the API does not change while it runs. */
export function createOpenApiDocuments(): OpenApiDocuments {
  const texts = new Map<string, Rendered>();
  const remember = (name: string, render: () => Uint8Array): Rendered => {
    const known = texts.get(name);
    if (known !== undefined) return known;
    const bytes = render();
    const rendered = { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
    texts.set(name, rendered);
    return rendered;
  };
  const version3 = (name: string): Rendered => remember(name, () => Buffer.from(JSON.stringify(documentOf(name))));
  return {
    answer: (request) => {
      const path = request.path.replace(/\/$/, '');
      if (path === ROOT_2) return answer2(request, remember);
      if (path === ROOT_3) return jsonAnswer(200, { paths: listing(version3) });
      if (!path.startsWith(`${ROOT_3}/`)) return undefined;
      const name = path.slice(ROOT_3.length + 1);
      return documentNames().includes(name) ? bytesAnswer(request, version3(name), 'application/json') : undefined;
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

function listing(version3: (name: string) => Rendered): unknown {
  return Object.fromEntries(
    documentNames().map((name) => [name, { serverRelativeURL: `${ROOT_3}/${name}?hash=${version3(name).hash}` }]),
  );
}

function answer2(request: ApiRequest, remember: (name: string, render: () => Uint8Array) => Rendered): ApiResponse {
  const document = (): ReturnType<typeof openApi2> => openApi2(servedKinds(), VERSION.gitVersion);
  if ((request.headers['accept'] ?? '').includes(PROTOBUF_2)) {
    const rendered = remember('v2 protobuf', () => swaggerProtobuf(document()));
    return bytesAnswer(request, rendered, 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
  }
  const rendered = remember('v2', () => Buffer.from(JSON.stringify(swaggerJson(document()))));
  return bytesAnswer(request, rendered, 'application/json');
}

function bytesAnswer(request: ApiRequest, { bytes, hash }: Rendered, contentType: string): ApiResponse {
  const etag = `"${hash}"`;
  if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: { kind: 'empty' } };
  const value = (): unknown => JSON.parse(new TextDecoder().decode(bytes));
  return {
    status: 200,
    headers: { 'content-type': contentType, etag },
    body: { kind: 'json', bytes: () => bytes, value },
  };
}
