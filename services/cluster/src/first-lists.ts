import { allResources } from '@holdfast/api';
import {
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  collectionPath,
  NOTHING_SEEN,
  SEEN_HEADER,
} from '@holdfast/client';
import type { Revision, Store } from '@holdfast/store';

type Answer = Extract<ApiResponse['body'], { readonly kind: 'json' }>;

/** What the API answers to the first lists of the components of a cluster that continues from one state. */
export class FirstLists {
  readonly #answers = new Map<string, Answer>();

  get(key: string): ApiResponse | undefined {
    const body = this.#answers.get(key);
    return body === undefined ? undefined : { status: 200, headers: { 'content-type': 'application/json' }, body };
  }

  /** The value is frozen. Its objects are shared by the clusters that continue from this state. */
  keep(key: string, { status, body }: ApiResponse): void {
    if (status !== 200 || body.kind !== 'json') return;
    const value = body.value();
    this.#answers.set(key, { kind: 'json', value: () => value, bytes: () => Buffer.from(JSON.stringify(value)) });
  }
}

export interface FirstListsDeps {
  readonly lists: FirstLists;
  /** That of the state. */
  readonly revision: Revision;
  readonly store: Store;
  readonly transport: ApiTransport;
  readonly user: string;
}

/**
 * The API for a component of a cluster that continues from a state. As long as nothing was written, the list of an
 * informer that has seen nothing is that of every other cluster that continued from there: it is served and
 * parsed once. The history is another one, so the answer names none.
 */
export function withFirstLists({ lists, revision, store, transport, user }: FirstListsDeps): ApiTransport {
  const isUnchanged = async (): Promise<boolean> => (await store.currentRevision()) === revision;
  const request = async (asked: ApiRequest): Promise<ApiResponse> => {
    if (!isFirstList(asked) || !(await isUnchanged())) return transport.request(asked);
    const key = `${user} ${asked.headers['accept']} ${asked.path}?${asked.query.toString()}`;
    const known = lists.get(key);
    if (known !== undefined) return known;
    const response = await transport.request(asked);
    if (await isUnchanged()) lists.keep(key, response);
    return response;
  };
  return { request, close: () => transport.close() };
}

/** Of built-in kinds: another program may convert custom ones. */
const isFirstList = ({ method, path, query, headers }: ApiRequest): boolean =>
  method === 'GET' && headers[SEEN_HEADER] === NOTHING_SEEN && query.get('watch') === null && builtIn().has(path);

let paths: ReadonlySet<string> | undefined;
const builtIn = (): ReadonlySet<string> =>
  (paths ??= new Set(allResources().map((resource) => collectionPath(resource, undefined))));
