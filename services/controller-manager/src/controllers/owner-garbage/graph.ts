import type { KubeObject, OwnerReference, ResourceRef } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { describeError, RecentMap } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { type CustomKindRef, NO_CUSTOM_KINDS } from '../../common/kind-pool.ts';
import { apiVersionOf, namespaceOf, parseKey, toTarget, uidOf } from '../../common/meta.ts';
import { inParallel } from '../../common/writes.ts';
import { ABSENT_OWNERS_REMEMBERED, AGGREGATED_DEPENDENTS_MS, UNREACHABLE_OWNERS_REMEMBERED } from '../../limits.ts';
import { isWaitingForDependents, type OwnerState } from './decide.ts';

/** One object of one kind, as a key of the work queue: `apps/v1/deployments default/web`. */
export interface Node {
  readonly resource: ResourceRef;
  readonly key: string;
}

interface Dependent {
  readonly resource: ResourceRef;
  readonly object: KubeObject;
}

const pathOf = ({ group, version, plural }: ResourceRef): string => `${group}/${version}/${plural}`;
/** The kind of an owner as a reference names it. */
const ownerNameOf = ({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string =>
  `${apiVersion} ${kind}`;
const ownerNameIn = (resource: ResourceRef): string =>
  ownerNameOf({ apiVersion: apiVersionOf(resource), kind: resource.kind });
const ownerNamesOf = (kind: CustomKindRef): readonly string[] =>
  kind.versions.map((version) => ownerNameIn({ ...kind, version }));

export const workKey = ({ resource, key }: Node): string => `${pathOf(resource)} ${key}`;

/** Ownership from the caches of all kinds. An absent owner is always verified with the API. */
export class OwnershipGraph {
  readonly #context: ControllerContext;
  readonly #byPath: Map<string, ResourceRef>;
  readonly #byKind: Map<string, ResourceRef>;
  /** For custom kinds. */
  readonly #customCaches = new Map<ResourceRef, Informer<KubeObject>>();
  /** Of servers behind the API server: any of them may be away, lie or hang. */
  readonly #aggregated = new Set<ResourceRef>();
  #caches: readonly (readonly [ResourceRef, Informer<KubeObject>])[] | undefined;
  /** Also those that are not served any more: a pass that began before knows only the metadata of its object. */
  readonly #metadataOnly = new WeakSet<ResourceRef>();
  /**
   * By place and uid: an owner that is absent from the place that one reference names may be in that of another. Uids are
   * never used twice, so a proof of absence holds for ever. The value is true when the owner is in another namespace.
   */
  readonly #absent = new Map<string, boolean>();
  /** By the uids of dependent and owner. */
  readonly #reported = new RecentMap<string, true>(UNREACHABLE_OWNERS_REMEMBERED);

  constructor(context: ControllerContext, resources: readonly ResourceRef[]) {
    this.#context = context;
    this.#byPath = new Map(resources.map((resource) => [pathOf(resource), resource]));
    this.#byKind = new Map(resources.map((resource) => [ownerNameIn(resource), resource]));
  }

  addAggregated(kind: CustomKindRef, cache: Informer<KubeObject>): void {
    this.#aggregated.add(kind);
    this.#metadataOnly.add(kind);
    this.add(kind, cache);
  }

  hasOnlyMetadata(resource: ResourceRef): boolean {
    return this.#metadataOnly.has(resource);
  }

  isAggregated(resource: ResourceRef): boolean {
    return this.#aggregated.has(resource);
  }

  /** A look at it may have to ask a server behind the API server. */
  needsAggregated({ resource, key }: Node): boolean {
    if (this.#aggregated.size === 0) return false;
    if (this.isAggregated(resource)) return true;
    const owners = this.cached({ resource, key })?.metadata.ownerReferences ?? [];
    return owners.some((owner) => {
      const kind = this.#byKind.get(ownerNameOf(owner));
      return kind !== undefined && this.isAggregated(kind);
    });
  }

  add(kind: CustomKindRef, cache: Informer<KubeObject>): void {
    this.#customCaches.set(kind, cache);
    this.#byPath.set(pathOf(kind), kind);
    for (const name of ownerNamesOf(kind)) this.#byKind.set(name, kind);
    this.#caches = undefined;
  }

  remove(kind: CustomKindRef): void {
    this.#customCaches.delete(kind);
    this.#aggregated.delete(kind);
    this.#byPath.delete(pathOf(kind));
    for (const name of ownerNamesOf(kind)) this.#byKind.delete(name);
    this.#caches = undefined;
  }

  #cacheOf(resource: ResourceRef): Informer<KubeObject> {
    return this.#customCaches.get(resource) ?? this.#context.informers.of(resource);
  }

  parse(work: string): Node | undefined {
    const space = work.indexOf(' ');
    const resource = this.#byPath.get(work.slice(0, space));
    return resource === undefined ? undefined : { resource, key: work.slice(space + 1) };
  }

  cached({ resource, key }: Node): KubeObject | undefined {
    return this.#cacheOf(resource).get(parseKey(key));
  }

  dependentsOf(ownerUid: string): readonly (Node & { readonly object: KubeObject })[] {
    // Called for every deleted object, of which few own anything.
    const found: (Node & { readonly object: KubeObject })[] = [];
    for (const [resource, cache] of this.#allCaches()) {
      for (const object of cache.byIndex('owner', ownerUid)) {
        found.push({ resource, object, key: keyIn(resource, object) });
      }
    }
    return found;
  }

  /**
   * Returns objects with an owner of the kind, in any of its versions. Reads every known object; called once per new
   * kind.
   */
  dependentsOfKind(kind: CustomKindRef): readonly (Node & { readonly object: KubeObject })[] {
    const names = new Set(ownerNamesOf(kind));
    const isDependent = ({ metadata }: KubeObject): boolean =>
      metadata.ownerReferences?.some((owner) => names.has(ownerNameOf(owner))) === true;
    return this.#allCaches().flatMap(([resource, cache]) =>
      cache
        .list()
        .filter(isDependent)
        .map((object) => ({ resource, object, key: keyIn(resource, object) })),
    );
  }

  #allCaches(): readonly (readonly [ResourceRef, Informer<KubeObject>])[] {
    this.#caches ??= Array.from(this.#byPath.values(), (resource) => [resource, this.#cacheOf(resource)]);
    return this.#caches;
  }

  /** Both wait for their dependents, and the dependent waits, perhaps through others, for this very owner: neither would ever end. */
  waitRoundACircle(owner: KubeObject, dependent: KubeObject): boolean {
    if (!isWaitingForDependents(owner)) return false;
    const seen = new Set<string>();
    const toVisit = [dependent];
    for (let each = toVisit.pop(); each !== undefined; each = toVisit.pop()) {
      if (uidOf(each) === uidOf(owner)) return true;
      if (seen.has(uidOf(each)) || !isWaitingForDependents(each)) continue;
      seen.add(uidOf(each));
      toVisit.push(...this.dependentsOf(uidOf(each)).map(({ object }) => object));
    }
    return false;
  }

  /** The node that a reference names; undefined for a kind that is not served. */
  ownerNode(dependent: KubeObject, owner: OwnerReference): Node | undefined {
    const resource = this.#byKind.get(ownerNameOf(owner));
    if (resource === undefined) return undefined;
    const namespace = namespaceOf(dependent);
    return { resource, key: resource.namespaced && namespace !== '' ? `${namespace}/${owner.name}` : owner.name };
  }

  /** Uses only the caches; `undefined` means that the cache lacks it, which proves nothing. */
  cachedOwnerState(dependent: KubeObject, owner: OwnerReference): OwnerState | undefined {
    const node = this.ownerNode(dependent, owner);
    if (node === undefined || isOutOfReach(node.resource, dependent)) return 'present';
    const cached = this.cached(node);
    return cached !== undefined && uidOf(cached) === owner.uid ? stateOf(cached) : undefined;
  }

  /** The result without a request to the API. */
  knownOwnerState(dependent: KubeObject, owner: OwnerReference): OwnerState | undefined {
    const cached = this.cachedOwnerState(dependent, owner);
    if (cached !== undefined) return cached;
    const node = this.ownerNode(dependent, owner);
    return node !== undefined && this.#absent.has(placeOf(node, owner)) ? 'absent' : undefined;
  }

  /** The owner exists, but in a namespace that the reference cannot name, and that was not reported yet. */
  isUnreported(dependent: KubeObject, owner: OwnerReference): boolean {
    const node = this.ownerNode(dependent, owner);
    if (node === undefined || this.#reported.get(referenceOf(dependent, owner)) !== undefined) return false;
    return isOutOfReach(node.resource, dependent)
      ? this.#isInOtherNamespace(node.resource, dependent, owner)
      : this.#absent.get(placeOf(node, owner)) === true;
  }

  noteReported(dependent: KubeObject, owner: OwnerReference): void {
    this.#reported.set(referenceOf(dependent, owner), true);
  }

  #isInOtherNamespace(kind: ResourceRef, dependent: KubeObject, owner: OwnerReference): boolean {
    const namespaces = this.#byKind.get(NAMESPACE);
    if (!kind.namespaced || namespaces === undefined) return false;
    return this.#cacheOf(namespaces)
      .list()
      .some(({ metadata: { name: namespace = '' } }) => {
        if (namespace === namespaceOf(dependent)) return false;
        const other = this.#cacheOf(kind).get({ namespace, name: owner.name });
        return other !== undefined && uidOf(other) === owner.uid;
      });
  }

  async askedOwnerState(dependent: KubeObject, owner: OwnerReference): Promise<OwnerState> {
    const node = this.ownerNode(dependent, owner);
    if (node === undefined) return 'present';
    const live = await this.#live(node);
    if (live !== undefined && uidOf(live) === owner.uid) return stateOf(live);
    this.#rememberAbsent(placeOf(node, owner), this.#isInOtherNamespace(node.resource, dependent, owner));
    return 'absent';
  }

  /**
   * A server that does not serve the whole kind also answers with 404: it starts, its registration went, or it has not
   * heard of the definition yet. Neither that nor an answer about something else proves absence.
   */
  async #live({ resource, key }: Node): Promise<KubeObject | undefined> {
    const { client } = this.#context;
    const target = parseKey(key);
    if (!this.#customCaches.has(resource)) return client.find(resource, target);
    let live: KubeObject;
    try {
      live = await client.get(resource, target);
    } catch (error) {
      if (isAbsence(error, target.name)) return undefined;
      // Not the error itself: it says that the owner is not found, and the pass is to be repeated.
      throw new Error(
        `it is not known whether the owner ${workKey({ resource, key })} exists: ${describeError(error)}`,
      );
    }
    if (live.metadata.name === target.name && live.metadata.uid !== undefined) return live;
    throw new Error(`the answer about the owner ${workKey({ resource, key })} is about something else`);
  }

  /**
   * Everything that names the owner, asked of the API itself: who is missed here would be deleted afterwards. Of servers behind it
   * the caches tell: one that is away holds up no owners of other kinds.
   */
  async liveDependents(owner: KubeObject): Promise<readonly Dependent[]> {
    // Lists need no cache: kinds whose cache is not filled yet are asked too.
    const { customKinds = NO_CUSTOM_KINDS } = this.#context;
    const asked = [...this.#byPath.values(), ...customKinds.list()].filter((kind) => !this.isAggregated(kind));
    const unfilled = await this.#unfilledDependents(owner);
    const cached = this.dependentsOf(uidOf(owner)).filter(({ resource }) => this.isAggregated(resource));
    return [...(await this.#listDependents(new Set(asked), owner)), ...unfilled, ...cached];
  }

  /** Dependents on servers whose cache is not filled yet, as those of all are after a start. */
  async #unfilledDependents(owner: KubeObject): Promise<readonly Dependent[]> {
    const { aggregatedKinds = NO_CUSTOM_KINDS, clock, log } = this.#context;
    if (!aggregatedKinds.isComplete()) throw new Error('the kinds of aggregated APIs are not known yet');
    const kinds = aggregatedKinds.list().filter((kind) => !this.#byPath.has(pathOf(kind)));
    if (kinds.length === 0) return [];
    const ending = new AbortController();
    const timer = clock.timer(AGGREGATED_DEPENDENTS_MS, () => ending.abort());
    const found: Dependent[] = [];
    const failure = await inParallel(kinds, async (kind) => {
      this.#metadataOnly.add(kind);
      found.push(...(await this.#listDependents([kind], owner, ending.signal)));
    });
    timer.cancel();
    if (failure !== undefined)
      log.info('dependents in aggregated APIs are not known', { error: describeError(failure) });
    return found;
  }

  /** The same of kinds whose cache is not filled yet: nearly always there are none. */
  async unseenDependents(owner: KubeObject): Promise<readonly KubeObject[]> {
    const { customKinds = NO_CUSTOM_KINDS } = this.#context;
    const unseen = customKinds.list().filter((kind) => !this.#byPath.has(pathOf(kind)));
    if (unseen.length === 0) return [];
    return (await this.#listDependents(unseen, owner)).map(({ object }) => object);
  }

  async #listDependents(
    resources: Iterable<ResourceRef>,
    owner: KubeObject,
    signal?: AbortSignal,
  ): Promise<readonly Dependent[]> {
    const namespace = namespaceOf(owner);
    const found: Dependent[] = [];
    for (const resource of resources) {
      if (namespace !== '' && !resource.namespaced) continue;
      const { items } = await this.#context.client.list(resource, {
        ...(namespace === '' ? {} : { namespace }),
        ...(signal === undefined ? {} : { signal }),
      });
      for (const object of items) {
        if (object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
          found.push({ resource, object });
      }
    }
    return found;
  }

  #rememberAbsent(place: string, isInOtherNamespace: boolean): void {
    const [oldest] = this.#absent.keys();
    if (this.#absent.size >= ABSENT_OWNERS_REMEMBERED && oldest !== undefined) this.#absent.delete(oldest);
    this.#absent.set(place, isInOtherNamespace);
  }
}

const isAbsence = (error: unknown, name: string): boolean =>
  error instanceof StatusError && error.code === 404 && error.body.details?.name === name;

const NAMESPACE = ownerNameOf({ apiVersion: 'v1', kind: 'Namespace' });
const referenceOf = (dependent: KubeObject, { uid }: OwnerReference): string => `${uidOf(dependent)} ${uid}`;

const placeOf = (node: Node, { uid }: OwnerReference): string => `${workKey(node)} ${uid}`;

const stateOf = (owner: KubeObject): OwnerState => (isWaitingForDependents(owner) ? 'waiting' : 'present');

/** A namespaced object cannot own a cluster-scoped one: such a reference is ignored and deletes nothing. */
const isOutOfReach = (ownerKind: ResourceRef, dependent: KubeObject): boolean =>
  ownerKind.namespaced && namespaceOf(dependent) === '';

export function keyIn(resource: ResourceRef, object: KubeObject): string {
  const target = toTarget(resource.namespaced ? namespaceOf(object) : '', object.metadata.name ?? '');
  return target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;
}
