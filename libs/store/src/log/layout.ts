import type { Lineage } from '../port.ts';
import { integer, record, text } from './json.ts';

/** The name that the streams of a cluster begin with, where nothing else is set. */
export const DEFAULT_LOG_NAME = 'HOLDFAST';
const RECORD_FORMAT = 1;
const SHORT_ID_CHARACTERS = 8;
const DUPLICATE_WINDOW_NS = 120_000_000_000;

/** The record that tells which log is the cluster's. It is the only thing that changes at a known place. */
export interface CurrentLog {
  readonly lineage: Lineage;
  readonly stream: string;
  /** When JetStream created the stream: one of the same name that was created later is another one. */
  readonly created: string;
}

export interface LogNames {
  /** Holds the record and the snapshots. */
  readonly baseStream: string;
  readonly recordSubject: string;
  readonly baseSubjects: string;
  readonly logStream: (lineage: Lineage) => string;
  /** Those of the logs of all epochs. */
  readonly logSubjects: string;
  readonly logSubject: (lineage: Lineage) => string;
  readonly manifestSubject: (lineage: Lineage) => string;
  readonly partSubject: (lineage: Lineage, position: number | '*', part: number | '*') => string;
}

export function logNames(name: string = DEFAULT_LOG_NAME): LogNames {
  const of = ({ incarnation, epoch }: Lineage): string => `${incarnation.slice(0, SHORT_ID_CHARACTERS)}_${epoch}`;
  return {
    baseStream: `${name}_STORE`,
    baseSubjects: `${name}.store.>`,
    recordSubject: `${name}.store.current`,
    logStream: (lineage) => `${name}_LOG_${of(lineage)}`,
    logSubjects: `${name}.log.>`,
    logSubject: (lineage) => `${name}.log.${of(lineage)}`,
    manifestSubject: (lineage) => `${name}.store.${of(lineage)}.manifest`,
    partSubject: (lineage, position, part) => `${name}.store.${of(lineage)}.parts.${position}.${part}`,
  };
}

/** The log of every later epoch begins with the objects of a snapshot, so it has content before its first entry. */
export const isFirstEpoch = (logStream: string): boolean => logStream.endsWith('_1');

interface StreamConfig {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly [setting: string]: unknown;
}

/** Everything that the guarantees need of a stream, and that is compared again while it is used. */
const COMMON = {
  retention: 'limits',
  storage: 'file',
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_consumers: -1,
  allow_rollup_hdrs: false,
  allow_direct: false,
  deny_delete: true,
  deny_purge: false,
  duplicate_window: DUPLICATE_WINDOW_NS,
} as const;

/** New messages are refused when there is no room: an entry of the log is never dropped for a later one. */
export function logStreamConfig(names: LogNames, lineage: Lineage, replicas: number): StreamConfig {
  return {
    ...COMMON,
    name: names.logStream(lineage),
    subjects: [names.logSubject(lineage)],
    discard: 'new',
    max_msgs_per_subject: -1,
    num_replicas: replicas,
  };
}

/** Each subject holds its last message only. */
export function baseStreamConfig(names: LogNames, replicas: number): StreamConfig {
  return {
    ...COMMON,
    name: names.baseStream,
    subjects: [names.baseSubjects],
    discard: 'old',
    max_msgs_per_subject: 1,
    num_replicas: replicas,
  };
}

/** Settings of a stream that differ from the wanted ones, as sentences. Pure. */
export function differingSettings(wanted: StreamConfig, actual: Readonly<Record<string, unknown>>): readonly string[] {
  const known = new Map(Object.entries(actual));
  return Object.entries(wanted).flatMap(([setting, value]) => {
    const found = known.get(setting) ?? ABSENT_MEANS.get(setting);
    const isEqual = JSON.stringify(found) === JSON.stringify(value);
    return isEqual
      ? []
      : [`${setting} of stream ${wanted.name} is ${JSON.stringify(found)}, not ${JSON.stringify(value)}`];
  });
}

/** The server leaves out what is false or zero. */
const ABSENT_MEANS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['allow_rollup_hdrs', false],
  ['allow_direct', false],
  ['deny_delete', false],
  ['deny_purge', false],
  ['max_age', 0],
]);

export function encodeRecord({ lineage, stream, created }: CurrentLog): Buffer {
  return Buffer.from(JSON.stringify({ format: RECORD_FORMAT, ...lineage, stream, created }));
}

/** Resolves `undefined` for a record of another format. */
export function decodeRecord(data: Buffer): CurrentLog | undefined {
  const value = record(JSON.parse(data.toString()));
  if (value['format'] !== RECORD_FORMAT) return undefined;
  return {
    lineage: { incarnation: text(value['incarnation']), epoch: integer(value['epoch']) },
    stream: text(value['stream']),
    created: text(value['created']),
  };
}
