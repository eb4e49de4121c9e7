import type { ApiResponse } from '@holdfast/client';
import { formatMicroTime } from '@holdfast/platform';
import { textAnswer } from '../http/answers.ts';
import type { FlowControl } from './flow-control.ts';
import type { FlowRequest } from './flow-request.ts';
import type { PriorityLevel } from './priority-level.ts';

type Row = readonly string[];

export interface DumpFacts {
  readonly flowControl: FlowControl;
  readonly query: URLSearchParams;
  /** The time that the clock of the requests began at. */
  readonly epoch: number;
}

const DUMPS: ReadonlyMap<string, (facts: DumpFacts) => readonly Row[]> = new Map([
  ['dump_priority_levels', levelRows],
  ['dump_queues', queueRows],
  ['dump_requests', requestRows],
]);

const PREFIX = '/debug/api_priority_and_fairness/';

/** The state of the priority levels, in the columns of Kubernetes 1.32. */
export function dumpAnswer(path: string, facts: DumpFacts): ApiResponse | undefined {
  if (!path.startsWith(PREFIX)) return undefined;
  const rows = DUMPS.get(path.slice(PREFIX.length))?.(facts);
  return rows === undefined ? undefined : textAnswer(200, aligned(rows));
}

const LEVEL_COLUMNS = [
  'PriorityLevelName',
  'ActiveQueues',
  'IsIdle',
  'IsQuiescing',
  'WaitingRequests',
  'ExecutingRequests',
  'DispatchedRequests',
  'RejectedRequests',
  'TimedoutRequests',
  'CancelledRequests',
];

function levelRows({ flowControl }: DumpFacts): readonly Row[] {
  return [LEVEL_COLUMNS, ...flowControl.levels().map(levelRow)];
}

function levelRow({ name, queues, counts, isQuiescing }: PriorityLevel): Row {
  const { dispatched, rejected, timedOut, cancelled } = counts;
  const active = queues.states().filter(({ waiting }) => waiting.length > 0).length;
  const figures = [queues.waiting, queues.executing, dispatched, rejected, timedOut, cancelled];
  return [name, String(active), String(queues.isIdle), String(isQuiescing), ...figures.map(String)];
}

const QUEUE_COLUMNS = [
  'PriorityLevelName',
  'Index',
  'PendingRequests',
  'ExecutingRequests',
  'SeatsInUse',
  'NextDispatchR',
  'InitialSeatsSum',
  'MaxSeatsSum',
  'TotalWorkSum',
];

function queueRows({ flowControl }: DumpFacts): readonly Row[] {
  return [QUEUE_COLUMNS, ...flowControl.levels().flatMap(rowsOfQueues)];
}

function rowsOfQueues({ name, queues, queueCount }: PriorityLevel): readonly Row[] {
  const kept = new Map(queues.states().map((state) => [state.index, state]));
  return Array.from({ length: queueCount }, (_, index) => {
    const { waiting = [], executing = 0, seatsInUse = 0, next = 0, work = 0 } = kept.get(index) ?? {};
    const seats = String(waiting.reduce((sum, request) => sum + request.seats, 0));
    const figures = [index, waiting.length, executing, seatsInUse].map(String);
    return [name, ...figures, seatSeconds(next), seats, seats, seatSeconds(work)];
  });
}

const seatSeconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(8)}ss`;

const REQUEST_COLUMNS = [
  'PriorityLevelName',
  'FlowSchemaName',
  'QueueIndex',
  'RequestIndexInQueue',
  'FlowDistingsher',
  'ArriveTime',
  'InitialSeats',
  'FinalSeats',
  'AdditionalLatency',
  'StartTime',
];

const DETAIL_COLUMNS = ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'];

function requestRows({ flowControl, query, epoch }: DumpFacts): readonly Row[] {
  const detailed = (query.get('includeRequestDetails') ?? '') !== '';
  const places = placesOf(flowControl.levels());
  const rows = [...flowControl.requests()].map((request) => [
    ...requestRow(request, places.get(request) ?? -1, epoch),
    ...(detailed ? detailsOf(request) : []),
  ]);
  const columns = detailed ? [...REQUEST_COLUMNS, ...DETAIL_COLUMNS] : REQUEST_COLUMNS;
  return [columns, ...rows.toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1))];
}

/** Positions of waiting requests in their queues. */
function placesOf(levels: readonly PriorityLevel[]): ReadonlyMap<FlowRequest, number> {
  const places = new Map<FlowRequest, number>();
  for (const { queues } of levels) {
    for (const { waiting } of queues.states())
      for (const [place, request] of waiting.entries()) places.set(request, place);
  }
  return places;
}

function requestRow(request: FlowRequest, place: number, epoch: number): Row {
  const { route, queue = -1, distinguisher, arrivedAt, beganAt, seats, extraWork, state } = request;
  const timeOf = (at: number): string => formatMicroTime(epoch + at);
  return [
    route.level.name,
    route.schemaName,
    String(queue),
    String(place),
    plain(distinguisher),
    timeOf(arrivedAt),
    String(seats),
    extraWork > 0 ? '1' : '0',
    `${extraWork}ms`,
    state === 'executing' ? timeOf(beganAt) : '',
  ];
}

function detailsOf({ user, info }: FlowRequest): Row {
  const of =
    info.kind === 'path'
      ? ['', '', '', '', '']
      : [
          info.namespace,
          info.name,
          info.group === '' ? info.version : `${info.group}/${info.version}`,
          info.resource,
          info.subresource,
        ];
  return [user.name, info.verb, info.path, ...of].map(plain);
}

const CELL_CHARS_MAX = 256;

/** Names come from clients: none may begin a row of its own or fill the answer. */
const plain = (text: string): string => text.slice(0, CELL_CHARS_MAX).replace(/[\p{Cc},]/gu, ' ');

const CELL_MIN = 8;

/** Cells with a comma behind them, as wide as the widest of their column. */
function aligned(rows: readonly Row[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? CELL_MIN, cell.length + 2);
  }
  const lineOf = (row: Row): string =>
    row.map((cell, i) => (i === row.length - 1 ? cell : `${cell},`.padEnd(widths[i] ?? 0))).join('');
  return rows.map((row) => `${lineOf(row)}\n`).join('');
}
