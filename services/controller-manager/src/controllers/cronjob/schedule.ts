import { formatTime, parseDuration } from '@holdfast/platform';
import { CRON_SCHEDULES_KEPT } from '../../limits.ts';
import { type Expression, parseExpression } from './expression.ts';

/** The times at which jobs are due. */
export interface Schedule {
  /** The first time after this one; undefined when there is none. Epoch milliseconds. */
  next(afterMs: number): number | undefined;
}

/** Why a text is not a schedule, for the user. */
export interface ScheduleProblem {
  readonly reason: 'UnknownTimeZone' | 'UnparseableSchedule';
  readonly message: string;
}

/** Schedules by their text: to read one costs far more than to ask it. */
export class Schedules {
  readonly #known = new Map<string, Promise<Schedule | ScheduleProblem>>();

  of(text: string, timeZone?: string): Promise<Schedule | ScheduleProblem> {
    const key = `${timeZone ?? ''} ${text}`;
    const known = this.#known.get(key) ?? loadSchedule(text, timeZone);
    const [oldest] = this.#known.keys();
    if (!this.#known.has(key) && this.#known.size >= CRON_SCHEDULES_KEPT && oldest !== undefined)
      this.#known.delete(oldest);
    this.#known.set(key, known);
    return known;
  }
}

/** The library is loaded with the first CronJob: most clusters start without one. */
export async function loadSchedule(text: string, timeZone = 'Etc/UTC'): Promise<Schedule | ScheduleProblem> {
  const every = everyMs(text);
  if (every !== undefined) return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + every };
  const expression = parseExpression(text);
  if (expression === undefined) {
    return { reason: 'UnparseableSchedule', message: `unparseable schedule: ${JSON.stringify(text)}` };
  }
  if (!isTimeZone(timeZone)) {
    return { reason: 'UnknownTimeZone', message: `invalid timeZone: unknown time zone ${JSON.stringify(timeZone)}` };
  }
  const { Cron } = await import('croner');
  const cron = new Cron(patternOf(expression), { timezone: timeZone, mode: '5-part', paused: true });
  return { next: (afterMs) => cron.nextRun(formatTime(afterMs))?.getTime() };
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Every number becomes a range with a step. So no time counts as fixed: a time that the clocks skip in spring is left
 * out, and one that they show twice in autumn runs twice.
 */
function patternOf({ minutes, hours, daysOfMonth, months, daysOfWeek }: Expression): string {
  const list = (values: readonly number[] | undefined): string =>
    values === undefined ? '*' : values.map((value) => `${value}-${value}/1`).join(',');
  return [minutes, hours, daysOfMonth, months, daysOfWeek].map(list).join(' ');
}

const EVERY = '@every ';

/** `@every 1h30m`, in whole seconds and at least one. */
function everyMs(text: string): number | undefined {
  const ms = text.startsWith(EVERY) ? parseDuration(text.slice(EVERY.length)) : undefined;
  if (ms === undefined) return undefined;
  return Math.max(1000, Math.floor(ms / 1000) * 1000);
}
