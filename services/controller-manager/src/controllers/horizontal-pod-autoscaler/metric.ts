import type { LabelSelector, MetricSpec, MetricStatus, MetricTarget } from '@holdfast/api';
import { formatQuantity, milliValue, parseQuantity, quantityOfMillis } from '@holdfast/machinery';
import { type Measured, MetricError, type Proposal, proposeReplicas, type ResourceTarget } from './replica-count.ts';

/** The result of one metric of an autoscaler. */
export type MetricVerdict =
  | { readonly kind: 'proposal'; readonly replicas: number; readonly name: string; readonly status: MetricStatus }
  | {
      readonly kind: 'invalid';
      readonly reason: string;
      /** For the event and the condition. */
      readonly message: string;
      /** The same within the sentence that names the metric. */
      readonly error: string;
    };

/** The measured usage, or why there is none. */
export type Usage = Measured['usage'] | { readonly error: string };

export interface MetricContext extends Omit<Measured, 'usage'> {
  readonly namespace: string;
  readonly usage: Usage;
}

const NO_CUSTOM_METRICS =
  'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';

export function judgeMetric(spec: MetricSpec, context: MetricContext): MetricVerdict {
  const { namespace } = context;
  if (spec.type === 'Resource' && spec.resource !== undefined) {
    const { name, target } = spec.resource;
    const verdict = judgeResource({ resource: name, target }, context, 'FailedGetResourceMetric');
    return told(verdict, name, `failed to get ${name} resource metric value`, (current) => ({
      type: 'Resource',
      resource: { name, current },
    }));
  }
  if (spec.type === 'ContainerResource' && spec.containerResource !== undefined) {
    const { name, container, target } = spec.containerResource;
    const verdict = judgeResource({ resource: name, target, container }, context, 'FailedGetContainerResourceMetric');
    return told(verdict, `${name} container`, `failed to get ${container} container metric value`, (current) => ({
      type: 'ContainerResource',
      containerResource: { name, container, current },
    }));
  }
  if (spec.type === 'Pods' && spec.pods !== undefined) {
    const message = `unable to get metric ${spec.pods.metric.name}: ${NO_CUSTOM_METRICS}`;
    return invalid('FailedGetPodsMetric', message, `failed to get pods metric value: ${message}`);
  }
  if (spec.type === 'Object' && spec.object !== undefined) {
    const { describedObject, metric } = spec.object;
    // Kubernetes uses this order.
    const message = `unable to get metric ${metric.name}: ${describedObject.kind} on ${namespace} ${describedObject.name}/${NO_CUSTOM_METRICS}`;
    return invalid('FailedGetObjectMetric', message, `failed to get object metric value: ${message}`);
  }
  if (spec.type === 'External' && spec.external !== undefined) {
    const { name, selector } = spec.external.metric;
    const answer = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
    const message = `unable to get external metric ${namespace}/${name}/${goSelector(selector)}: unable to fetch metrics from external metrics API: ${answer}`;
    const within = `failed to get ${name} external metric: ${message}`;
    return invalid('FailedGetExternalMetric', message, `failed to get ${name} external metric value: ${within}`);
  }
  const message = `unknown metric source type ${JSON.stringify(spec.type)}`;
  return invalid('InvalidMetricSourceType', message, message);
}

const invalid = (reason: string, message: string, error: string): MetricVerdict => ({
  kind: 'invalid',
  reason,
  message,
  error,
});

type Judged = { readonly proposal: Proposal } | { readonly reason: string; readonly message: string };

function told(
  judged: Judged,
  what: string,
  failure: string,
  statusOf: (current: NonNullable<MetricStatus['resource']>['current']) => MetricStatus,
): MetricVerdict {
  if ('message' in judged) return invalid(judged.reason, judged.message, `${failure}: ${judged.message}`);
  const { replicas, averageMilli, utilization } = judged.proposal;
  const averageValue = formatQuantity(quantityOfMillis(averageMilli));
  if (utilization === undefined) {
    const [resource = what] = what.split(' ');
    return { kind: 'proposal', replicas, name: `${resource} resource`, status: statusOf({ averageValue }) };
  }
  const name = `${what} resource utilization (percentage of request)`;
  return { kind: 'proposal', replicas, name, status: statusOf({ averageUtilization: utilization, averageValue }) };
}

function judgeResource(
  { resource, target, container }: { resource: string; target: MetricTarget; container?: string },
  { usage, ...context }: MetricContext,
  reason: string,
): Judged {
  const wanted = wantedOf(target);
  if (wanted === undefined) {
    const lack = 'neither an average utilization target nor an average value (usage) target was set';
    return { reason, message: `invalid resource metric source: ${lack}` };
  }
  const failure = `failed to get ${resource} ${'utilization' in wanted ? 'utilization' : 'usage'}`;
  if ('error' in usage) {
    const why = `unable to get metrics for resource ${resource}: unable to fetch metrics from resource metrics API`;
    return { reason, message: `${failure}: ${why}: ${usage.error}` };
  }
  try {
    return { proposal: proposeReplicas({ ...context, usage }, { resource, container, wanted }) };
  } catch (error) {
    if (error instanceof MetricError) return { reason, message: `${failure}: ${error.message}` };
    throw error;
  }
}

function wantedOf({ averageValue, averageUtilization }: MetricTarget): ResourceTarget['wanted'] | undefined {
  if (averageValue !== undefined) return { averageMilli: milliValue(parseQuantity(averageValue)) };
  return averageUtilization === undefined ? undefined : { utilization: averageUtilization };
}

/** Formats a selector as Go does. */
function goSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const rules = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const map = labels.map(([key, value]) => `${key}: ${value},`).join('');
  return `&LabelSelector{MatchLabels:map[string]string{${map}},MatchExpressions:[]LabelSelectorRequirement{${rules.join('')}},}`;
}
