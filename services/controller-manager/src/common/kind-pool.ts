import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import type { Log } from '@holdfast/platform';

/** Kinds that come and go while controllers run: each is followed in one of its versions while it is served. */
export interface CustomKinds {
  list(): readonly CustomKindRef[];
  /** False while `list` may lack kinds that are served. */
  isComplete(): boolean;
  /**
   * Calls `subscribe` for every kind that is served now or later, once its cache is filled, and what that returns when the kind
   * goes. Returns what ends everything.
   */
  follow(subscribe: (kind: CustomKindRef, cache: Informer<KubeObject>) => () => void): () => void;
}

export interface CustomKindRef extends ResourceRef {
  /** All that are served: owners are named in any of them. */
  readonly versions: readonly string[];
}

interface Followed {
  readonly kind: CustomKindRef;
  readonly cache: Informer<KubeObject>;
  readonly isFilled: () => boolean;
}

export interface KindPoolDeps {
  readonly createCache: (kind: ResourceRef) => Informer<KubeObject>;
  readonly log: Log;
}

/** One cache for each kind, shared by all controllers of the process. */
export class KindPool implements CustomKinds {
  readonly #deps: KindPoolDeps;
  readonly #followed = new Map<string, Followed>();
  readonly #subscribers = new Set<Subscriber>();

  constructor(deps: KindPoolDeps) {
    this.#deps = deps;
  }

  async stop(): Promise<void> {
    await Promise.all(this.names().map((name) => this.#end(name)));
  }

  names(): readonly string[] {
    return [...this.#followed.keys()];
  }

  isComplete(): boolean {
    return true;
  }

  list(): readonly CustomKindRef[] {
    return Array.from(this.#followed.values(), ({ kind }) => kind);
  }

  follow(subscribe: (kind: CustomKindRef, cache: Informer<KubeObject>) => () => void): () => void {
    const subscriber = new Subscriber(subscribe);
    this.#subscribers.add(subscriber);
    for (const [name, each] of this.#followed) if (each.isFilled()) subscriber.begin(name, each);
    return () => {
      this.#subscribers.delete(subscriber);
      subscriber.endAll();
    };
  }

  /** The kind under this name is this one from now on; `undefined`: it is not served. */
  put(name: string, kind: CustomKindRef | undefined): void {
    const known = this.#followed.get(name);
    if (kind !== undefined && known !== undefined && isSameKind(kind, known.kind)) return;
    if (known !== undefined) void this.#end(name);
    if (kind !== undefined) this.#begin(name, kind);
  }

  #begin(name: string, kind: CustomKindRef): void {
    const cache = this.#deps.createCache(kind);
    let filled = false;
    const followed = { kind, cache, isFilled: () => filled };
    this.#followed.set(name, followed);
    void cache
      .start()
      .then(() => cache.synced())
      .then(() => {
        filled = true;
        if (this.#followed.get(name) !== followed) return;
        for (const subscriber of this.#subscribers) subscriber.begin(name, followed);
      })
      .catch((error: unknown) => {
        // A cache that was stopped is not filled any more, which is no fault.
        if (this.#followed.get(name) === followed) {
          this.#deps.log.warn('a kind cannot be followed', { kind: name, error });
        }
      });
  }

  async #end(name: string): Promise<void> {
    const known = this.#followed.get(name);
    this.#followed.delete(name);
    for (const subscriber of this.#subscribers) subscriber.end(name);
    await known?.cache.stop();
  }
}

const isSameKind = (a: CustomKindRef, b: CustomKindRef): boolean => JSON.stringify(a) === JSON.stringify(b);

class Subscriber {
  readonly #subscribe: (kind: CustomKindRef, cache: Informer<KubeObject>) => () => void;
  readonly #ends = new Map<string, () => void>();

  constructor(subscribe: (kind: CustomKindRef, cache: Informer<KubeObject>) => () => void) {
    this.#subscribe = subscribe;
  }

  begin(name: string, { kind, cache }: Followed): void {
    this.#ends.set(name, this.#subscribe(kind, cache));
  }

  end(name: string): void {
    this.#ends.get(name)?.();
    this.#ends.delete(name);
  }

  endAll(): void {
    for (const name of this.#ends.keys()) this.end(name);
  }
}

/** For controllers of clusters that have no such kinds. */
export const NO_CUSTOM_KINDS: CustomKinds = { list: () => [], isComplete: () => true, follow: () => () => {} };
