import { parseDuration } from '@holdfast/platform';
import type { HollowScript } from './script.ts';

/** A part of a script: how it looks, and what it changes. */
interface Clause {
  readonly form: string;
  readonly pattern: RegExp;
  readonly read: (values: readonly string[]) => Partial<HollowScript> | undefined;
}

const CLAUSES: readonly Clause[] = [
  {
    form: 'runs 3s then exits 1',
    pattern: /^runs (\S+) then exits (\d{1,3})$/,
    read: ([time = '', code = '']) => {
      const exitAfterMs = parseDuration(time);
      return exitAfterMs === undefined || Number(code) > 255 ? undefined : { exitAfterMs, exitCode: Number(code) };
    },
  },
  { form: 'ready after 2s', pattern: /^ready after (\S+)$/, read: ([time = '']) => timed(time, 'readyAfterMs') },
  { form: 'never ready', pattern: /^never ready$/, read: () => ({ readyAfterMs: Infinity }) },
  { form: 'takes 10s to stop', pattern: /^takes (\S+) to stop$/, read: ([time = '']) => timed(time, 'stopAfterMs') },
  { form: 'crashes while terminating', pattern: /^crashes while terminating$/, read: () => ({ stopCode: 1 }) },
  { form: 'ignores the stop signal', pattern: /^ignores the stop signal$/, read: () => ({ ignoresStop: true }) },
];

/** How the parts of a script look, for messages. */
export const POD_SCRIPT_FORMS: readonly string[] = CLAUSES.map(({ form }) => form);

const SCRIPT_CHARS_MAX = 1_000;

/**
 * Reads what a simulated container does: parts as in `POD_SCRIPT_FORMS`, separated by commas. What no part says is as without a script: it
 * runs until it is stopped. Returns nothing for a text that is no script.
 */
export function readPodScript(text: string): HollowScript | undefined {
  if (text.length > SCRIPT_CHARS_MAX) return undefined;
  let script: HollowScript = { exitCode: 0, ignoresStop: false };
  for (const part of text.split(',')) {
    const read = readClause(
      part
        .trim()
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/(\d) (ms|s|m|h)\b/g, '$1$2'),
    );
    if (read === undefined) return undefined;
    script = { ...script, ...read };
  }
  return script;
}

function readClause(part: string): Partial<HollowScript> | undefined {
  for (const { pattern, read } of CLAUSES) {
    const found = pattern.exec(part);
    if (found !== null) return read(found.slice(1));
  }
  return undefined;
}

function timed(time: string, field: 'readyAfterMs' | 'stopAfterMs'): Partial<HollowScript> | undefined {
  const ms = parseDuration(time);
  if (ms === undefined) return undefined;
  return field === 'readyAfterMs' ? { readyAfterMs: ms } : { stopAfterMs: ms };
}
