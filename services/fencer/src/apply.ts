import { NODES, type Node, PERSISTENT_VOLUMES, type PersistentVolume, PODS, type Pod } from '@holdfast/api';
import type { ApiClient, EventRecorder, ReconcileResult } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Ids, type Log } from '@holdfast/platform';
import type { FenceAgent, FenceAnswer, FenceRequest, FenceVerb } from './agents/port.ts';
import type { FencerConfiguration } from './configuration/configuration.ts';
import { judgeClaim } from './domain/count-claims.ts';
import { type FenceAction, type FenceSnapshot, heldBackBy } from './domain/decide.ts';
import { type FenceClaim, UNFENCE } from './domain/marks.ts';
import { HELD_BACK, OVER, UNFENCED } from './domain/partition.ts';
import { AGENT_PENDING_MS, AGENT_RETRY_MS, COUNT_AGAIN_MS, LOOK_AGAIN_MS } from './limits.ts';
import type { FencerMetrics } from './metrics.ts';
import { NodeWrites } from './node-writes.ts';

export interface ApplyDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly metrics: FencerMetrics;
  readonly configuration: FencerConfiguration;
  readonly agents: ReadonlyMap<string, FenceAgent>;
}

const AGAIN: ReconcileResult = { requeueAfterMs: 0 };

/** Applies one step. Its write to the Node, or the requested time, triggers the next one. */
export class Applier {
  readonly #deps: ApplyDeps;
  readonly #writes: NodeWrites;
  /** Requests whose agent is still working, and the time of the next report. */
  readonly #pending = new Map<string, number>();
  /** The end of the last claim of a rule. */
  #claims: Promise<unknown> = Promise.resolve();

  constructor(deps: ApplyDeps) {
    this.#deps = deps;
    this.#writes = new NodeWrites(deps.client, deps.clock);
  }

  async apply(snapshot: FenceSnapshot, action: FenceAction, signal: AbortSignal): Promise<ReconcileResult> {
    const { node } = snapshot;
    switch (action.kind) {
      case 'rest':
        if (action.warning !== undefined) this.#event(node, 'Warning', 'UnfencingWaits', action.warning);
        return after(action.lookAgainMs);
      case 'tell':
        await this.#writes.tell(node, action.reason, action.message);
        return after(action.lookAgainMs ?? 0);
      case 'claim':
        return this.#claim(node, { ...action.claim, requestId: this.#deps.ids.uuid() }, signal);
      case 'count':
        return this.#count(node, action.claim, signal);
      case 'drop':
        await this.#drop(node, OVER, action.message);
        return AGAIN;
      case 'fence':
        return this.#fence(snapshot, action.claim, signal);
      case 'unmark':
        await this.#unmark(node);
        return AGAIN;
      case 'turn':
        await this.#writes.turn(node, action.claim);
        return AGAIN;
      case 'lift':
        return this.#lift(node, action.claim, signal);
      case 'keep-off':
        await this.#writes.keepOff(node, action.taint, action.effect);
        return AGAIN;
      case 'end-pods':
        for (const pod of action.pods) await this.#end(node, pod);
        return AGAIN;
      case 'break':
        for (const volume of action.volumes) await this.#break(volume);
        return AGAIN;
    }
  }

  async #unmark(node: Node): Promise<void> {
    const message = 'nothing was fenced, so there is nothing to lift; the node is not fenced for its present state';
    this.#event(await this.#writes.unmark(node, message), 'Normal', 'Unfenced', message);
  }

  /** Rules claim one after the other: nodes that are lost together would all be below the limit. */
  async #claim(node: Node, claim: FenceClaim, signal: AbortSignal): Promise<ReconcileResult> {
    if (claim.isTentative !== true) return this.#writeClaim(node, claim);
    const claiming = this.#claims.then(async () => {
      const nodes = await this.#liveNodes(signal);
      const otherNodes = nodes.filter(({ metadata }) => metadata.name !== node.metadata.name);
      const brake = heldBackBy(this.#deps.configuration, { otherNodes });
      return brake === undefined ? this.#writeClaim(node, claim) : after(LOOK_AGAIN_MS);
    });
    this.#claims = claiming.catch(() => {});
    return claiming;
  }

  /** Another fencer does not wait for the claims of this one, so a stored claim is counted once more. */
  async #count(node: Node, claim: FenceClaim, signal: AbortSignal): Promise<ReconcileResult> {
    const verdict = judgeClaim(this.#deps.configuration, node, await this.#liveNodes(signal));
    if (verdict === 'wait') return after(COUNT_AGAIN_MS);
    if (verdict === 'go') await this.#writes.keep(node, claim);
    else {
      const message = 'held back: other nodes were claimed at the same time, or no other node is ready';
      await this.#drop(node, HELD_BACK, message);
    }
    return AGAIN;
  }

  async #drop(node: Node, reason: string, message: string): Promise<void> {
    this.#event(await this.#writes.retract(node, reason, message), 'Normal', 'FencingCancelled', message);
  }

  /** Past the cache, which does not know of the last claims yet. */
  async #liveNodes(signal: AbortSignal): Promise<readonly Node[]> {
    signal.throwIfAborted();
    return (await this.#deps.client.list(NODES, { signal })).items;
  }

  async #writeClaim(node: Node, claim: FenceClaim): Promise<ReconcileResult> {
    const claimed = await this.#writes.claim(node, claim);
    this.#deps.metrics.claimed(claim.boundSeconds);
    const text = `${claim.scope} fence by agent ${claim.agent}: ${claim.reason}; confirmed within ${claim.boundSeconds} s of the loss if the agent answers in time; request ${claim.requestId}`;
    this.#event(claimed, 'Normal', 'FencingStarted', text);
    return AGAIN;
  }

  async #fence(snapshot: FenceSnapshot, claim: FenceClaim, signal: AbortSignal): Promise<ReconcileResult> {
    const { node, partitionedSinceMs } = snapshot;
    const answer = await this.#ask(node, claim, { action: 'fence', signal });
    if (answer === undefined) return after(AGENT_RETRY_MS);
    if (answer.state === 'pending') return after(AGENT_PENDING_MS);
    if (answer.state !== 'fenced') return this.#notConfirmed(node, claim, answer);
    const fenced = await this.#writes.confirm(node, claim, answer.message);
    const { clock, metrics } = this.#deps;
    metrics.fenced(partitionedSinceMs === undefined ? undefined : (clock.monotonic() - partitionedSinceMs) / 1000);
    this.#event(fenced, 'Normal', 'FencingSucceeded', `agent ${claim.agent} confirms the ${claim.scope} fence`);
    return AGAIN;
  }

  async #lift(node: Node, claim: FenceClaim, signal: AbortSignal): Promise<ReconcileResult> {
    const answer = await this.#ask(node, claim, { action: 'unfence', signal });
    if (answer === undefined) return after(AGENT_RETRY_MS);
    if (answer.state === 'pending') return after(AGENT_PENDING_MS);
    if (answer.state !== 'unfenced') return this.#notConfirmed(node, claim, answer);
    const isAsked = claim.lifting === 'asked';
    const message = isAsked ? 'the fence was lifted' : 'the node was heard again before its fence was confirmed';
    const free = await this.#writes.release(node, isAsked ? UNFENCED : OVER, message);
    this.#event(free, 'Normal', isAsked ? 'Unfenced' : 'FencingCancelled', message);
    return AGAIN;
  }

  /**
   * Resolves with `undefined` when the agent failed, and reports that. Then the state of the machine is unknown, so
   * nothing changes.
   */
  async #ask(
    node: Node,
    claim: FenceClaim,
    { action, signal }: { readonly action: FenceVerb; readonly signal: AbortSignal },
  ): Promise<FenceAnswer | undefined> {
    const agent = this.#deps.agents.get(claim.agent);
    const question = `${action} ${claim.requestId}`;
    const verb = this.#pending.has(question) ? 'status' : action;
    try {
      if (agent === undefined) throw new Error(`there is no agent ${claim.agent} in the configuration`);
      const answer = await agent.ask(this.#requestFor(node, claim, verb), signal);
      if (answer.state === 'pending') this.#pends(node, claim, question);
      else this.#pending.delete(question);
      return answer;
    } catch (error) {
      this.#pending.delete(question);
      signal.throwIfAborted();
      this.#failed(node, claim, describeError(error));
      return undefined;
    }
  }

  /** Reports an agent that works longer than its time-out, repeatedly: nobody else would notice. */
  #pends(node: Node, claim: FenceClaim, question: string): void {
    const { clock, configuration } = this.#deps;
    const timeoutMs = configuration.agents.find(({ name }) => name === claim.agent)?.timeoutMs ?? 0;
    const tellAtMs = this.#pending.get(question);
    if (tellAtMs !== undefined && clock.monotonic() < tellAtMs) return;
    this.#pending.set(question, clock.monotonic() + timeoutMs);
    if (tellAtMs === undefined) return;
    const wayOut =
      claim.lifting === undefined ? `; check the agent, or give up with the annotation ${UNFENCE}=true` : '';
    this.#failed(node, claim, `still at work after more than ${timeoutMs / 1000} s${wayOut}`);
  }

  #notConfirmed(node: Node, claim: FenceClaim, { state, message }: FenceAnswer): ReconcileResult {
    this.#failed(node, claim, `the node is ${state}${message === '' ? '' : `: ${message}`}`);
    return after(AGENT_RETRY_MS);
  }

  #failed(node: Node, claim: FenceClaim, why: string): void {
    this.#deps.metrics.failed(claim.agent);
    this.#deps.log.warn('a fence agent failed', { node: node.metadata.name, agent: claim.agent, why });
    this.#event(
      node,
      'Warning',
      'FencingFailed',
      `agent ${claim.agent}: ${why}; nothing is released, it is tried again`,
    );
  }

  #requestFor({ metadata, spec, status }: Node, claim: FenceClaim, action: FenceVerb): FenceRequest {
    const agent = this.#deps.configuration.agents.find(({ name }) => name === claim.agent);
    return {
      action,
      requestId: claim.requestId,
      scope: claim.scope,
      node: {
        name: metadata.name ?? '',
        uid: metadata.uid ?? '',
        providerID: spec.providerID ?? '',
        addresses: status.addresses ?? [],
        labels: metadata.labels ?? {},
      },
      servers: claim.servers,
      parameters: agent?.parameters ?? {},
    };
  }

  /** The machine is off, so no kubelet will end the pod. The uid protects a new pod with the same name. */
  async #end(node: Node, { metadata }: Pod): Promise<void> {
    const { name = '', namespace = '', uid = '' } = metadata;
    const { client, log } = this.#deps;
    await unlessGone(() => client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, uid }));
    log.info('ended a pod of a fenced node', { node: node.metadata.name, pod: `${namespace}/${name}` });
  }

  async #break(volume: PersistentVolume): Promise<void> {
    const { attachment: _broken, ...status } = volume.status;
    await unlessGone(() => this.#deps.client.updateStatus(PERSISTENT_VOLUMES, { ...volume, status }));
  }

  #event(node: Node, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#deps.events.event(node, { type, reason, message });
  }
}

const after = (ms: number | undefined): ReconcileResult => (ms === undefined ? {} : { requeueAfterMs: ms });

/** Ignores a conflict or a missing object: the next pass sees the current state. */
async function unlessGone(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
  }
}
