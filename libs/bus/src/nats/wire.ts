import { invariant } from '@holdfast/platform';
import type { MsgHdrs } from 'nats';
import type { BusMessage } from '../port.ts';
import { HEARTBEAT_SUBJECT, matchesSubject } from '../subjects.ts';
import { headerLine } from './header-lines.ts';

/**
 * The format of changes on NATS. The stream holds ONE message per revision, so that its sequence is the revision. A
 * change that moves a pod from pending to a node must therefore reach the subscribers of both from one subject:
 *
 *     k8s.ev.pods.<pend or ->.<node or ->.<namespace>.<name>
 *
 * `pend.-` is a pending pod, `pend.<node>` its binding, `-.<node>` any later change. A node's filter is
 * `pods.*.<node>.>`. The filter of pending pods is `pods.pend.*.>`. Each is one filter, because only a consumer with a
 * single filter can be limited by permissions (and NATS before 2.10 supports no other). All other subjects are the same
 * as on the port.
 */
export const STREAM_SUBJECTS = ['k8s.ev.pods.>', 'k8s.ev.obj.>'] as const;

/** Sent on core NATS and not kept: the stream restarts at another revision. */
export const RESTART_SUBJECT = 'k8s.ev.sys.restart';

/** Sent on core NATS and not kept: what publishers tell each other. No other role may send or hear it. */
export const NOTES_SUBJECT = 'k8s.ev.sys.notes';

/** Matches everything that is published outside the stream. */
export const SYSTEM_SUBJECTS = 'k8s.ev.sys.>';

const PODS = 'k8s.ev.pods';
const NODES = 'k8s.ev.node.';
const PENDING = 'k8s.ev.pend.pods.';
const NONE = '-';
const PEND = 'pend';

const PREVIOUS = 'Hf-Previous';
const DEPARTED_PREVIOUS = 'Hf-Departed-Previous';
/** Length of the change in the body; the departure follows it. Present only with a departure. */
const SPLIT = 'Hf-Split';
const REVISION = 'Hf-Revision';
const TRACE = 'traceparent';

export interface WireMessage {
  readonly subject: string;
  readonly body: string;
  /** Lines in the format of `headerLine`. */
  readonly headers: string;
}

/** Upper bound of the headers and the departure of one change. */
const BESIDE_DATA_BYTES = 8 * 1024;
/** UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_CHARACTER_MAX = 3;

/**
 * Omits the object of a change that exceeds the server's payload limit: the changes after it must not wait for ever.
 */
export function encodeChange(message: BusMessage, payloadBytesMax: number): WireMessage {
  const { departure } = message;
  const data = dataOf(message, payloadBytesMax - BESIDE_DATA_BYTES);
  const previous = optional(PREVIOUS, message.previous) + optional(TRACE, message.trace);
  if (departure === undefined) return { subject: wireSubject(message.subject, false), body: data, headers: previous };
  const subject = wireSubject(message.subject, true);
  invariant(
    logicalSubjects(subject).includes(departure.subject),
    'only a pod that was pending departs, and it stays the same pod',
    { from: departure.subject, to: message.subject },
  );
  const headers = previous + optional(DEPARTED_PREVIOUS, departure.previous) + headerLine(SPLIT, data.length);
  return { subject, body: data + departure.data, headers };
}

function dataOf({ data, brief = data }: BusMessage, bytesMax: number): string {
  if (data.length * BYTES_PER_CHARACTER_MAX <= bytesMax) return data;
  return Buffer.byteLength(data) <= bytesMax ? data : brief;
}

/** Returns the messages that subscribers get: the change, and its departure if there is one. */
export function decodeChange(wire: {
  readonly subject: string;
  readonly sequence: number;
  readonly body: string;
  readonly headers: MsgHdrs | undefined;
}): readonly BusMessage[] {
  const { sequence: revision, body, headers } = wire;
  const [subject = wire.subject, left] = logicalSubjects(wire.subject);
  const previous = numberIn(headers, PREVIOUS);
  const split = numberIn(headers, SPLIT);
  const trace = traceIn(headers);
  if (split === undefined || left === undefined) return [{ subject, revision, previous, data: body, ...trace }];
  return [
    { subject, revision, previous, data: body.slice(0, split), ...trace },
    { subject: left, revision, previous: numberIn(headers, DEPARTED_PREVIOUS), data: body.slice(split), ...trace },
  ];
}

export function encodeHeartbeat(message: BusMessage): WireMessage {
  return { subject: HEARTBEAT_SUBJECT, body: message.data, headers: headerLine(REVISION, message.revision) };
}

export function decodeHeartbeat(body: string, headers: MsgHdrs | undefined): BusMessage {
  return {
    subject: HEARTBEAT_SUBJECT,
    revision: numberIn(headers, REVISION) ?? 0,
    previous: undefined,
    data: body,
  };
}

/**
 * Returns the narrowest single filter that covers all patterns; `undefined` when none of them concerns the stream. The
 * filter may match more than the patterns: the subscriber drops the rest with `matchesSubject`.
 */
export function wireFilter(patterns: readonly string[]): string | undefined {
  const filters = [...new Set(patterns.filter((pattern) => !isSystem(pattern)).map(wirePattern))];
  const [first, ...rest] = filters;
  if (first === undefined || rest.length === 0) return first;
  return `${filters
    .map((filter) => filter.split('.'))
    .reduce(commonHead)
    .join('.')}.>`;
}

/** True when a pattern matches a subject outside the stream. */
export function takesHeartbeats(patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesSubject(pattern, HEARTBEAT_SUBJECT));
}

function isSystem(pattern: string): boolean {
  return pattern.startsWith('k8s.ev.sys.');
}

function wireSubject(subject: string, departs: boolean): string {
  if (subject.startsWith(PENDING)) return `${PODS}.${PEND}.${NONE}.${subject.slice(PENDING.length)}`;
  if (!subject.startsWith(NODES)) return subject;
  const end = subject.indexOf('.', NODES.length);
  const pod = subject.slice(end + '.pods.'.length);
  return `${PODS}.${departs ? PEND : NONE}.${subject.slice(NODES.length, end)}.${pod}`;
}

function wirePattern(pattern: string): string {
  const [, , kind, first = '', ...rest] = pattern.split('.');
  if (kind === 'node') return [PODS, '*', first, ...rest.slice(1)].join('.');
  if (kind === 'pend') return [PODS, PEND, '*', ...rest].join('.');
  return pattern;
}

/** Returns the subject of the change and, for a binding, the subject that the pod left. */
function logicalSubjects(subject: string): readonly string[] {
  const [, , kind, from = '', to = '', ...pod] = subject.split('.');
  if (kind !== 'pods') return [subject];
  const pending = ['k8s.ev.pend.pods', ...pod].join('.');
  if (to === NONE) return [pending];
  const bound = ['k8s.ev.node', to, 'pods', ...pod].join('.');
  return from === PEND ? [bound, pending] : [bound];
}

function commonHead(a: readonly string[], b: readonly string[]): string[] {
  const differs = a.findIndex((token, i) => token !== b[i] || token === '>');
  return a.slice(0, differs === -1 ? a.length : differs);
}

function optional(name: string, value: number | string | undefined): string {
  return value === undefined ? '' : headerLine(name, value);
}

function traceIn(headers: MsgHdrs | undefined): { readonly trace?: string } {
  const trace = headers?.get(TRACE) ?? '';
  return trace === '' ? {} : { trace };
}

function numberIn(headers: MsgHdrs | undefined, name: string): number | undefined {
  const text = headers?.get(name) ?? '';
  return text === '' ? undefined : Number(text);
}
