import { describeError } from '@holdfast/platform';
import {
  AGGREGATED_DOCUMENTS_INTERVAL_MS,
  AGGREGATED_DOCUMENTS_RETRY_FIRST_MS,
  AGGREGATED_OPENAPI_BYTES_KEPT,
  API_SERVICES_AT_ONCE,
} from '../limits.ts';
import type { ApiServices, RemoteApi } from './api-services.ts';
import type { RemoteResource } from './discovery-documents.ts';
import { KeyedWork } from './keyed-work.ts';
import { type DiscoveryFetchDeps, fetchDiscovery, type KeptDiscovery } from './remote-discovery.ts';
import { fetchOpenApi, openApiNameOf, type RemoteOpenApi } from './remote-openapi.ts';

export interface RemoteDocumentsDeps extends DiscoveryFetchDeps {
  readonly apis: ApiServices;
}

/** What is known of the resources of a version that another server serves. */
export interface RemoteVersion {
  readonly resources: readonly RemoteResource[];
  /** `Stale`: the server could not be asked when it was last tried. */
  readonly freshness: 'Current' | 'Stale';
}

interface Kept {
  readonly discovery: KeptDiscovery | undefined;
  readonly isStale: boolean;
  readonly openApi?: RemoteOpenApi | undefined;
}

const UNKNOWN: Kept = { discovery: undefined, isStale: true };

const bytesOf = (document: RemoteOpenApi | undefined): number =>
  document === undefined ? 0 : document.json.length + (document.protobuf?.length ?? 0);

/** Documents of the servers behind this one. They are asked for in the background; no request waits for them. */
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

  /** One that cannot be read takes nothing else away. */
  async #openApi(api: RemoteApi, kept: RemoteOpenApi | undefined): Promise<RemoteOpenApi | undefined> {
    try {
      const found = await fetchOpenApi(this.#deps, api, kept);
      return found === kept || found === undefined || this.#hasRoom(api.name, found) ? found : undefined;
    } catch (error) {
      this.#deps.log.info('the schemas of an aggregated API are not known', {
        apiService: api.name,
        error: describeError(error),
      });
      return kept;
    }
  }

  #hasRoom(name: string, document: RemoteOpenApi): boolean {
    const others = [...this.#kept].filter(([other]) => other !== name).map(([, { openApi }]) => bytesOf(openApi));
    return others.reduce((sum, bytes) => sum + bytes, bytesOf(document)) <= AGGREGATED_OPENAPI_BYTES_KEPT;
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
      this.#keep(name, { ...known, discovery, isStale: false });
      this.#keep(name, { discovery, isStale: false, openApi: await this.#openApi(api, known.openApi) });
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
      before?.discovery === kept?.discovery && before?.isStale === kept?.isStale && before?.openApi === kept?.openApi;
    if (!isSame) this.#generation += 1;
  }
}
