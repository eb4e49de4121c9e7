import { API_SERVICES, type APIService, isApiAvailable, type ResourceRef } from '@holdfast/api';
import type { ApiClient, DiscoveredResource } from '@holdfast/client';
import { type Clock, describeError, type Timer } from '@holdfast/platform';
import { AGGREGATED_KINDS_INTERVAL_MS, AGGREGATED_KINDS_MAX } from '../limits.ts';
import type { SharedInformers } from './context.ts';
import { type CustomKindRef, KindPool, type KindPoolDeps } from './kind-pool.ts';
import { compareText } from './meta.ts';
import { inParallel } from './writes.ts';

export interface AggregatedKindsDeps extends KindPoolDeps {
  readonly informers: SharedInformers;
  readonly client: ApiClient;
  readonly clock: Clock;
  /** Kinds that are followed already; a registration may lead elsewhere with some of them. */
  readonly known: readonly ResourceRef[];
}

const FOLLOWED_VERBS = ['delete', 'list', 'watch'];

const isForwarded = ({ spec }: Readonly<APIService>): boolean => spec.service !== undefined;
const versionOf = ({ spec }: Readonly<APIService>): string => `${spec.group ?? ''}/${spec.version ?? ''}`;
const nameIn = ({ plural, group }: ResourceRef): string => `${plural}.${group}`;

/** What servers behind the API server serve, as far as it can be listed, watched and deleted. */
export class AggregatedKindPool extends KindPool {
  readonly #deps: AggregatedKindsDeps;
  /** By the name of the APIService; a server that is away keeps what it had. */
  readonly #resources = new Map<string, readonly DiscoveredResource[]>();
  #timer: Timer | undefined;
  #isLooking = false;
  #isDue = false;
  #hasLooked = false;
  #isStopped = false;
  #unsubscribe: () => void = () => {};

  constructor(deps: AggregatedKindsDeps) {
    super(deps);
    this.#deps = deps;
  }

  /** Called once the registrations are known. */
  start(): void {
    const apis = this.#deps.informers.of(API_SERVICES);
    this.#unsubscribe = apis.onChange(({ object, old }) => {
      if ([object, old].some((each) => each !== undefined && isForwarded(each))) this.look();
    });
    if (this.#forwarded().length > 0) this.look();
  }

  /** One look is enough: a server that does not answer it may stay away. */
  override isComplete(): boolean {
    return this.#hasLooked || this.#forwarded().length === 0;
  }

  override async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#timer?.cancel();
    await super.stop();
  }

  /** Asks the servers what they serve; once more when something changes meanwhile. */
  look(): void {
    this.#isDue = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#lookWhileDue();
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#isDue && !this.#isStopped) {
      this.#isDue = false;
      await this.#discover();
      this.#arrange();
      this.#hasLooked = true;
    }
    // In the turn of the last check: a change right after it begins the next look.
    this.#isLooking = false;
    this.#timer?.cancel();
    if (this.#isStopped || this.#forwarded().length === 0) return;
    this.#timer = this.#deps.clock.timer(AGGREGATED_KINDS_INTERVAL_MS, () => this.look());
  }

  #forwarded(): readonly APIService[] {
    return this.#deps.informers.of(API_SERVICES).list().filter(isForwarded);
  }

  async #discover(): Promise<void> {
    const { client, log } = this.#deps;
    await inParallel(this.#forwarded().filter(isApiAvailable), async (api) => {
      const name = api.metadata.name ?? '';
      try {
        this.#resources.set(name, await client.resourcesOf(api.spec.group ?? '', api.spec.version ?? ''));
      } catch (error) {
        log.info('the resources of an aggregated API are not known', { apiService: name, error: describeError(error) });
      }
    });
  }

  #arrange(): void {
    if (this.#isStopped) return;
    const apis = this.#forwarded();
    const names = new Set(apis.map(({ metadata }) => metadata.name ?? ''));
    for (const name of this.#resources.keys()) if (!names.has(name)) this.#resources.delete(name);
    const kinds = aggregatedKinds(apis, this.#resources, this.#deps.known);
    for (const name of this.names()) if (!kinds.has(name)) this.put(name, undefined);
    for (const [name, kind] of kinds) this.put(name, kind);
  }
}

/** A resource of several versions is followed once, in the version with the highest priority. */
export function aggregatedKinds(
  apis: readonly APIService[],
  resources: ReadonlyMap<string, readonly DiscoveredResource[]>,
  known: readonly ResourceRef[],
): ReadonlyMap<string, CustomKindRef> {
  const taken = new Set(known.map(nameIn));
  const kinds = new Map<string, CustomKindRef>();
  for (const api of apis.toSorted(byPriority)) {
    for (const { ref, verbs } of resources.get(api.metadata.name ?? '') ?? []) {
      const name = nameIn(ref);
      if (taken.has(name) || !FOLLOWED_VERBS.every((verb) => verbs.includes(verb))) continue;
      const first = kinds.get(name);
      if (first !== undefined && first.kind === ref.kind) {
        if (!first.versions.includes(ref.version)) {
          kinds.set(name, { ...first, versions: [...first.versions, ref.version] });
        }
      } else if (first === undefined && kinds.size < AGGREGATED_KINDS_MAX) {
        kinds.set(name, { ...ref, versions: [ref.version] });
      }
    }
  }
  return kinds;
}

const byPriority = (a: APIService, b: APIService): number =>
  b.spec.versionPriority - a.spec.versionPriority || compareText(versionOf(a), versionOf(b));
