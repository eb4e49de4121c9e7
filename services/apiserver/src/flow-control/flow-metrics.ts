import { labelText, MetricRegistry } from '@holdfast/platform';
import type { FlowRequest } from './flow-request.ts';
import type { PriorityLevel } from './priority-level.ts';

export type Rejection = 'queue-full' | 'concurrency-limit' | 'time-out' | 'cancelled';

/** The counters of one schema at one level. */
export interface FlowCounts {
  dispatched: number;
  waiting: number;
  executing: number;
  executingSeats: number;
  misfits: number;
  readonly rejected: Map<Rejection, number>;
  readonly labels: string;
  readonly queueLength: (length: number) => void;
  readonly seats: (seats: number) => void;
  readonly executed: (seconds: number) => void;
  /** Waited, and was served in the end. */
  readonly waited: (seconds: number) => void;
  readonly waitedInVain: (seconds: number) => void;
  readonly watchers: (count: number) => void;
}

export interface FlowMetrics {
  countsOf(schema: string, level: string): FlowCounts;
  render(): string;
}

const PREFIX = 'apiserver_flowcontrol_';
const LABELS = ['flow_schema', 'priority_level'];
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const QUEUE_LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1_000];
const SEATS = [1, 2, 4, 10];
const WATCHERS = [0, 1, 10, 100, 1_000, 10_000];

/** Metrics with the names of Kubernetes; gauges are read on each scrape. */
export function createFlowMetrics(levels: () => readonly PriorityLevel[]): FlowMetrics {
  const registry = new MetricRegistry();
  const known = new Map<string, FlowCounts>();
  const histogram = (name: string, help: string, buckets: readonly number[], labelNames = LABELS): HistogramOf => {
    const made = registry.histogram(`${PREFIX}${name}`, help, { labelNames, buckets });
    return (labels) => made.series(labels);
  };
  const queueLength = histogram(
    'request_queue_length_after_enqueue',
    'Length of the queue that a request was put into.',
    QUEUE_LENGTHS,
  );
  const seats = histogram('work_estimated_seats', 'Seats that requests are estimated to occupy.', SEATS);
  const waited = histogram('request_wait_duration_seconds', 'Time that requests waited in a queue.', SECONDS, [
    'execute',
    ...LABELS,
  ]);
  const executed = histogram('request_execution_seconds', 'Time that requests were executed.', SECONDS, [
    ...LABELS,
    'type',
  ]);
  const watchers = histogram('watch_count_samples', 'Watchers that a write is sent to.', WATCHERS);
  registerFlowGauges(registry, known);
  registerLevelGauges(registry, levels);
  const create = (schema: string, level: string): FlowCounts => ({
    dispatched: 0,
    waiting: 0,
    executing: 0,
    executingSeats: 0,
    misfits: 0,
    rejected: new Map(),
    labels: labelText(LABELS, [schema, level]),
    queueLength: queueLength([schema, level]),
    seats: seats([schema, level]),
    executed: executed([schema, level, 'regular']),
    waited: waited(['true', schema, level]),
    waitedInVain: waited(['false', schema, level]),
    watchers: watchers([schema, level]),
  });
  return {
    countsOf: (schema, level) => {
      const key = `${schema} ${level}`;
      const counts = known.get(key) ?? create(schema, level);
      known.set(key, counts);
      return counts;
    },
    render: () => registry.render(),
  };
}

type HistogramOf = (labels: readonly string[]) => (value: number) => void;

function registerFlowGauges(registry: MetricRegistry, known: ReadonlyMap<string, FlowCounts>): void {
  type Read = (counts: FlowCounts) => number;
  const rows = (read: Read) => (): readonly (readonly [string, number])[] =>
    [...known.values()].map((counts) => [counts.labels, read(counts)]);
  const gauge = (name: string, help: string, read: Read): void => registry.gauge(`${PREFIX}${name}`, help, rows(read));
  /** Events that never happened have no row. */
  const counted = (name: string, help: string, read: Read): void =>
    registry.counted(`${PREFIX}${name}`, help, () => rows(read)().filter(([, count]) => count > 0));
  counted('dispatched_requests_total', 'Requests that were executed.', ({ dispatched }) => dispatched);
  counted(
    'request_dispatch_no_accommodation_total',
    'Times that the next request did not fit into the free seats.',
    ({ misfits }) => misfits,
  );
  gauge('current_inqueue_requests', 'Requests that wait in queues.', ({ waiting }) => waiting);
  gauge('current_executing_requests', 'Requests that are executed.', ({ executing }) => executing);
  gauge('current_executing_seats', 'Seats of requests that are executed.', ({ executingSeats }) => executingSeats);
  registry.counted(`${PREFIX}rejected_requests_total`, 'Requests that were turned away.', () =>
    [...known.values()].flatMap(({ labels, rejected }) =>
      [...rejected].map(([reason, count]) => [`${labels},reason="${reason}"`, count] as const),
    ),
  );
}

function registerLevelGauges(registry: MetricRegistry, levels: () => readonly PriorityLevel[]): void {
  const gauge = (name: string, help: string, read: (level: PriorityLevel) => number): void =>
    registry.gauge(`${PREFIX}${name}`, help, () =>
      levels().map((level) => [labelText(['priority_level'], [level.name]), read(level)]),
    );
  gauge('nominal_limit_seats', 'Seats by the shares of the level.', ({ limits }) => limits.nominal);
  gauge('lower_limit_seats', 'Seats that the level does not lend.', ({ limits }) => limits.lower);
  gauge('upper_limit_seats', 'Seats that the level may have with those it borrows.', ({ limits }) => limits.upper);
  gauge('current_limit_seats', 'Seats that the level may use now.', ({ current }) => current);
  gauge('target_seats', 'Seats that the level is supposed to use.', ({ target }) => target);
  gauge('demand_seats_average', 'Seats asked for, average of the last period.', ({ reading }) => reading.average);
  gauge('demand_seats_stdev', 'Seats asked for, deviation in the last period.', ({ reading }) => reading.deviation);
  gauge(
    'demand_seats_high_watermark',
    'Seats asked for, most in the last period.',
    ({ reading }) => reading.highWatermark,
  );
  gauge('demand_seats_smoothed', 'Seats asked for, smoothed.', ({ smoothed }) => smoothed);
  gauge('current_r', 'Virtual time of the queues, in seat-seconds.', ({ queues }) => queues.virtualTime / 1_000);
}

/** Counts current requests by whether they are mutating. */
export function countKinds(requests: Iterable<FlowRequest>): { readonly mutating: Kinds; readonly readOnly: Kinds } {
  const counts = { mutating: { waiting: 0, executing: 0 }, readOnly: { waiting: 0, executing: 0 } };
  for (const { info, state } of requests) counts[READS.has(info.verb) ? 'readOnly' : 'mutating'][state] += 1;
  return counts;
}

interface Kinds {
  readonly waiting: number;
  readonly executing: number;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
