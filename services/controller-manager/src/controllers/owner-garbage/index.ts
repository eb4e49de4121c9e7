import type { KubeObject, OwnerReference, ResourceRef } from '@holdfast/api';
import type { Informer, InformerChange, ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isFollowed } from '../../common/followed-kinds.ts';
import { isSame } from '../../common/hash.ts';
import { type CustomKindRef, NO_CUSTOM_KINDS } from '../../common/kind-pool.ts';
import { isTerminating, namespaceOf, parseKey, targetOf, uidOf, withoutOwners } from '../../common/meta.ts';
import { inParallel, isConflict, isNotFound, unlessChanged } from '../../common/writes.ts';
import {
  OWNER_GC_WORKERS,
  OWNERS_ASKED_PER_PASS,
  UNSEEN_OWNER_RECHECK_MS,
  WORKERS_PER_CONTROLLER,
} from '../../limits.ts';
import {
  blocks,
  decide,
  FOREGROUND,
  isOfInterest,
  isWaitingForDependents,
  type OwnerState,
  type OwnershipAction,
} from './decide.ts';
import { keyIn, type Node, OwnershipGraph, workKey } from './graph.ts';

export function ownerGarbageController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const collected = resources.filter(isFollowed);
  return {
    name: 'garbage-collector',
    component: 'garbage-collector-controller',
    identity: 'manager',
    watches: collected,
    create: (context) => createLoops(context, collected),
  };
}

/** What may have to wait for a server behind the API server has a queue and workers of its own. */
function createLoops(context: ControllerContext, resources: readonly ResourceRef[]): readonly Loop[] {
  const graph = new OwnershipGraph(context, resources);
  let enqueueAggregated: (key: string) => void = () => {};
  const aggregated: Loop = {
    name: 'garbage-collector of aggregated APIs',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => [],
    wake: (enqueue) => {
      enqueueAggregated = enqueue;
      return [];
    },
    reconcile: (work) => reconcile(context, graph, work),
  };
  return [aggregated, createLoop({ context, graph, resources, enqueueAggregated: (work) => enqueueAggregated(work) })];
}

async function reconcile(context: ControllerContext, graph: OwnershipGraph, work: string): Promise<ReconcileResult> {
  const node = graph.parse(work);
  return node === undefined ? {} : pass(context, graph, node);
}

interface LoopParts {
  readonly context: ControllerContext;
  readonly graph: OwnershipGraph;
  readonly resources: readonly ResourceRef[];
  readonly enqueueAggregated: (work: string) => void;
}

function createLoop({ context, graph, resources, enqueueAggregated }: LoopParts): Loop {
  const { informers, customKinds = NO_CUSTOM_KINDS, aggregatedKinds = NO_CUSTOM_KINDS } = context;
  return {
    name: 'garbage-collector',
    workers: OWNER_GC_WORKERS,
    // Passes over nearly all objects of a cluster at rest would do nothing.
    initialKeys: () =>
      resources.flatMap((resource) =>
        informers
          .of(resource)
          .list()
          .filter((object) => isOfInterest(object) && !isAtRest(graph, object))
          .map((object) => workKey({ resource, key: keyIn(resource, object) })),
      ),
    wake: (enqueue) => {
      const look = (node: Node): void => (graph.needsAggregated(node) ? enqueueAggregated : enqueue)(workKey(node));
      const follow = (resource: ResourceRef, cache: Informer<KubeObject>): (() => void) =>
        cache.onChange((change) => {
          for (const node of affected(graph, resource, change)) look(node);
        });
      let isStarting = true;
      const begin = (kind: CustomKindRef, cache: Informer<KubeObject>): (() => void) => {
        for (const object of cache.list()) {
          if (isOfInterest(object)) look({ resource: kind, key: keyIn(kind, object) });
        }
        // Passes before took owners of the kind for present; before the start there were none, and everything is due.
        for (const node of isStarting ? [] : graph.dependentsOfKind(kind)) {
          if (isOfInterest(node.object) && !isAtRest(graph, node.object)) look(node);
        }
        const unfollow = follow(kind, cache);
        return () => {
          unfollow();
          graph.remove(kind);
        };
      };
      const stops = [
        ...resources.map((resource) => follow(resource, informers.of(resource))),
        aggregatedKinds.follow((kind, cache) => {
          graph.addAggregated(kind, cache);
          return begin(kind, cache);
        }),
        customKinds.follow((kind, cache) => {
          graph.add(kind, cache);
          return begin(kind, cache);
        }),
      ];
      isStarting = false;
      return stops;
    },
    reconcile: (work) => reconcile(context, graph, work),
  };
}

/** Returns the keys that a change affects: the object, its dependents, and owners that wait for its deletion. */
function affected(graph: OwnershipGraph, resource: ResourceRef, change: InformerChange<KubeObject>): readonly Node[] {
  const { key, object, old } = change;
  const known = object ?? old;
  if (known === undefined) return [];
  const isNewlyWaiting =
    object !== undefined && isWaitingForDependents(object) && !(old !== undefined && isWaitingForDependents(old));
  // A deletion and a new object with the same name may appear as one change.
  const isGone = object === undefined || (old !== undefined && uidOf(old) !== uidOf(object));
  // An object whose owners all exist is not queued: if one is deleted, its dependents are processed.
  const isItself =
    object !== undefined &&
    isOfInterest(object) &&
    (old === undefined || !isSameOwnership(object, old)) &&
    !isAtRest(graph, object);
  const owners = known.metadata.ownerReferences ?? [];
  const hasLeft = object === undefined || !isSame(owners, old?.metadata.ownerReferences ?? []);
  return [
    ...(isItself ? [{ resource, key }] : []),
    ...(isGone && old !== undefined ? graph.dependentsOf(uidOf(old)) : []),
    ...(isNewlyWaiting ? graph.dependentsOf(uidOf(object)) : []),
    ...(hasLeft && old !== undefined ? waitingOwners(graph, old) : []),
  ];
}

const isSameOwnership = (a: KubeObject, b: KubeObject): boolean =>
  isTerminating(a) === isTerminating(b) &&
  isSame(a.metadata.ownerReferences ?? [], b.metadata.ownerReferences ?? []) &&
  isSame(a.metadata.finalizers ?? [], b.metadata.finalizers ?? []);

const waitingOwners = (graph: OwnershipGraph, dependent: KubeObject): readonly Node[] =>
  (dependent.metadata.ownerReferences ?? []).flatMap((owner) => {
    const node = graph.ownerNode(dependent, owner);
    const cached = node === undefined ? undefined : graph.cached(node);
    return node !== undefined && cached !== undefined && isWaitingForDependents(cached) ? [node] : [];
  });

/** Every write names the observed revision, so the cache suffices; the API is read only after a refusal. */
async function pass(context: ControllerContext, graph: OwnershipGraph, node: Node): Promise<ReconcileResult> {
  const cached = graph.cached(node);
  if (cached === undefined || !isOfInterest(cached) || isAtRest(graph, cached)) return {};
  const tools = { context, graph, resource: node.resource };
  try {
    return await settle(tools, cached);
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error)) throw error;
    const live = await context.client.find(node.resource, parseKey(node.key));
    return live !== undefined && uidOf(live) === uidOf(cached) ? settle(tools, live) : {};
  }
}

/** What rests on an answer of the API alone is looked at again: an owner that no cache ever shows goes without a change in them. */
async function settle(tools: Tools, object: KubeObject): Promise<ReconcileResult> {
  const { graph } = tools;
  const owners = new Map<string, OwnerState>();
  let asked = 0;
  for (const owner of isTerminating(object) ? [] : references(object)) {
    const known = graph.knownOwnerState(object, owner);
    // Owners beyond the limit count as present: the write about the others triggers the next pass.
    if (known === undefined && asked++ >= OWNERS_ASKED_PER_PASS) break;
    const state = known ?? (await graph.askedOwnerState(object, owner));
    // Two references may have the same uid, of which one names another place.
    if (owners.get(owner.uid) !== 'present') owners.set(owner.uid, state);
    if (graph.isUnreported(object, owner)) reportUnreachable(tools, object, owner);
  }
  const dependents = graph
    .dependentsOf(uidOf(object))
    .map((dependent) => dependent.object)
    .filter((dependent) => !graph.waitRoundACircle(object, dependent));
  const action = decide({ object, owners, dependents });
  if (action !== undefined) await apply(tools, object, action);
  return asked > 0 && action === undefined ? { requeueAfterMs: UNSEEN_OWNER_RECHECK_MS } : {};
}

/** The words of Kubernetes: they name the place where the reference looks for the owner. */
function reportUnreachable({ context, graph }: Tools, object: KubeObject, owner: OwnerReference): void {
  const { apiVersion, kind, name, uid } = owner;
  const namespace = namespaceOf(object);
  const place = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const message = `ownerRef ${place} does not exist in namespace ${JSON.stringify(namespace)}`;
  context.events.event(object, { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message });
  graph.noteReported(object, owner);
}

const references = (object: KubeObject): readonly OwnerReference[] => object.metadata.ownerReferences ?? [];

/** All its owners are there: nearly every pass ends here, without a question to the API. */
const isAtRest = (graph: OwnershipGraph, object: KubeObject): boolean =>
  !isTerminating(object) &&
  references(object).every(
    (owner) => graph.cachedOwnerState(object, owner) === 'present' && !graph.isUnreported(object, owner),
  );

interface Tools {
  readonly context: ControllerContext;
  readonly graph: OwnershipGraph;
  readonly resource: ResourceRef;
}

/** Writes only metadata, because nothing else of an aggregated object is known. */
async function writeMetadata({ context, graph, resource }: Tools, object: KubeObject): Promise<void> {
  const { client } = context;
  if (!graph.hasOnlyMetadata(resource)) {
    await client.update(resource, object);
    return;
  }
  const { uid, resourceVersion, ownerReferences = [], finalizers = [] } = object.metadata;
  const body = { metadata: { uid, resourceVersion, ownerReferences, finalizers } };
  await client.patch(resource, targetOf(object), { type: 'merge', body });
}

async function apply(tools: Tools, object: KubeObject, action: OwnershipAction): Promise<void> {
  const { context, graph, resource } = tools;
  switch (action.type) {
    case 'drop-owners':
      await writeMetadata(tools, withoutOwners(object, action.ownerUids));
      return;
    case 'delete':
      await remove({ context, graph, resource }, object, action.propagationPolicy);
      return;
    case 'finish':
      // Dependents of a kind whose cache is filled later would be left behind; when it is, they bring the next pass.
      if (
        action.finalizer === FOREGROUND &&
        (await graph.unseenDependents(object)).some((each) => blocks(each, uidOf(object)))
      )
        return;
      await finish({ context, graph, resource }, object, action.finalizer);
      return;
    case 'orphan-dependents': {
      const own = new Set([uidOf(object)]);
      const failure = await inParallel(await graph.liveDependents(object), async (dependent) => {
        const of = { ...tools, resource: dependent.resource };
        await unlessChanged(() => writeMetadata(of, withoutOwners(dependent.object, own)));
      });
      if (failure !== undefined) throw failure;
      if ((await graph.liveDependents(object)).length > 0)
        throw new Error('some dependents changed while they were orphaned');
      await finish({ context, graph, resource }, object, 'orphan');
      return;
    }
  }
}

async function remove(
  { context, resource }: Tools,
  object: KubeObject,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
): Promise<void> {
  const { resourceVersion } = object.metadata;
  const preconditions = { uid: uidOf(object), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  try {
    await context.client.delete(resource, targetOf(object), { ...preconditions, propagationPolicy });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function finish(tools: Tools, object: KubeObject, finalizer: string): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
  try {
    await writeMetadata(tools, { ...object, metadata: { ...object.metadata, finalizers } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
