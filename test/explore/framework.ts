import { CoreV1Api, CustomObjectsApi, KubeConfig, type KubernetesObject, Watch } from '@kubernetes/client-node';

/** What the small operators have in common: caches of lists and watches, and one reconcile at a time. */

export const namespace = 'default';
const TANKS = { group: 'example.com', version: 'v1', namespace, plural: 'tanks' } as const;

export interface Tank extends KubernetesObject {
  readonly spec: Readonly<Record<string, string | number>>;
  readonly status?: Readonly<Record<string, string | number | boolean>>;
}

export interface Cached extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export type CachedResource = 'configmaps' | 'secrets' | 'persistentvolumeclaims';

export interface World {
  readonly core: CoreV1Api;
  /** From the cache. */
  readonly tanks: ReadonlyMap<string, Tank>;
  readonly cached: (resource: CachedResource) => ReadonlyMap<string, Cached>;
  /** From the API server, in the newest state. */
  readonly liveTank: (name: string) => Promise<Tank | undefined>;
  readonly updateTank: (tank: Tank) => Promise<unknown>;
  readonly updateStatus: (tank: Tank, status: NonNullable<Tank['status']>) => Promise<unknown>;
}

export interface OperatorForm {
  readonly watches: readonly CachedResource[];
  /** Called after every change of a cache, and again after a failure. */
  reconcile(world: World): Promise<void>;
  readonly onTank?: (type: string, tank: Tank) => void;
  /** The planted reaction to 410: watch again from the same version. */
  readonly ignoresExpiry?: boolean;
}

export const nameOf = ({ metadata }: KubernetesObject): string => metadata?.name ?? '';
export const isGoing = ({ metadata }: KubernetesObject): boolean => metadata?.deletionTimestamp !== undefined;
export const codeOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : undefined;

/** `undefined` when the API answers with this code. */
export async function unless<T>(code: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) === code) return undefined;
    throw error;
  }
}

export const ownedBy = (tank: Tank) => [
  { apiVersion: 'example.com/v1', kind: 'Tank', name: nameOf(tank), uid: tank.metadata?.uid ?? '' },
];

const RETRY_MS = 50;
const WATCH_AGAIN_MS = 20;

interface Listed {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly items: readonly KubernetesObject[];
}

/** One resource in the memory of the operator, as client-go keeps it: a list of any version, then a watch. */
class Cache {
  readonly objects = new Map<string, KubernetesObject>();
  readonly #path: string;
  readonly #list: () => Promise<Listed>;
  readonly #onChange: (type: string, object: KubernetesObject) => void;
  #version: string | undefined;

  constructor(path: string, list: () => Promise<Listed>, onChange: (type: string, object: KubernetesObject) => void) {
    this.#path = path;
    this.#list = list;
    this.#onChange = onChange;
  }

  async load(): Promise<void> {
    const { metadata, items } = await this.#list();
    this.objects.clear();
    for (const each of items) this.objects.set(nameOf(each), each);
    this.#version = metadata?.resourceVersion;
    for (const each of items) this.#onChange('LISTED', each);
  }

  async follow(config: KubeConfig, sleep: Sleep, ignoresExpiry: boolean): Promise<never> {
    for (;;) {
      try {
        if (this.#version === undefined) await this.load();
        await this.#watch(config, ignoresExpiry);
      } catch (error) {
        console.error(`watch of ${this.#path}: ${String(error)}`);
      }
      await sleep(WATCH_AGAIN_MS);
    }
  }

  async #watch(config: KubeConfig, ignoresExpiry: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const take = (type: string, object: KubernetesObject): void => {
      if (type === 'ERROR') {
        if (!ignoresExpiry) this.#version = undefined;
        return;
      }
      this.#version = object.metadata?.resourceVersion;
      if (type === 'BOOKMARK') return;
      if (type === 'DELETED') this.objects.delete(nameOf(object));
      else this.objects.set(nameOf(object), object);
      this.#onChange(type, object);
    };
    const query = { resourceVersion: this.#version, allowWatchBookmarks: true };
    await new Watch(config).watch(this.#path, query, take, () => resolve());
    await promise;
  }
}

export type Sleep = (ms: number) => Promise<unknown>;

export async function operate(form: OperatorForm, sleep: Sleep): Promise<never> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const core = config.makeApiClient(CoreV1Api);
  const objects = config.makeApiClient(CustomObjectsApi);
  let wake = Promise.withResolvers<void>();
  const onChange = (): void => wake.resolve();
  const any = { namespace, resourceVersion: '0' };
  const lists: Readonly<Record<CachedResource, () => Promise<Listed>>> = {
    configmaps: () => core.listNamespacedConfigMap(any),
    secrets: () => core.listNamespacedSecret(any),
    persistentvolumeclaims: () => core.listNamespacedPersistentVolumeClaim(any),
  };
  const onTank = (type: string, tank: KubernetesObject): void => {
    form.onTank?.(type, tank as Tank);
    onChange();
  };
  const tanks = new Cache(
    `/apis/example.com/v1/namespaces/${namespace}/tanks`,
    () => objects.listNamespacedCustomObject({ ...TANKS, resourceVersion: '0' }) as Promise<Listed>,
    onTank,
  );
  const others = new Map(
    form.watches.map((each) => [each, new Cache(`/api/v1/namespaces/${namespace}/${each}`, lists[each], onChange)]),
  );
  const caches = [tanks, ...others.values()];
  const world: World = {
    core,
    tanks: tanks.objects as Map<string, Tank>,
    cached: (resource) => (others.get(resource)?.objects ?? new Map()) as Map<string, Cached>,
    liveTank: async (name) =>
      (await unless(404, objects.getNamespacedCustomObject({ ...TANKS, name }))) as Tank | undefined,
    updateTank: (tank) => objects.replaceNamespacedCustomObject({ ...TANKS, name: nameOf(tank), body: tank }),
    updateStatus: (tank, status) =>
      objects.replaceNamespacedCustomObjectStatus({ ...TANKS, name: nameOf(tank), body: { ...tank, status } }),
  };
  for (const each of caches)
    while (
      !(await each.load().then(
        () => true,
        () => false,
      ))
    )
      await sleep(RETRY_MS);
  for (const each of caches) void each.follow(config, sleep, form.ignoresExpiry ?? false);
  for (;;) {
    wake = Promise.withResolvers();
    try {
      await form.reconcile(world);
    } catch (error) {
      console.error(`reconcile: ${String(error).split('\n')[0]}`);
      await sleep(RETRY_MS);
      continue;
    }
    await wake.promise;
  }
}
