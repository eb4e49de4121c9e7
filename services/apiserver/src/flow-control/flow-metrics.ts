import { labelText, MetricRegistry } from '@holdfast/platform';
import { FLOW_SERIES_MAX } from '../limits.ts';
import type { FlowRequest } from './flow-request.ts';
import type { PriorityLevel } from './priority-level.ts';
import { kindOfVerb, type RequestKinds } from './request-kinds.ts';
import type { TimeWeighted } from './time-weighted.ts';

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
  readonly forget: () => void;
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

export interface FlowMetricsSource {
  readonly levels: () => readonly PriorityLevel[];
  readonly kinds: RequestKinds;
  /** The seats of the last division. */
  readonly fairFraction: () => number;
  readonly now: () => number;
  /** Requests that were turned away because there were too many. */
  readonly terminated: () => number;
}

/** Metrics with the names of Kubernetes; gauges are read on each scrape. */
export function createFlowMetrics(source: FlowMetricsSource): FlowMetrics {
  const registry = new MetricRegistry();
  const known = new Map<string, FlowCounts>();
  const histogram = (name: string, help: string, buckets: readonly number[], labelNames = LABELS): HistogramOf => {
    const made = registry.histogram(`${PREFIX}${name}`, help, { labelNames, buckets });
    return { of: (labels) => made.series(labels), forget: (labels) => made.forget(labels) };
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
  registerLevelGauges(registry, source.levels);
  registerUse(registry, source);
  // From the start: of a series that begins with 1, `rate` does not see the first event.
  registry.counted('apiserver_request_terminations_total', 'Requests that were turned away in self-defence.', () => [
    [labelText(['component', 'code'], ['apiserver', '429']), source.terminated()],
  ]);
  const create = (schema: string, level: string): FlowCounts => ({
    dispatched: 0,
    waiting: 0,
    executing: 0,
    executingSeats: 0,
    misfits: 0,
    rejected: new Map(),
    labels: labelText(LABELS, [schema, level]),
    queueLength: queueLength.of([schema, level]),
    seats: seats.of([schema, level]),
    executed: executed.of([schema, level, 'regular']),
    waited: waited.of(['true', schema, level]),
    waitedInVain: waited.of(['false', schema, level]),
    watchers: watchers.of([schema, level]),
    forget: () => {
      for (const each of [queueLength, seats, watchers]) each.forget([schema, level]);
      executed.forget([schema, level, 'regular']);
      for (const execute of ['true', 'false']) waited.forget([execute, schema, level]);
    },
  });
  return {
    countsOf: (schema, level) => {
      const key = `${schema} ${level}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      makeRoom(known);
      const counts = create(schema, level);
      known.set(key, counts);
      return counts;
    },
    render: () => registry.render(),
  };
}

/** Room for one more: of schemas and levels that somebody makes and deletes again and again the oldest that are idle go. */
function makeRoom(known: Map<string, FlowCounts>): void {
  for (const [key, { waiting, executing, forget }] of known) {
    if (known.size < FLOW_SERIES_MAX) return;
    if (waiting > 0 || executing > 0) continue;
    known.delete(key);
    forget();
  }
}

interface HistogramOf {
  readonly of: (labels: readonly string[]) => (value: number) => void;
  readonly forget: (labels: readonly string[]) => void;
}

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

/** What was used at every moment. */
function registerUse(registry: MetricRegistry, { levels, kinds, fairFraction, now }: FlowMetricsSource): void {
  type Row = readonly [labels: string, histogram: TimeWeighted];
  const histogram = (name: string, help: string, rows: () => readonly Row[]): void =>
    registry.readHistogram(`${PREFIX}${name}`, help, () =>
      rows().map(([labels, each]) => ({ labels, buckets: each.buckets, ...each.read(now()) })),
    );
  const phased = (phase: string, name: string): string => labelText(['phase', 'priority_level'], [phase, name]);
  histogram('priority_level_seat_utilization', 'Seats in use, as a part of those that the level may use.', () =>
    levels().map(({ name, use }) => [phased('executing', name), use.seats]),
  );
  histogram('priority_level_request_utilization', 'Requests, as a part of the limit of those that may be there.', () =>
    levels().flatMap(({ name, use }) => [
      [phased('executing', name), use.executing] as const,
      [phased('waiting', name), use.waiting] as const,
    ]),
  );
  histogram('demand_seats', 'Seats asked for, as a part of those by the shares of the level.', () =>
    levels().map(({ name, use }) => [labelText(['priority_level'], [name]), use.demand]),
  );
  histogram('read_vs_write_current_requests', 'Requests that are here, as a part of all seats.', () =>
    kinds.all.map(({ phase, kind, histogram: each }) => [labelText(['phase', 'request_kind'], [phase, kind]), each]),
  );
  registry.gauge(`${PREFIX}seat_fair_frac`, 'Part of its target that each level gets, within its limits.', () => [
    ['', fairFraction()],
  ]);
}

/** Counts current requests by whether they are mutating. */
export function countKinds(requests: Iterable<FlowRequest>): { readonly mutating: Kinds; readonly readOnly: Kinds } {
  const counts = { mutating: { waiting: 0, executing: 0 }, readOnly: { waiting: 0, executing: 0 } };
  for (const { info, state } of requests) counts[kindOfVerb(info.verb)][state] += 1;
  return counts;
}

interface Kinds {
  readonly waiting: number;
  readonly executing: number;
}
