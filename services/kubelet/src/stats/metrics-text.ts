import type { Pod } from '@holdfast/api';
import { labelText } from '@holdfast/platform';
import type { ContainerSample, NodeSample } from './port.ts';
import { podCpu, podMemory } from './port.ts';

const NANOSECONDS_PER_SECOND = 1_000_000_000;

type Labels = readonly (readonly [name: string, value: string])[];

interface Line {
  readonly labels?: Labels;
  readonly value: number | undefined;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly lines: readonly Line[];
}

/** `/metrics/resource`: the names by which metrics servers know them, each with the time of its measurement. */
export function resourceMetrics(sample: NodeSample): string {
  const { machine, pods, at } = sample;
  const memory = machine.memory;
  const working = memory === undefined ? undefined : memory.capacityBytes - memory.availableBytes;
  return render(at, [
    ...containerFamilies(sample, () => []),
    counter('node_cpu_usage_seconds_total', 'Cumulative cpu time consumed by the node in core-seconds', [
      { value: seconds(machine.cpuNanoseconds) },
    ]),
    gauge('node_memory_working_set_bytes', 'Current working set of the node in bytes', [{ value: working }]),
    counter(
      'pod_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the pod in core-seconds',
      pods.map((each) => ({ labels: podLabels(each), value: seconds(podCpu(each)) })),
    ),
    gauge(
      'pod_memory_working_set_bytes',
      'Current working set of the pod in bytes',
      pods.map((each) => ({ labels: podLabels(each), value: podMemory(each) })),
    ),
    gauge('resource_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise', [
      { value: 0 },
    ]),
  ]);
}

/** `/metrics/cadvisor`: what dashboards cannot do without. */
export function containerMetrics(sample: NodeSample, cores: number): string {
  const { machine, at } = sample;
  return render(at, [
    ...containerFamilies(sample, (pod, container) => [['image', imageOf(pod, container)]]),
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', [{ value: cores }]),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', [
      { value: machine.memory?.capacityBytes },
    ]),
  ]);
}

/** By the image dashboards tell containers from the sum of their pod. */
const imageOf = ({ spec }: Pod, name: string): string =>
  [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].find(
    (each) => each.name === name,
  )?.image ?? '';

function containerFamilies({ pods }: NodeSample, more: (pod: Pod, container: string) => Labels): readonly Family[] {
  const each = (read: (container: ContainerSample) => number | undefined): readonly Line[] =>
    pods.flatMap((pod) =>
      pod.containers.map((container) => ({
        labels: [['container', container.name] as const, ...more(pod.pod, container.name), ...podLabels(pod)],
        value: read(container),
      })),
    );
  return [
    counter(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the container in core-seconds',
      each(({ cpuNanoseconds }) => seconds(cpuNanoseconds)),
    ),
    gauge(
      'container_memory_working_set_bytes',
      'Current working set of the container in bytes',
      each(({ memoryBytes }) => memoryBytes),
    ),
    gauge(
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds',
      each(({ startedAt }) => (startedAt === undefined ? undefined : startedAt / 1000)),
    ),
  ];
}

const podLabels = ({ pod }: NodeSample['pods'][number]) =>
  [
    ['namespace', pod.metadata.namespace ?? ''],
    ['pod', pod.metadata.name ?? ''],
  ] as const;

const seconds = (nanoseconds: number | undefined): number | undefined =>
  nanoseconds === undefined ? undefined : nanoseconds / NANOSECONDS_PER_SECOND;

const counter = (name: string, help: string, lines: readonly Line[]): Family => ({
  name,
  help,
  type: 'counter',
  lines,
});
const gauge = (name: string, help: string, lines: readonly Line[]): Family => ({ name, help, type: 'gauge', lines });

function render(at: number, families: readonly Family[]): string {
  const text = families.flatMap(({ name, help, type, lines }) => {
    const known = lines.flatMap(({ labels = [], value }) => {
      if (value === undefined) return [];
      const names = labelText(
        labels.map(([label]) => label),
        labels.map(([, of]) => of),
      );
      return [`${name}${names === '' ? '' : `{${names}}`} ${value} ${at}`];
    });
    return known.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...known];
  });
  return `${text.join('\n')}\n`;
}
