import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
  Pod,
  Scale,
} from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { formatTime } from '@holdfast/platform';
import { findCondition, withCondition } from '../../common/conditions.ts';
import { namespaceOf } from '../../common/meta.ts';
import { firstMemory, type Memory, withScaleEvent } from './memory.ts';
import { judgeMetric, type MetricVerdict, type Usage } from './metric.ts';
import { normalize } from './normalize.ts';
import type { AutoscalingSettings } from './settings.ts';

/** The pods that the target's selector matches, or why they are unknown. */
export type Found =
  | { readonly pods: readonly Pod[]; readonly usage: Usage; readonly rivals: readonly string[] }
  | { readonly error: string };

export interface Snapshot {
  readonly scaler: HorizontalPodAutoscaler;
  readonly target:
    | { readonly scale: Scale; readonly found: Found }
    | { readonly eventMessage: string; readonly conditionMessage: string };
  readonly memory: Memory | undefined;
  readonly settings: AutoscalingSettings;
}

export interface Time {
  readonly now: number;
  readonly monotonicMs: number;
}

export interface Decision {
  readonly memory: Memory | undefined;
  /** The status before scaling. */
  readonly status: HorizontalPodAutoscalerStatus;
  readonly events: readonly EventText[];
  readonly rescale?: Rescale;
}

export interface Rescale {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

type Conditions = readonly HorizontalPodAutoscalerCondition[];
type Said = Pick<HorizontalPodAutoscalerCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Decides the next step of an autoscaler, and its status. */
export function decide(snapshot: Snapshot, time: Time): Decision {
  const { scaler, target, memory: known } = snapshot;
  const draft = new Draft(scaler, time);
  if ('eventMessage' in target) {
    draft.warn('FailedGetScale', target.eventMessage);
    draft.set({ type: 'AbleToScale', status: 'False', reason: 'FailedGetScale', message: target.conditionMessage });
    return { memory: known, status: draft.status(scaler.status), events: draft.events };
  }
  const message = "the HPA controller was able to get the target's current scale";
  draft.set({ type: 'AbleToScale', status: 'True', reason: 'SucceededGetScale', message });
  const current = target.scale.spec.replicas ?? 0;
  const memory = known ?? firstMemory(current, time.monotonicMs);
  const { minReplicas: min = 1, maxReplicas: max } = scaler.spec;
  const bounds = { current, min, max };
  const bound = outsideBounds(bounds);
  if (bound === 'disabled') {
    const reason = 'scaling is disabled since the replica count of the target is zero';
    draft.set({ type: 'ScalingActive', status: 'False', reason: 'ScalingDisabled', message: reason });
    return { memory, ...draft.outcome({ current, desired: current }) };
  }
  if (bound !== undefined) return { memory, ...draft.outcome({ current, desired: bound.to, reason: bound.reason }) };
  return followMetrics(draft, snapshot, { ...target, ...bounds, memory });
}

interface Bounds {
  readonly current: number;
  readonly min: number;
  readonly max: number;
}

function outsideBounds({ current, min, max }: Bounds): 'disabled' | { to: number; reason: string } | undefined {
  if (current === 0 && min !== 0) return 'disabled';
  if (current > max) return { to: max, reason: 'Current number of replicas above Spec.MaxReplicas' };
  if (current < min) return { to: min, reason: 'Current number of replicas below Spec.MinReplicas' };
  return undefined;
}

interface Active extends Bounds {
  readonly scale: Scale;
  readonly found: Found;
  readonly memory: Memory;
}

function followMetrics(draft: Draft, { scaler, settings }: Snapshot, active: Active): Decision {
  const { current, min, max, memory } = active;
  const answer = askMetrics(draft, scaler, settings, active);
  if (answer.replicas === undefined) {
    draft.warn('FailedComputeMetricsReplicas', answer.error ?? '');
    const kept = { current, desired: scaler.status.desiredReplicas, statuses: answer.statuses };
    return { memory, status: draft.status(scaler.status, kept), events: draft.events };
  }
  const desired = answer.replicas;
  const { behavior } = scaler.spec;
  const nowMs = draft.time.monotonicMs;
  const { downscaleStabilizationMs } = settings;
  const wish = { current, desired, min, max, behavior, nowMs, downscaleStabilizationMs };
  const result = normalize(wish, memory);
  draft.set({ type: 'AbleToScale', status: 'True', ...result.stabilized });
  draft.set({ type: 'ScalingLimited', ...result.limited });
  const reason =
    desired > current ? `${answer.metric} above target` : desired < current ? 'All metrics below target' : '';
  const outcome = draft.outcome({ current, desired: result.replicas, reason, statuses: answer.statuses });
  return { memory: result.memory, ...outcome };
}

interface Answer {
  readonly replicas: number | undefined;
  readonly metric: string;
  readonly statuses: MetricStatus[] | null;
  readonly error?: string;
}

/** The most that any metric asks for. With one that cannot be read nothing is taken away. */
function askMetrics(
  draft: Draft,
  scaler: HorizontalPodAutoscaler,
  settings: AutoscalingSettings,
  { current: currentReplicas, scale, found }: Active,
): Answer {
  const refusal = selectorProblem(scale, found);
  if (refusal !== undefined || 'error' in found) {
    const { reason = '', message = '', event = '' } = refusal ?? {};
    draft.warn(reason === 'InvalidSelector' && event !== message ? 'SelectorRequired' : reason, event);
    draft.set({ type: 'ScalingActive', status: 'False', reason, message });
    return { replicas: undefined, metric: '', statuses: null, error: event };
  }
  const context = { ...found, namespace: namespaceOf(scaler), currentReplicas, now: draft.time.now, settings };
  const specs = scaler.spec.metrics ?? [];
  const verdicts = specs.map((spec) => judgeMetric(spec, context));
  const failed = verdicts.filter((verdict) => verdict.kind === 'invalid');
  for (const { reason, message } of failed) draft.warn(reason, message);
  const best = highest(verdicts);
  const statuses = verdicts.map(
    (verdict): MetricStatus => (verdict.kind === 'proposal' ? verdict.status : { type: '' }),
  );
  const [first] = failed;
  const error =
    first === undefined
      ? {}
      : { error: `invalid metrics (${failed.length} invalid out of ${specs.length}), first error is: ${first.error}` };
  if (best === undefined || (first !== undefined && best.replicas < currentReplicas)) {
    const message = `the HPA was unable to compute the replica count: ${first?.message ?? ''}`;
    draft.set({ type: 'ScalingActive', status: 'False', reason: first?.reason ?? '', message });
    return { replicas: undefined, metric: '', statuses, ...error };
  }
  const message = `the HPA was able to successfully calculate a replica count from ${best.name}`;
  draft.set({ type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound', message });
  return { replicas: best.replicas, metric: best.name, statuses, ...error };
}

type Valid = Extract<MetricVerdict, { kind: 'proposal' }>;

function highest(verdicts: readonly MetricVerdict[]): Valid | undefined {
  let best: Valid | undefined;
  for (const verdict of verdicts) {
    if (verdict.kind === 'proposal' && (best === undefined || verdict.replicas > best.replicas)) best = verdict;
  }
  return best;
}

function selectorProblem(
  { status }: Scale,
  found: Found,
): { readonly reason: string; readonly message: string; readonly event: string } | undefined {
  const selector = status.selector ?? '';
  if (selector === '') {
    const message = "the HPA target's scale is missing a selector";
    return { reason: 'InvalidSelector', message, event: 'selector is required' };
  }
  if ('error' in found) {
    const message = `couldn't convert selector into a corresponding internal selector object: ${found.error}`;
    return { reason: 'InvalidSelector', message, event: message };
  }
  if (found.rivals.length <= 1) return undefined;
  const message = `pods by selector ${selector} are controlled by multiple HPAs: [${found.rivals.join(' ')}]`;
  return { reason: 'AmbiguousSelector', message, event: message };
}

/** Collects the status and the events of one pass. */
class Draft {
  readonly time: Time;
  readonly events: EventText[] = [];
  readonly #scaler: HorizontalPodAutoscaler;
  #conditions: Conditions;

  constructor(scaler: HorizontalPodAutoscaler, time: Time) {
    this.time = time;
    this.#scaler = scaler;
    this.#conditions = scaler.status.conditions ?? [];
  }

  warn(reason: string, message: string): void {
    this.events.push({ type: 'Warning', reason, message });
  }

  set(said: Said): void {
    this.#conditions = withSaid(this.#conditions, said, this.time.now);
  }

  status(
    old: HorizontalPodAutoscalerStatus,
    figures?: { readonly current: number; readonly desired: number; readonly statuses?: MetricStatus[] | null },
  ): HorizontalPodAutoscalerStatus {
    const conditions = [...this.#conditions];
    if (figures === undefined) return { ...old, conditions };
    const { lastScaleTime } = old;
    return {
      ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
      // On the wire a zero count is an absent field.
      ...(figures.current === 0 ? {} : { currentReplicas: figures.current }),
      desiredReplicas: figures.desired,
      currentMetrics: figures.statuses ?? null,
      conditions,
    };
  }

  outcome(plan: {
    readonly current: number;
    readonly desired: number;
    readonly reason?: string;
    readonly statuses?: MetricStatus[] | null;
  }): Omit<Decision, 'memory'> {
    const { current, desired, reason = '' } = plan;
    const isSame = desired === current;
    // The desired size becomes part of the status after it was written.
    const status = this.status(this.#scaler.status, { ...plan, desired: current });
    return { status, events: this.events, ...(isSame ? {} : { rescale: { from: current, to: desired, reason } }) };
  }
}

export interface Written {
  readonly status: HorizontalPodAutoscalerStatus;
  readonly event: EventText;
  readonly memory: Memory | undefined;
}

/** The status after the target was given its new size. */
export function rescaled(
  decision: Decision,
  { from, to, reason }: Rescale,
  scaler: HorizontalPodAutoscaler,
  time: Time,
): Written {
  const message = `the HPA controller was able to update the target scale to ${to}`;
  const said: Said = { type: 'AbleToScale', status: 'True', reason: 'SucceededRescale', message };
  const event = { from, to, atMs: time.monotonicMs };
  return {
    status: {
      ...decision.status,
      desiredReplicas: to,
      lastScaleTime: formatTime(time.now),
      conditions: [...withSaid(decision.status.conditions ?? [], said, time.now)],
    },
    event: { type: 'Normal', reason: 'SuccessfulRescale', message: `New size: ${to}; reason: ${reason}` },
    memory: decision.memory && withScaleEvent(decision.memory, event, scaler.spec.behavior),
  };
}

/** The status after the target could not be given its new size. */
export function notRescaled(
  decision: Decision,
  { to, reason }: Rescale,
  scaler: HorizontalPodAutoscaler,
  why: { readonly error: string; readonly now: number },
): Written {
  const message = `the HPA controller was unable to update the target scale: ${why.error}`;
  const said: Said = { type: 'AbleToScale', status: 'False', reason: 'FailedUpdateScale', message };
  return {
    status: {
      ...decision.status,
      desiredReplicas: scaler.status.desiredReplicas,
      conditions: [...withSaid(decision.status.conditions ?? [], said, why.now)],
    },
    event: {
      type: 'Warning',
      reason: 'FailedRescale',
      message: `New size: ${to}; reason: ${reason}; error: ${why.error}`,
    },
    memory: decision.memory,
  };
}

function withSaid(conditions: Conditions, said: Said, now: number): Conditions {
  const old = findCondition(conditions, said.type);
  const lastTransitionTime = old?.status === said.status ? old.lastTransitionTime : undefined;
  return withCondition(conditions, { ...said, lastTransitionTime: lastTransitionTime ?? formatTime(now) });
}
