import {
  API_SERVICES,
  type APIService,
  type ApiPriority,
  builtInPriority,
  CUSTOM_PRIORITY,
  isApiAvailable,
  REGISTRATION_GROUP,
  type ServiceOfApi,
  UNREGISTERED_PRIORITY,
} from '@holdfast/api';
import type { CachedObject } from '../cache/cached-object.ts';
import type { ObjectFeed } from '../cache/watch-cache.ts';

/** A group-version that another API server serves. */
export interface RemoteApi {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: ServiceOfApi;
  /** PEM. Absent: the authorities that the machine trusts. */
  readonly ca?: string;
  /** True: any certificate will do. */
  readonly insecure: boolean;
  readonly isAvailable: boolean;
}

interface Registered {
  readonly group: string;
  readonly version: string;
  readonly priority: ApiPriority;
  readonly remote: RemoteApi | undefined;
  /** A change of it triggers a new check. */
  readonly specText: string;
  /** Why requests are not forwarded, '' before the first check; absent: they are. */
  readonly unavailable: string | undefined;
}

/** How the API of a registration is, for metrics. */
export interface ApiHealth {
  readonly name: string;
  readonly isAvailable: boolean;
  /** How often it became unavailable, by reason. */
  readonly losses: ReadonlyMap<string, number>;
}

export interface ApiServicesDeps {
  /** Called for added, removed or reassigned APIs; not when only the status changed. */
  readonly onChange: (name: string) => void;
  /** Called when requests begin or cease to be forwarded. */
  readonly onAvailability: (name: string) => void;
}

const DEFAULT_PORT = 443;
/** Reasons are written by whoever checks an API: more of one API are not counted. */
const REASONS_MAX = 8;
const NO_LOSSES: ReadonlyMap<string, number> = new Map();

/**
 * The server of each group-version by the watch cache: a caller that has waited for a revision sees its registrations.
 */
export class ApiServices implements ObjectFeed {
  readonly group = API_SERVICES.group;
  readonly resource = API_SERVICES.plural;
  readonly #deps: ApiServicesDeps;
  readonly #byName = new Map<string, Registered>();
  readonly #losses = new Map<string, Map<string, number>>();
  /** By group, then by version. Usually empty. */
  readonly #remotes = new Map<string, Map<string, RemoteApi>>();
  #generation = 0;

  constructor(deps: ApiServicesDeps) {
    this.#deps = deps;
  }

  /** Grows with every change. */
  get generation(): number {
    return this.#generation;
  }

  names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  health(): readonly ApiHealth[] {
    return [...this.#byName].map(([name, { unavailable }]) => ({
      name,
      isAvailable: unavailable === undefined,
      losses: this.#losses.get(name) ?? NO_LOSSES,
    }));
  }

  remotes(): readonly RemoteApi[] {
    return [...this.#remotes.values()].flatMap((versions) => [...versions.values()]);
  }

  /** Returns the server of a group-version when it is another one. */
  remote(group: string, version: string): RemoteApi | undefined {
    return this.#remotes.get(group)?.get(version);
  }

  /** Returns the server of a path when it is another one. */
  remoteOfPath(path: string): RemoteApi | undefined {
    if (this.#remotes.size === 0) return undefined;
    const [, root, first = '', second = ''] = path.split('/', 4);
    if (root === 'api') return this.remote('', 'v1');
    return root === 'apis' ? this.remote(first, second) : undefined;
  }

  priorityOf(group: string, version: string, isCustom: boolean): ApiPriority {
    return (
      this.#byName.get(`${version}.${group}`)?.priority ??
      builtInPriority(group, version) ??
      (isCustom ? CUSTOM_PRIORITY : UNREGISTERED_PRIORITY)
    );
  }

  reset(): void {
    for (const name of this.names()) this.#remove(name);
  }

  put(object: CachedObject): void {
    const registered = registeredOf(object.object as APIService);
    const known = this.#byName.get(object.name);
    this.#byName.set(object.name, registered);
    this.#keepRemote(registered);
    const { unavailable = '' } = registered;
    if (unavailable !== '' && unavailable !== known?.unavailable) this.#countLoss(object.name, unavailable);
    this.#generation += 1;
    if (known?.specText !== registered.specText) this.#deps.onChange(object.name);
    else if (known.remote?.isAvailable !== registered.remote?.isAvailable) this.#deps.onAvailability(object.name);
  }

  remove(object: CachedObject): void {
    this.#remove(object.name);
  }

  #remove(name: string): void {
    const known = this.#byName.get(name);
    if (known === undefined) return;
    this.#byName.delete(name);
    this.#losses.delete(name);
    this.#keepRemote({ ...known, remote: undefined });
    this.#generation += 1;
    this.#deps.onChange(name);
  }

  #countLoss(name: string, reason: string): void {
    const losses = this.#losses.get(name) ?? new Map<string, number>();
    this.#losses.set(name, losses);
    const count = losses.get(reason);
    if (count !== undefined || losses.size < REASONS_MAX) losses.set(reason, (count ?? 0) + 1);
  }

  #keepRemote({ group, version, remote }: Registered): void {
    // A user who moved this group to another server could not move it back.
    if (group === REGISTRATION_GROUP) return;
    const versions = this.#remotes.get(group) ?? new Map<string, RemoteApi>();
    if (remote === undefined) versions.delete(version);
    else versions.set(version, remote);
    if (versions.size === 0) this.#remotes.delete(group);
    else this.#remotes.set(group, versions);
  }
}

function registeredOf(api: Readonly<APIService>): Registered {
  const { group = '', version = '', groupPriorityMinimum, versionPriority } = api.spec;
  const priority = { group: groupPriorityMinimum, version: versionPriority };
  const unavailable = isApiAvailable(api) || api.spec.service === undefined ? undefined : reasonOf(api);
  return { group, version, priority, remote: remoteOf(api), specText: JSON.stringify(api.spec), unavailable };
}

const reasonOf = ({ status }: Readonly<APIService>): string =>
  (status.conditions ?? []).find(({ type }) => type === 'Available')?.reason ?? '';

function remoteOf(api: Readonly<APIService>): RemoteApi | undefined {
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify } = api.spec;
  if (service === undefined) return undefined;
  const { namespace = '', name = '', port = DEFAULT_PORT } = service;
  return {
    name: api.metadata.name ?? '',
    group,
    version,
    service: { namespace, name, port },
    ...(caBundle === '' ? {} : { ca: Buffer.from(caBundle, 'base64').toString('utf8') }),
    insecure: insecureSkipTLSVerify === true,
    isAvailable: isApiAvailable(api),
  };
}
