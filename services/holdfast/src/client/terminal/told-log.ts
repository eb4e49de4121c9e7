import { describeError, type Log, type LogFields } from '@holdfast/platform';
import type { Terminal } from '../command.ts';
import { PLAIN } from './paint.ts';

/** Tells the user of a command what a library warns of; nobody reads a log of it. */
export function toldLog({ tell, paintTold = PLAIN }: Pick<Terminal, 'tell' | 'paintTold'>): Log {
  const warn = (message: string, fields: LogFields = {}): void =>
    tell(`${paintTold.caution('Warning:')} ${message}${detailOf(fields)}`);
  const drop = (): void => {};
  const log: Log = { debug: drop, info: drop, warn, error: warn, child: () => log };
  return log;
}

const detailOf = (fields: LogFields): string =>
  Object.entries(fields)
    .map(([name, value]) => (name === 'error' ? `: ${describeError(value)}` : `; ${name}: ${textOf(value)}`))
    .join('');

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
