import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { dateOf } from '@holdfast/platform';
import type { RemoteOpenApi } from '../aggregation/remote-openapi.ts';
import type { RemoteOpenApi2 } from '../aggregation/remote-openapi-2.ts';
import type { Catalog } from '../endpoints/catalog.ts';
import { VERSION } from '../endpoints/version.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { likedBest } from '../http/negotiation.ts';
import { KEPT_DOCUMENT_MS } from '../limits.ts';
import { inTurns, jsonParts, type Parts } from '../turns/parts.ts';
import { withForeignParts } from './merge-version-2.ts';
import { openApi2Parts } from './version-2.ts';
import { openApi2Protobuf } from './version-2-protobuf.ts';
import { contentOf3, documentNames3, documentParts3 } from './version-3-documents.ts';
import { openApi3Protobuf } from './version-3-protobuf.ts';

export interface OpenApiDocuments {
  /** `undefined` for a path that is not an OpenAPI document. */
  answer(request: ApiRequest, asked: Asked): Promise<ApiResponse> | undefined;
}

export interface Asked {
  readonly now: number;
  /** Lets others work, between the parts of a document that is long in the making. */
  readonly goOn: () => Promise<void> | undefined;
}

const ROOT_2 = '/openapi/v2';
const ROOT_3 = '/openapi/v3';
const JSON_TYPE = 'application/json';
const PROTOBUF_2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const PROTOBUF_3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
/** Names that are no media types; older clients ask by them. */
const OLD_PROTOBUF_2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const OLD_PROTOBUF_3 = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf';

/** Documents are made in parts on first use, and cached until a definition changes them. */
export function createOpenApiDocuments(catalog: Catalog, others: OtherDocuments = NO_OTHERS): OpenApiDocuments {
  const kept = new KeptDocuments(catalog, others);
  return {
    answer: (request, { now, goOn }) => {
      const path = request.path.replace(/\/$/, '');
      if (path !== ROOT_2 && path !== ROOT_3 && !path.startsWith(`${ROOT_3}/`)) return undefined;
      kept.renew();
      if (path === ROOT_2) return answer2(request, kept, goOn);
      if (path === ROOT_3) return rootOf3(kept, goOn).then((root) => bytesAnswer(request, root, JSON_TYPE));
      const name = path.slice(ROOT_3.length + 1);
      return kept.names3().includes(name) ? answer3({ request, name, now }, kept, goOn) : undefined;
    },
  };
}

/** Documents that other servers have. */
export interface OtherDocuments {
  /** Of version 3, by name. */
  readonly openApiDocuments: () => ReadonlyMap<string, RemoteOpenApi>;
  /** Parts of the document of version 2; the first comes first in it. */
  readonly openApi2Documents: () => readonly RemoteOpenApi2[];
}

const NONE: ReadonlyMap<string, RemoteOpenApi> = new Map();
const NO_OTHERS: OtherDocuments = { openApiDocuments: () => NONE, openApi2Documents: () => [] };

interface Rendered {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

type GoOn = Asked['goOn'];

/** Concurrent requests for a document share its creation. */
class KeptDocuments {
  readonly catalog: Catalog;
  readonly #others: OtherDocuments;
  readonly #made = new Map<string, Promise<Rendered>>();
  readonly #hashes = new Map<string, Promise<string>>();
  #contents: ReadonlyMap<string, string>;
  #generation: number;
  #parts2: readonly RemoteOpenApi2[] = [];

  constructor(catalog: Catalog, others: OtherDocuments) {
    this.catalog = catalog;
    this.#others = others;
    this.#generation = catalog.generation;
    this.#contents = contentOf3(catalog);
  }

  /** Recreates only documents that a definition changed. */
  renew(): void {
    this.#renewParts2();
    const { generation } = this.catalog;
    if (this.#generation === generation) return;
    const contents = contentOf3(this.catalog);
    for (const name of new Set([...contents.keys(), ...this.#contents.keys()])) {
      if (contents.get(name) === this.#contents.get(name)) continue;
      for (const each of [name, `${name} protobuf`]) this.#made.delete(each);
      this.#hashes.delete(name);
    }
    this.#forget2();
    this.#generation = generation;
    this.#contents = contents;
  }

  #renewParts2(): void {
    const parts = this.#others.openApi2Documents();
    const known = this.#parts2;
    if (parts.length === known.length && parts.every(({ hash }, i) => hash === known[i]?.hash)) return;
    this.#parts2 = parts;
    this.#forget2();
  }

  #forget2(): void {
    for (const each of ['v2', 'v2 protobuf']) this.#made.delete(each);
  }

  version2(type: string, goOn: GoOn): Promise<Rendered> {
    const versions = this.catalog.versionsByGroup();
    const kinds = versions.flatMap(({ group, version }) => this.catalog.kindsOf(group, version));
    const document = withForeignParts(openApi2Parts(kinds, VERSION.gitVersion, versions), this.#parts2);
    if (type === JSON_TYPE) return this.#remember('v2', textParts(document), goOn);
    return this.#remember('v2 protobuf', protobufOf(document, openApi2Protobuf), goOn);
  }

  names3(): readonly string[] {
    return [...new Set([...documentNames3(this.catalog), ...this.#others.openApiDocuments().keys()])].sort();
  }

  /** True when a version 3 document has this encoding; only those of other servers may lack one. */
  hasForm3(name: string, type: string): boolean {
    const other = this.#others.openApiDocuments().get(name);
    return type === JSON_TYPE || other === undefined || other.protobuf !== undefined;
  }

  /** Known by the same hash, whatever its form. */
  async version3(name: string, type: string, goOn: GoOn): Promise<Rendered> {
    const other = this.#others.openApiDocuments().get(name);
    if (other !== undefined) {
      return { bytes: type === JSON_TYPE ? other.json : (other.protobuf ?? other.json), hash: other.hash };
    }
    const document = documentParts3(this.catalog, name);
    const rendered =
      type === JSON_TYPE
        ? this.#remember(name, textParts(document), goOn)
        : this.#remember(`${name} protobuf`, protobufOf(document, openApi3Protobuf), goOn);
    const hash = this.hashOf3(name, goOn);
    return { bytes: (await rendered).bytes, hash: await hash };
  }

  /** Most documents are never read: the list keeps only their hashes. */
  hashOf3(name: string, goOn: GoOn): Promise<string> {
    const other = this.#others.openApiDocuments().get(name);
    if (other !== undefined) return Promise.resolve(other.hash);
    const content = this.#contents.get(name);
    const make = async (): Promise<string> =>
      tagOf(
        content === undefined
          ? await inTurns(textParts(documentParts3(this.catalog, name)), goOn)
          : Buffer.from(content),
      );
    return keep(this.#hashes, name, make);
  }

  #remember(name: string, parts: Parts<Uint8Array>, goOn: GoOn): Promise<Rendered> {
    return keep(this.#made, name, async () => {
      const bytes = await inTurns(parts, goOn);
      return { bytes, hash: tagOf(bytes) };
    });
  }
}

/** A failure is retried on the next request. */
function keep<T>(kept: Map<string, Promise<T>>, name: string, make: () => Promise<T>): Promise<T> {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const made = make();
  kept.set(name, made);
  made.catch(() => {
    if (kept.get(name) === made) kept.delete(name);
  });
  return made;
}

function* textParts(document: Parts<unknown>): Parts<Uint8Array> {
  return Buffer.from(yield* jsonParts(yield* document));
}

function* protobufOf(document: Parts<unknown>, write: (document: unknown) => Parts<Uint8Array>): Parts<Uint8Array> {
  return yield* write(yield* document);
}

/** The paths of the documents by hash. */
async function rootOf3(kept: KeptDocuments, goOn: GoOn): Promise<Rendered> {
  const places: [string, unknown][] = [];
  for (const name of kept.names3()) {
    places.push([name, { serverRelativeURL: urlOf(name, await kept.hashOf3(name, goOn)) }]);
  }
  const bytes = Buffer.from(JSON.stringify({ paths: Object.fromEntries(places) }));
  return { bytes, hash: tagOf(bytes) };
}

const urlOf = (name: string, hash: string): string => `${ROOT_3}/${name}?hash=${hash}`;

async function answer2(request: ApiRequest, kept: KeptDocuments, goOn: GoOn): Promise<ApiResponse> {
  const type = likedBest(request.headers['accept'] ?? '', [JSON_TYPE, OLD_PROTOBUF_2, PROTOBUF_2]);
  if (type === '') return notAcceptable;
  return bytesAnswer(request, await kept.version2(type, goOn), type === JSON_TYPE ? JSON_TYPE : PROTOBUF_2);
}

/** There is no API that could say more. */
const notAcceptable: ApiResponse = { status: 406, headers: { vary: 'Accept' }, body: { kind: 'empty' } };

interface Wanted3 {
  readonly request: ApiRequest;
  readonly name: string;
  readonly now: number;
}

/** A client that names a hash may cache the document; for an outdated hash it is redirected to the current one. */
async function answer3(
  { request, name, now }: Wanted3,
  ...[kept, goOn]: readonly [KeptDocuments, GoOn]
): Promise<ApiResponse> {
  const type = likedBest(request.headers['accept'] ?? '', [JSON_TYPE, OLD_PROTOBUF_3, PROTOBUF_3]);
  if (type === '' || !kept.hasForm3(name, type)) return notAcceptable;
  const document = await kept.version3(name, type, goOn);
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
