import {
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  type KubeObject,
  selectorOf as matcherOf,
  NAMESPACES,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
  SERVICES,
  STATEFUL_SETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import { createInformer, type Informer, type InformerChange, type InformerOptions } from '@holdfast/client';
import { compileLabelMap, deepEqual, type LabelSelectorMatcher } from '@holdfast/machinery';
import type { ClusterCache } from './domain/cluster-cache.ts';
import type { TimeEvents } from './event-timing.ts';
import type { EventKind, EventSubjects } from './framework/plugin.ts';

export type Note = <K extends EventKind>(kind: K, about: EventSubjects[K]) => void;

export interface FeedDeps extends Omit<InformerOptions<KubeObject>, 'resource' | 'selection' | 'indexes'> {
  readonly cache: ClusterCache;
  /** Called after the cache update, for everything that may help a pending pod. */
  readonly note: Note;
  readonly onPod: (change: InformerChange<Pod>) => void;
  readonly timed: TimeEvents;
}

/** Watches all inputs of decisions and keeps the cache current. */
export class ClusterFeed {
  readonly #deps: FeedDeps;
  readonly #all: Informer<KubeObject>[] = [];
  readonly #needed: Informer<KubeObject>[] = [];
  readonly #budgets: Informer<PodDisruptionBudget>;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
    const { cache, note } = deps;
    this.#nodes(cache, note);
    this.#storage(cache, note);
    this.#owners(cache);
    this.#follow(PODS, deps.onPod);
    // Budgets count as far as they are known (PREEMPT-16): a decision never waits for them.
    this.#budgets = this.#inform(POD_DISRUPTION_BUDGETS);
  }

  async start(): Promise<void> {
    for (const informer of this.#all) await informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.stop()));
  }

  /** Resolves when decisions are possible; rejects when stopped before. */
  async synced(): Promise<void> {
    await Promise.all(this.#needed.map((informer) => informer.synced()));
  }

  budgets(): readonly PodDisruptionBudget[] {
    return this.#budgets.list();
  }

  #nodes(cache: ClusterCache, note: Note): void {
    this.#follow(NODES, ({ object, old }) => {
      if (object !== undefined) noteNode(object, cache, note);
      else if (old !== undefined) noteRemoved(old, cache, note);
    });
    this.#follow(NAMESPACES, ({ object, old }) => {
      const name = (object ?? old)?.metadata.name ?? '';
      if (object === undefined) cache.removeNamespace(name);
      else if (cache.setNamespace(object)) note('namespace-changed', name);
    });
  }

  #storage({ volumes }: ClusterCache, note: Note): void {
    this.#follow(PERSISTENT_VOLUME_CLAIMS, ({ object, old }) => {
      if (object !== undefined) volumes.setClaim(object);
      else if (old !== undefined) volumes.removeClaim(old);
      if (object !== undefined) note('claim-changed', object);
    });
    this.#follow(PERSISTENT_VOLUMES, ({ object, old }) => {
      if (object !== undefined) volumes.setVolume(object);
      else if (old !== undefined) volumes.removeVolume(old);
      if (object !== undefined) note('volume-changed', object);
    });
    this.#follow(STORAGE_CLASSES, ({ object, old }) => {
      if (object !== undefined) volumes.setClass(object);
      else if (old !== undefined) volumes.removeClass(old);
      if (object !== undefined) note('class-changed', object);
    });
    this.#follow(CSI_NODES, ({ object, old }) => {
      if (object !== undefined) volumes.setCsiNode(object);
      else if (old !== undefined) volumes.removeCsiNode(old);
      note('csi-changed', (object ?? old)?.metadata.name ?? '');
    });
    this.#follow(CSI_DRIVERS, ({ object, old }) => {
      if (object !== undefined) volumes.setCsiDriver(object);
      else if (old !== undefined) volumes.removeCsiDriver(old);
      note('csi-changed', '');
    });
    this.#follow(CSI_STORAGE_CAPACITIES, ({ object, old }) => {
      if (object !== undefined) volumes.setCapacity(object);
      else if (old !== undefined) volumes.removeCapacity(old);
      note('csi-changed', '');
    });
    this.#follow(VOLUME_ATTACHMENTS, ({ object, old }) => {
      if (object !== undefined) volumes.setAttachment(object);
      else if (old !== undefined) {
        volumes.removeAttachment(old);
        note('csi-changed', old.spec.nodeName);
      }
    });
  }

  #owners({ owners }: ClusterCache): void {
    this.#follow(SERVICES, ({ object, old }) => {
      if (object !== undefined) owners.setService(object);
      else if (old !== undefined) owners.removeService(old);
    });
    const follow = <T extends KubeObject & { readonly spec: { readonly selector?: unknown } }>(
      ref: ResourceRef<T>,
      selectorOf: (owner: T) => LabelSelectorMatcher,
    ): void =>
      this.#follow(ref, ({ object, old }) => {
        if (object === undefined) {
          if (old !== undefined) owners.removeController(old);
          // Most changes of an owner only affect its status.
        } else if (old === undefined || !deepEqual(old.spec.selector, object.spec.selector)) {
          owners.setController(object, selectorOf(object));
        }
      });
    follow(REPLICATION_CONTROLLERS, ({ spec }) => compileLabelMap(spec.selector ?? {}));
    follow(REPLICA_SETS, ({ spec }) => matcherOf(spec.selector));
    follow(STATEFUL_SETS, ({ spec }) => matcherOf(spec.selector));
  }

  #follow<T extends KubeObject>(resource: ResourceRef<T>, onChange: (change: InformerChange<T>) => void): void {
    const informer = this.#inform(resource);
    informer.onChange(this.#deps.timed(resource, onChange));
    this.#needed.push(informer);
  }

  #inform<T extends KubeObject>(resource: ResourceRef<T>): Informer<T> {
    const { client, bus, clock, random, log } = this.#deps;
    const informer = createInformer({ client, bus, clock, random, log, resource });
    this.#all.push(informer);
    return informer;
  }
}

function noteNode(node: Node, cache: ClusterCache, note: Note): void {
  const events = cache.setNode(node);
  const info = events.length === 0 ? undefined : cache.node(node.metadata.name ?? '');
  if (info !== undefined) for (const event of events) note(event, info);
}

function noteRemoved(node: Node, cache: ClusterCache, note: Note): void {
  const info = cache.removeNode(node.metadata.name ?? '');
  if (info !== undefined) note('node-removed', info);
}
