import { harmless } from '@holdfast/platform/harmless';
import { formatTime, parseTime } from '@holdfast/platform/time';

/** What an object waits for, as clauses of a sentence. */
export interface Wait {
  readonly waitsFor: string;
  /** Completes "the wait ends when ...". */
  readonly endsWhen: string;
  /** RFC 3339; absent when unknown. */
  readonly since?: string | undefined;
}

/** The object waits for nothing. */
export interface Rest {
  /** Completes "it waits for nothing: ...". */
  readonly rests: string;
}

export type Finding = Wait | Rest;

export const isWait = (finding: Finding): finding is Wait => 'waitsFor' in finding;

const MAX_TEXT = 600;

/** Returns a text of other programs and people on one line, without control characters, at a bounded length. */
export function quoted(text: string | undefined): string {
  const line = harmless((text ?? '').trim().replace(/\s*[\n\r\f]\s*/g, ' | ')).replace(/\.$/, '');
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}...` : line;
}

/** `90s`, `12m`, `5h`, `3d`: rounded down. */
export function lengthOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 2 * 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

export const sinceText = (time: string | null | undefined): string =>
  time === undefined || time === null || time === '' ? '' : ` since ${time}`;

export const plusMs = (time: string | null | undefined, ms: number): string | undefined => {
  const at = parseTime(time ?? '');
  return at === undefined ? undefined : formatTime(at + ms);
};

const MOST_NAMES = 5;

/** Names a few, and counts the rest. */
export function namesOf(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  return rest > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${rest} more` : names.join(', ');
}

export const ownersRemove = (finalizers: string): string =>
  `the programs that own these finalizers remove them (${finalizers})`;
