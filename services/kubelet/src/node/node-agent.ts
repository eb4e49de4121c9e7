import {
  type ContainerImage,
  LEASES,
  type Lease,
  NODE_INCARNATION,
  NODE_LEASES_NAMESPACE,
  NODES,
  type Node,
  type NodeStatus,
  OTHER_INCARNATION,
  SELF_FENCING,
  type SelfFencingPolicy,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { deepEqual, ownValue, StatusError } from '@holdfast/machinery';
import { type Clock, formatMicroTime, type Log, type Timer } from '@holdfast/platform';
import { defaultLabels, type NodeFacts, newNode, nodeStatus, withoutHeartbeats } from '../domain/node-status.ts';
import type { PressureCondition } from '../eviction/signals.ts';
import {
  HEARTBEAT_LATE_MS,
  LEASE_RENEW_MS,
  NODE_RETRY_MS,
  NODE_STATUS_REPORT_MS,
  NODE_STATUS_TRIES,
  SETTLE_MS,
} from '../limits.ts';
import { nextLease } from '../self-fencing/promised-lease.ts';

/** `starting` and `clearing` end by themselves; during `starting` nothing can be reported. */
export interface NotReady {
  readonly kind: 'fault' | 'starting' | 'clearing';
  readonly reason: string;
}

/** The incarnation that was bound from this installation: containers outlive the kubelet, its memory does not. */
export interface BoundIncarnation {
  read(): string | undefined;
  /** Durable when it returns. */
  write(incarnation: string): void;
}

export interface NodePromiser {
  readonly policy: SelfFencingPolicy | undefined;
  begin(node: Node): void;
  isPromising(): boolean;
}

export interface NodeAgentDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly facts: NodeFacts;
  /** Called before each report. Absent: the address never changes. */
  readonly address?: () => string;
  readonly runtimeVersion: () => Promise<string>;
  /** `undefined`: the runtime has none, or does not say. */
  readonly images: () => Promise<readonly ContainerImage[] | undefined>;
  readonly notReady: () => NotReady | undefined;
  /** Exhausted resources. */
  readonly pressure?: () => readonly PressureCondition[];
  /** Renews the lease, with a promise. Absent: the lease is renewed here, and promises nothing. */
  readonly promise?: NodePromiser | undefined;
  /** The volumes in use; it gets the state in the API. */
  readonly volumes?: { inUse(): readonly string[]; seen(node: Node): void };
  /** The Node object is missing: resolves when every local pod was looked up in the API again. */
  readonly onVanished: () => Promise<void>;
  /** Another machine has the name now, because this one was given up: nothing may continue under it here. */
  readonly onDisplaced?: () => void;
  /** Absent: nothing that runs here outlives the kubelet. */
  readonly bound?: BoundIncarnation | undefined;
}

/** Keeps the Node object and its lease. One beat at a time; a beat that fails is tried again soon. */
export class NodeAgent {
  readonly #deps: NodeAgentDeps;
  #timer: Timer | undefined;
  #beating: Promise<void> | undefined;
  #wanted = false;
  #stopped = false;
  /** Known to be bound to this machine. A refusal reveals that another machine has taken the name. */
  #isBound = false;
  /** Pods of the name may run here: this kubelet, or one before it in the same boot of this machine, was bound. */
  #wasBound: boolean;
  #isRecorded: boolean;
  #lease: Lease | undefined;
  #seen: Node | undefined;
  #reportedAt: number | undefined;
  #leaseRenewedAt: number | undefined;
  #settlingSince: number | undefined;
  /** When the API last took a whole beat. */
  #beatAt: number | undefined;

  constructor(deps: NodeAgentDeps) {
    this.#deps = deps;
    const { bound, facts } = deps;
    // The whole of it, with the boot: a machine that was rebooted, or a clone, runs nothing of the one that was bound.
    this.#wasBound = facts.incarnation !== undefined && bound?.read() === facts.incarnation;
    this.#isRecorded = this.#wasBound;
  }

  start(): void {
    this.beatSoon();
  }

  /** The Node object as it was last read or written. */
  seen(): Node | undefined {
    return this.#seen;
  }

  /** Empty when the node is ready and the API knows it; else sentences on what is wrong. */
  problems(): readonly string[] {
    const { clock, notReady } = this.#deps;
    const reason = notReady()?.reason;
    if (reason !== undefined) return [`the node is not ready: ${reason}`];
    if (this.#beatAt === undefined) return ['the API has accepted no heartbeat yet'];
    const silentMs = clock.monotonic() - this.#beatAt;
    return silentMs > HEARTBEAT_LATE_MS
      ? [`the API has accepted no heartbeat for ${Math.round(silentMs / 1000)} s`]
      : [];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#beating;
  }

  /** Something of the node's status may have changed. */
  beatSoon(): void {
    this.#wanted = true;
    if (this.#beating !== undefined || this.#stopped) return;
    this.#beating = this.#beat().finally(() => {
      this.#beating = undefined;
    });
  }

  async #beat(): Promise<void> {
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      this.#timer?.cancel();
      let nextMs = LEASE_RENEW_MS;
      try {
        await this.#keepNodeAndLease();
        this.#beatAt = this.#deps.clock.monotonic();
      } catch (error) {
        if (this.#stopped) return;
        if (isOtherIncarnation(error)) this.#displaced();
        this.#deps.log.warn('node heartbeat failed, will retry', { node: this.#deps.facts.name, error });
        nextMs = NODE_RETRY_MS;
      }
      this.#timer = this.#deps.clock.timer(nextMs, () => this.beatSoon());
    }
  }

  /** A machine that was never bound in this boot runs no pods under the name. */
  #displaced(): void {
    if (!this.#wasBound) return;
    this.#isBound = false;
    this.#wasBound = false;
    this.#deps.log.error('another machine has the name of this node: its pods are ended here', {
      node: this.#deps.facts.name,
    });
    this.#deps.onDisplaced?.();
  }

  /** The lease shows that this kubelet lives, so it is renewed even when the API refuses the node's status. */
  async #keepNodeAndLease(): Promise<void> {
    let refusal: StatusError | undefined;
    const node = await this.#keepNode().catch((error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
      refusal = error;
      return this.#seen;
    });
    this.#seen = node ?? this.#seen;
    if (node !== undefined) await this.#renewLease(node);
    if (refusal !== undefined) throw refusal;
  }

  async #keepNode(): Promise<Node | undefined> {
    const { client, facts, notReady } = this.#deps;
    await this.#claim();
    // The next heartbeat follows as soon as there is something to report.
    if (notReady()?.kind === 'starting') return undefined;
    const found = await client.find(NODES, { name: facts.name });
    if (found === undefined) return this.#register();
    this.#seen = found;
    return this.#isSettling() ? found : this.#report(found);
  }

  /**
   * Binds an existing Node to this machine when it is unbound, or bound to one that is known to be gone. Until then the
   * API shows this kubelet none of the node's pods.
   */
  async #claim(): Promise<void> {
    const { client, facts, log } = this.#deps;
    const { name, incarnation } = facts;
    if (this.#isBound) this.#record();
    if (incarnation === undefined || this.#isBound) return;
    const found = await client.find(NODES, { name });
    if (found !== undefined && found.metadata.annotations?.[NODE_INCARNATION] !== incarnation) {
      const { uid, resourceVersion } = found.metadata;
      const metadata = { uid, resourceVersion, annotations: { [NODE_INCARNATION]: incarnation } };
      await client.patch(NODES, { name }, { type: 'merge', body: { metadata } });
      log.info('the Node was bound to this machine', { node: name });
    }
    if (found !== undefined) this.#bind();
  }

  #bind(): void {
    if (this.#deps.facts.incarnation === undefined) return;
    this.#isBound = true;
    this.#wasBound = true;
    this.#record();
  }

  /** A full disk is no reason to be called dead: the next beat tries again. */
  #record(): void {
    const { bound, facts, log } = this.#deps;
    if (this.#isRecorded || bound === undefined || facts.incarnation === undefined) return;
    try {
      bound.write(facts.incarnation);
      this.#isRecorded = true;
    } catch (error) {
      log.warn('cannot record that this machine is bound to the node, will retry', { node: facts.name, error });
    }
  }

  /** A node that was ready is not called unready for the moment its kubelet needs after a restart. */
  #isSettling(): boolean {
    const { clock, notReady } = this.#deps;
    if (notReady()?.kind !== 'clearing') {
      this.#settlingSince = undefined;
      return false;
    }
    this.#settlingSince ??= clock.monotonic();
    return clock.monotonic() - this.#settlingSince < SETTLE_MS;
  }

  async #register(): Promise<Node | undefined> {
    const { client, facts, log, onVanished } = this.#deps;
    this.#lease = undefined;
    this.#isBound = false;
    await onVanished();
    this.#seen = await client.create(NODES, newNode(await this.#state()));
    this.#bind();
    log.info('node registered', { node: facts.name });
    return this.#report(this.#seen);
  }

  /** Others write nodes, too (taints, annotations): after a conflict, observe again immediately. */
  async #report(found: Node): Promise<Node | undefined> {
    const { client, facts } = this.#deps;
    let node: Node | undefined = found;
    for (let tries = 1; node !== undefined; tries++) {
      try {
        return await this.#writeReport(node);
      } catch (error) {
        if (!isConflict(error) || tries >= NODE_STATUS_TRIES) throw error;
        node = await client.find(NODES, { name: facts.name });
      }
    }
    // The object was removed between two passes.
    this.#wanted = true;
    return undefined;
  }

  /** Writes when something differs, or, so that an observer sees life in the object too, from time to time. */
  async #writeReport(node: Node): Promise<Node> {
    const { client, clock, facts, volumes } = this.#deps;
    volumes?.seen(node);
    const labels = changedLabels(node, {
      ...defaultLabels(facts),
      ...facts.labels,
      ...promiseLabel(this.#deps.promise),
    });
    if (Object.keys(labels).length > 0) {
      await client.patch(NODES, { name: facts.name }, { type: 'merge', body: { metadata: { labels } } });
    }
    const status = nodeStatus(await this.#state(), node.status);
    const isDue = this.#reportedAt === undefined || clock.monotonic() - this.#reportedAt >= NODE_STATUS_REPORT_MS;
    if (!isDue && deepEqual(withoutHeartbeats(status), withoutHeartbeats(node.status))) return node;
    const { uid, resourceVersion } = node.metadata;
    const precondition = Object.keys(labels).length > 0 ? { uid } : { uid, resourceVersion };
    const body = { metadata: precondition, status: withRemovals(status, node.status) };
    const written = await client.patch(NODES, { name: facts.name }, { type: 'merge', body, subresource: 'status' });
    this.#reportedAt = clock.monotonic();
    volumes?.seen(written);
    return written;
  }

  async #state(): Promise<Parameters<typeof newNode>[0]> {
    const { clock, facts, address, notReady, runtimeVersion, images, pressure, volumes, promise } = this.#deps;
    const [version, found] = await Promise.all([runtimeVersion(), images()]);
    return {
      facts: address === undefined ? facts : { ...facts, address: address() },
      runtimeVersion: version,
      images: found,
      notReady: notReady()?.reason,
      pressure: pressure?.() ?? [],
      volumesInUse: volumes?.inUse(),
      isPromising: promise?.isPromising(),
      now: clock.now(),
    };
  }

  async #renewLease(node: Node): Promise<void> {
    const { clock, promise } = this.#deps;
    if (promise !== undefined) {
      promise.begin(node);
      return;
    }
    // A beat out of turn (the readiness changed) need not renew what is fresh.
    if (this.#leaseRenewedAt !== undefined && clock.monotonic() - this.#leaseRenewedAt < LEASE_RENEW_MS / 2) return;
    this.#lease = await this.#writeLease(node);
    this.#leaseRenewedAt = clock.monotonic();
  }

  async #writeLease(node: Node): Promise<Lease> {
    const { client, clock, facts } = this.#deps;
    const target = { namespace: NODE_LEASES_NAMESPACE, name: facts.name };
    const renewTime = formatMicroTime(clock.now());
    const held = this.#lease ?? (await client.find(LEASES, target));
    const next = nextLease(held, node, { policy: undefined, renewTime });
    try {
      return await (held === undefined ? client.create(LEASES, next) : client.update(LEASES, next));
    } catch (error) {
      // The lease was changed or removed: the next attempt starts from the stored object.
      this.#lease = undefined;
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) this.#wanted = true;
      throw error;
    }
  }
}

/** A patch keeps omitted fields: what is no longer allocatable is removed explicitly. */
function withRemovals(status: NodeStatus, old: NodeStatus | undefined): object {
  const { allocatable = {} } = status;
  const gone = Object.keys(old?.allocatable ?? {}).filter((name) => ownValue(allocatable, name) === undefined);
  return { ...status, allocatable: { ...allocatable, ...Object.fromEntries(gone.map((name) => [name, null])) } };
}

const isOtherIncarnation = (error: unknown): boolean =>
  error instanceof StatusError &&
  error.body.details?.causes?.some(({ reason }) => reason === OTHER_INCARNATION) === true;

const isConflict = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Conflict';

/** `null` removes a label. */
type LabelChanges = Readonly<Record<string, string | null>>;

function changedLabels(node: Node, wanted: LabelChanges): LabelChanges {
  const have = node.metadata.labels ?? {};
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => (have[key] ?? null) !== value));
}

/** The label is there while the promise is in force: affinities can ask for such nodes. */
const promiseLabel = (promise: NodeAgentDeps['promise']): LabelChanges => ({
  [SELF_FENCING]: promise?.isPromising() === true ? (promise.policy ?? null) : null,
});
