/** The behaviour of a simulated container. Unknown commands run until they are stopped. */
export interface HollowScript {
  /** Ends by itself after this time. */
  readonly exitAfterMs?: number;
  readonly exitCode: number;
  /** The time from the stop signal to its end; absent: immediately, by the signal. */
  readonly stopAfterMs?: number;
  /** The exit code after the stop signal. Absent: 0 after a time of its own. */
  readonly stopCode?: number;
  readonly ignoresStop: boolean;
  /** It is ready this time after its start. Absent: at once. */
  readonly readyAfterMs?: number;
}

/**
 * - `exit-after <seconds> <code>`: ends by itself
 * - `stop-after <seconds>`: runs until stopped, then takes its time and ends with 0
 * - `ignore-stop`: only a kill ends it
 * - `sleep <seconds>`, also as `sh -c "sleep <seconds>; exit <code>"`: as it says
 */
export function readScript(command: readonly string[], args: readonly string[]): HollowScript {
  const words = [...command, ...args];
  const [program = '', first = '', second = ''] = words;
  if (program === 'exit-after')
    return { exitAfterMs: seconds(first), exitCode: Number(second) || 0, ignoresStop: false };
  if (program === 'stop-after') return { exitCode: 0, stopAfterMs: seconds(first), ignoresStop: false };
  if (program === 'ignore-stop') return { exitCode: 0, ignoresStop: true };
  const text = first === '-c' ? second : words.join(' ');
  const sleep = /^\s*(?:\/bin\/)?sleep\s+(\d+(?:\.\d+)?)s?\s*(?:;\s*exit\s+(\d+)\s*)?$/.exec(text);
  if (sleep === null) return { exitCode: 0, ignoresStop: false };
  return { exitAfterMs: seconds(sleep[1] ?? ''), exitCode: Number(sleep[2] ?? 0), ignoresStop: false };
}

const seconds = (text: string): number => Math.max(0, Number(text) * 1000) || 0;
