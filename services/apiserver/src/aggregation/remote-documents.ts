import { describeError } from '@holdfast/platform';
import {
  AGGREGATED_DOCUMENTS_INTERVAL_MS,
  AGGREGATED_DOCUMENTS_RETRY_FIRST_MS,
  AGGREGATED_OPENAPI_BYTES_KEPT,
  API_SERVICES_AT_ONCE,
} from '../limits.ts';
import { KeyedWork } from '../turns/keyed-work.ts';
import type { ApiServices, RemoteApi } from './api-services.ts';
import type { RemoteResource } from './discovery-documents.ts';
import { type DiscoveryFetchDeps, fetchDiscovery, type KeptDiscovery } from './remote-discovery.ts';
import { fetchOpenApi, openApiNameOf, type RemoteOpenApi } from './remote-openapi.ts';
import { fetchOpenApi2, type RemoteOpenApi2 } from './remote-openapi-2.ts';

export interface RemoteDocumentsDeps extends DiscoveryFetchDeps {
  readonly apis: ApiServices;
}

/** The known resources of a version on another server. */
export interface RemoteVersion {
  readonly resources: readonly RemoteResource[];
  /** `Stale`: the last request to the server failed. */
  readonly freshness: 'Current' | 'Stale';
}

interface Kept {
  readonly discovery: KeptDiscovery | undefined;
  readonly isStale: boolean;
  readonly openApi?: RemoteOpenApi | undefined;
  readonly openApi2?: RemoteOpenApi2 | undefined;
}

const UNKNOWN: Kept = { discovery: undefined, isStale: true };

const bytesOf = ({ openApi, openApi2 }: Kept): number =>
  (openApi?.json.length ?? 0) + (openApi?.protobuf?.length ?? 0) + (openApi2?.json.length ?? 0);

/** Documents of aggregated servers. They are fetched in the background; no request waits for them. */
export class RemoteDocuments {
  readonly #deps: RemoteDocumentsDeps;
  readonly #work: KeyedWork;
  /** By the name of the APIService. */
  readonly #kept = new Map<string, Kept>();
  #generation = 0;

  constructor(deps: RemoteDocumentsDeps) {
    this.#deps = deps;
    this.#work = new KeyedWork({
      ...deps,
      subject: 'reading the documents of an aggregated API',
      look: (name) => this.#look(name),
      retryFirstMs: AGGREGATED_DOCUMENTS_RETRY_FIRST_MS,
      retryLongestMs: AGGREGATED_DOCUMENTS_INTERVAL_MS,
      atOnce: API_SERVICES_AT_ONCE,
    });
  }

  /** Grows with every change. */
  get generation(): number {
    return this.#generation;
  }

  start(): void {
    this.#work.start(this.#deps.apis.remotes().map(({ name }) => name));
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  wake(name: string): void {
    this.#work.wake(name);
  }

  versionOf({ name, isAvailable }: RemoteApi): RemoteVersion {
    const { discovery, isStale } = this.#kept.get(name) ?? UNKNOWN;
    return { resources: discovery?.resources ?? [], freshness: isStale || !isAvailable ? 'Stale' : 'Current' };
  }

  /** By their names in the list of all documents. */
  openApiDocuments(): ReadonlyMap<string, RemoteOpenApi> {
    const remotes = this.#deps.apis.remotes();
    return new Map(
      remotes.flatMap((api) => {
        const document = this.#kept.get(api.name)?.openApi;
        return document === undefined ? [] : [[openApiNameOf(api), document] as const];
      }),
    );
  }

  /** By descending priority of groups and versions: the first description of a type keeps its name. */
  openApi2Documents(): readonly RemoteOpenApi2[] {
    const { apis } = this.#deps;
    return apis
      .remotes()
      .toSorted((a, b) => byPriority(apis, a, b))
      .flatMap((api) => this.#kept.get(api.name)?.openApi2 ?? []);
  }

  /** A document that cannot be read takes nothing else away: what was known before stays. */
  async #schemas<T>(api: RemoteApi, kept: T | undefined, fetched: Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await fetched;
    } catch (error) {
      this.#deps.log.info('the schemas of an aggregated API are not known', {
        apiService: api.name,
        error: describeError(error),
      });
      return kept;
    }
  }

  async #withSchemas(api: RemoteApi, known: Kept): Promise<Kept> {
    const { openApi, openApi2, ...others } = known;
    const version2 = await this.#schemas(api, openApi2, fetchOpenApi2(this.#deps, api, openApi2));
    const version3 = await this.#schemas(api, openApi, fetchOpenApi(this.#deps, api, { openApi, openApi2: version2 }));
    const all: Kept = { ...others, openApi: version3, openApi2: version2 };
    if (this.#hasRoom(api.name, all)) return all;
    this.#deps.log.info(
      'the schemas of an aggregated API are left out: the schemas of all APIs together are too large',
      {
        apiService: api.name,
        bytesMax: AGGREGATED_OPENAPI_BYTES_KEPT,
      },
    );
    return others;
  }

  #hasRoom(name: string, kept: Kept): boolean {
    const others = [...this.#kept].filter(([other]) => other !== name).map(([, each]) => bytesOf(each));
    return others.reduce((sum, bytes) => sum + bytes, bytesOf(kept)) <= AGGREGATED_OPENAPI_BYTES_KEPT;
  }

  async #look(name: string): Promise<number | undefined> {
    const api = this.#deps.apis.remotes().find((each) => each.name === name);
    if (api === undefined) {
      this.#work.forget(name);
      this.#keep(name, undefined);
      return undefined;
    }
    const known = this.#kept.get(name) ?? UNKNOWN;
    // The one who finds out that it answers again wakes this.
    if (!api.isAvailable) {
      this.#keep(name, { ...known, isStale: true });
      return undefined;
    }
    try {
      const discovery = await fetchDiscovery(this.#deps, api, known.discovery);
      const current = { ...known, discovery, isStale: false };
      this.#keep(name, current);
      this.#keep(name, await this.#withSchemas(api, current));
      this.#work.succeeded(name);
      return AGGREGATED_DOCUMENTS_INTERVAL_MS;
    } catch (error) {
      this.#deps.log.info('the resources of an aggregated API are not known', {
        apiService: name,
        error: describeError(error),
      });
      this.#keep(name, { ...known, isStale: true });
      return this.#work.pauseAfterFailure(name);
    }
  }

  #keep(name: string, kept: Kept | undefined): void {
    const before = this.#kept.get(name);
    if (kept === undefined) this.#kept.delete(name);
    else this.#kept.set(name, kept);
    const isSame =
      before?.discovery === kept?.discovery &&
      before?.isStale === kept?.isStale &&
      before?.openApi === kept?.openApi &&
      before?.openApi2 === kept?.openApi2;
    if (!isSame) this.#generation += 1;
  }
}

function byPriority(apis: ApiServices, a: RemoteApi, b: RemoteApi): number {
  const [ofA, ofB] = [a, b].map(({ group, version }) => apis.priorityOf(group, version, false));
  if (ofA === undefined || ofB === undefined) return 0;
  return ofB.group - ofA.group || ofB.version - ofA.version || (a.name < b.name ? -1 : 1);
}
