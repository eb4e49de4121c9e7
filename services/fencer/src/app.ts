import { NODES, type Node } from '@holdfast/api';
import {
  type Controller,
  createController,
  createEventRecorder,
  createInformer,
  createWorkQueue,
  type Informer,
  type ReconcileResult,
  type RunningEventRecorder,
  type WorkQueue,
} from '@holdfast/client';
import type { Service } from '@holdfast/platform';
import { Applier } from './apply.ts';
import { decide } from './domain/decide.ts';
import { isConcerned } from './domain/partition.ts';
import type { FencerDeps } from './fencer-deps.ts';
import { PASS_MARGIN_MS, WORKERS } from './limits.ts';
import { createFencerMetrics, type FencerMetrics } from './metrics.ts';
import { observe } from './observe.ts';
import { Sightings } from './sightings.ts';

const COMPONENT = 'fencer';

export interface Fencer extends Service {
  /** In Prometheus text format. */
  metrics(): string;
  isReady(): boolean;
}

/**
 * Does the work of an administrator for partitioned nodes: detects them, decides, has them cut off, and only then
 * releases their resources.
 */
export function createFencer(deps: FencerDeps): Fencer {
  return new RunningFencer(deps);
}

class RunningFencer implements Fencer {
  readonly name = COMPONENT;
  readonly #deps: FencerDeps;
  readonly #nodes: Informer<Node>;
  readonly #queue: WorkQueue;
  readonly #events: RunningEventRecorder;
  readonly #sightings: Sightings;
  readonly #metrics: FencerMetrics;
  readonly #applier: Applier;
  readonly #loop: Controller;
  #unsubscribe: () => void = () => {};
  #ready = false;

  constructor(deps: FencerDeps) {
    this.#deps = deps;
    const { client, bus, clock, random, log, ids, tracer, configuration } = deps;
    this.#nodes = createInformer({ client, bus, resource: NODES, clock, random, log });
    this.#queue = createWorkQueue({ clock });
    this.#events = createEventRecorder({ client, component: COMPONENT, clock, ids, log });
    const sightings = new Sightings(clock);
    this.#sightings = sightings;
    this.#metrics = createFencerMetrics(() => sightings.partitioned());
    this.#applier = new Applier({ ...deps, events: this.#events, metrics: this.#metrics });
    this.#loop = createController({
      name: COMPONENT,
      queue: this.#queue,
      workers: WORKERS,
      deadlineMs: Math.max(0, ...configuration.agents.map(({ timeoutMs }) => timeoutMs)) + PASS_MARGIN_MS,
      reconcile: (name, signal) => this.#pass(name, signal),
      clock,
      log,
      tracer,
    });
  }

  metrics(): string {
    return this.#metrics.render();
  }

  isReady(): boolean {
    return this.#ready;
  }

  async start(): Promise<void> {
    await this.#events.start();
    await this.#nodes.start();
    await this.#nodes.synced();
    this.#unsubscribe = this.#nodes.onChange(({ key, object, old }) => {
      if ([object, old].some((node) => node !== undefined && isConcerned(node))) this.#queue.add(key);
    });
    for (const { metadata } of this.#nodes.list().filter(isConcerned)) this.#queue.add(metadata.name ?? '');
    await this.#loop.start();
    this.#ready = true;
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    await this.#nodes.stop();
    await this.#events.stop();
  }

  async #pass(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, clock, configuration, holder } = this.#deps;
    const snapshot = await observe({ client, nodes: this.#nodes, sightings: this.#sightings }, name);
    if (snapshot === undefined) return {};
    const action = decide({ config: configuration, holder }, snapshot, clock.monotonic());
    return this.#applier.apply(snapshot, action, signal);
  }
}
