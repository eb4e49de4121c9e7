import { HORIZONTAL_POD_AUTOSCALERS, type HorizontalPodAutoscaler, PODS, type ResourceRef } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type LabelSelectorMatcher, parseLabelSelector, SelectorError, StatusError } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { compareText, isTerminating, keyOf, namespaceOf, parseKey } from '../../common/meta.ts';
import { AUTOSCALER_CONFLICT_RETRY_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply } from './apply.ts';
import { decide, type Found, type Snapshot } from './decide.ts';
import type { Memory } from './memory.ts';
import type { Usage } from './metric.ts';
import { createApiMetrics, type MetricsSource } from './metrics-source.ts';
import type { AutoscalingSettings } from './settings.ts';
import { readTarget, type TargetAnswer } from './target.ts';

export interface AutoscalerSettings {
  readonly autoscaling: AutoscalingSettings;
  /** Scalable resources, as far as they have a `/scale`. */
  readonly resources: readonly ResourceRef[];
  /** The source of usage, given this controller's own client. Default: the resource metrics API. */
  readonly metricsSource?: ((client: ApiClient) => MetricsSource) | undefined;
}

/** Gives workloads as many pods as what is measured asks for. */
export const horizontalPodAutoscalerController = (settings: AutoscalerSettings): ControllerDefinition => ({
  name: 'horizontal-pod-autoscaler',
  component: 'horizontal-pod-autoscaler',
  identity: 'manager',
  watches: [HORIZONTAL_POD_AUTOSCALERS, PODS],
  create: (context) => [createLoop(context, settings)],
});

/** This process's memory about one autoscaler. */
interface Remembered {
  readonly uid: string | undefined;
  readonly memory: Memory | undefined;
  /** The pods that it counts, to find other autoscalers of the same pods. */
  readonly pods: LabelSelectorMatcher | undefined;
}

function createLoop(context: ControllerContext, settings: AutoscalerSettings): Loop {
  const scalers = context.informers.of(HORIZONTAL_POD_AUTOSCALERS);
  const remembered = new Map<string, Remembered>();
  const observer = new Observer(context, settings, remembered);
  return {
    name: 'horizontal-pod-autoscaler',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => scalers.list().map(keyOf),
    wake: (enqueue) => [
      scalers.onChange(({ key, object, old }) => {
        if (object === undefined || !isSame(object.spec, old?.spec)) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const scaler = scalers.get(parseKey(key));
      if (scaler === undefined || isTerminating(scaler)) {
        remembered.delete(key);
        return {};
      }
      if (remembered.get(key)?.uid !== scaler.metadata.uid) remembered.delete(key);
      const answer = await readTarget(context.client, settings.resources, scaler);
      const snapshot = await observer.look(scaler, answer);
      const decision = decide(snapshot, { now: context.clock.now(), monotonicMs: context.clock.monotonic() });
      const memory = await apply(context, { scaler, decision, target: 'scale' in answer ? answer : undefined });
      if (memory === 'changed') return { requeueAfterMs: AUTOSCALER_CONFLICT_RETRY_MS };
      remembered.set(key, { uid: scaler.metadata.uid, pods: remembered.get(key)?.pods, memory });
      return { requeueAfterMs: settings.autoscaling.syncPeriodMs };
    },
  };
}

class Observer {
  readonly #context: ControllerContext;
  readonly #settings: AutoscalerSettings;
  readonly #remembered: Map<string, Remembered>;
  readonly #metrics: MetricsSource;

  constructor(context: ControllerContext, settings: AutoscalerSettings, remembered: Map<string, Remembered>) {
    this.#context = context;
    this.#settings = settings;
    this.#remembered = remembered;
    this.#metrics = (settings.metricsSource ?? createApiMetrics)(context.client);
  }

  async look(scaler: HorizontalPodAutoscaler, answer: TargetAnswer): Promise<Snapshot> {
    const known = { scaler, memory: this.#remembered.get(keyOf(scaler))?.memory, settings: this.#settings.autoscaling };
    if ('eventMessage' in answer) return { ...known, target: answer };
    const { scale } = answer;
    return { ...known, target: { scale, found: await this.#find(scaler, scale.status.selector ?? '') } };
  }

  async #find(scaler: HorizontalPodAutoscaler, selector: string): Promise<Found> {
    if (selector === '') return { pods: [], usage: [], rivals: [] };
    const matcher = parsed(selector);
    if ('error' in matcher) return matcher;
    const namespace = namespaceOf(scaler);
    this.#note(scaler, matcher);
    const pods = this.#context.informers
      .of(PODS)
      .list(namespace)
      .filter(({ metadata }) => matcher.matches(metadata.labels));
    const rivals = [...this.#remembered]
      .filter(
        ([key, other]) =>
          parseKey(key).namespace === namespace && pods.some(({ metadata }) => other.pods?.matches(metadata.labels)),
      )
      .map(([key]) => key)
      .sort(compareText);
    return { pods, rivals, usage: await this.#usage(scaler, namespace, selector) };
  }

  #note(scaler: HorizontalPodAutoscaler, pods: LabelSelectorMatcher): void {
    const key = keyOf(scaler);
    this.#remembered.set(key, { uid: scaler.metadata.uid, memory: this.#remembered.get(key)?.memory, pods });
  }

  async #usage({ spec }: HorizontalPodAutoscaler, namespace: string, selector: string): Promise<Usage> {
    const asks = (spec.metrics ?? []).some(({ type }) => type === 'Resource' || type === 'ContainerResource');
    if (!asks) return [];
    try {
      return await this.#metrics.podUsage(namespace, selector);
    } catch (error) {
      return { error: error instanceof StatusError ? error.message : describeError(error) };
    }
  }
}

function parsed(selector: string): LabelSelectorMatcher | { readonly error: string } {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    if (error instanceof SelectorError) return { error: error.message };
    throw error;
  }
}
