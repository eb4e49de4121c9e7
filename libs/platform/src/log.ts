/** Structured log as a dependency. `message` is a constant sentence; all variable parts go into `fields`. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Log;
}

/** `error` holds a caught value; the log writes its cause chain. Never put a secret here. */
export type LogFields = Readonly<Record<string, unknown>>;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The `--log-level` setting of every program. */
export const LOG_LEVEL_SETTING = {
  kind: 'enum',
  values: LOG_LEVELS,
  help: 'minimum level of logged messages',
  default: 'info',
} as const;

/** A log that drops everything. */
export function createSilentLog(): Log {
  const drop = (): void => {};
  const log: Log = { debug: drop, info: drop, warn: drop, error: drop, child: () => log };
  return log;
}
