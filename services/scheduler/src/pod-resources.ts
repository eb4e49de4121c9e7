import { type Pod, podLimits, podRequests } from '@holdfast/api';
import { milliValue, parseQuantity, value } from '@holdfast/machinery';
import { labelText, MetricRegistry } from '@holdfast/platform';

type Amounts = Readonly<Record<string, string | undefined>>;

const LABELS = ['namespace', 'pod', 'node', 'scheduler', 'priority', 'resource', 'unit'];

/** Requests and limits of pods as the scheduler counts them, in Prometheus text format. */
export function renderPodResources(pods: Iterable<Pod>): string {
  const all = [...pods];
  const registry = new MetricRegistry();
  const add = (name: string, help: string, amountsOf: (pod: Pod) => Amounts): void =>
    registry.gauge(name, help, () => all.flatMap((pod) => seriesOf(pod, amountsOf(pod))));
  add('kube_pod_resource_request', 'What the scheduler counts for a pod.', podRequests);
  add('kube_pod_resource_limit', 'What a pod is limited to.', podLimits);
  return registry.render();
}

function seriesOf({ metadata, spec }: Pod, amounts: Amounts): (readonly [labels: string, value: number])[] {
  const { namespace = '', name = '' } = metadata;
  const { nodeName = '', schedulerName = '', priority } = spec;
  const about = [namespace, name, nodeName, schedulerName, priority === undefined ? '' : String(priority)];
  return Object.entries(amounts).flatMap(([resource, text]) => {
    const amount = text === undefined ? 0 : amountOf(resource, text);
    return amount === 0 ? [] : [[labelText(LABELS, [...about, resource, unitOf(resource)]), amount] as const];
  });
}

function amountOf(resource: string, text: string): number {
  const quantity = parseQuantity(text);
  return resource === 'cpu' ? milliValue(quantity) / 1_000 : value(quantity);
}

const BYTES: ReadonlySet<string> = new Set(['memory', 'storage', 'ephemeral-storage']);

function unitOf(resource: string): string {
  if (resource === 'cpu') return 'cores';
  if (BYTES.has(resource) || resource.startsWith('hugepages-')) return 'bytes';
  return resource.startsWith('attachable-volumes-') ? 'integer' : '';
}
