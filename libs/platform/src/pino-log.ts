import { isatty } from 'node:tty';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { describeError } from './errors.ts';
import { InvariantViolation } from './invariant.ts';
import type { Log, LogFields, LogLevel } from './log.ts';
import { RepeatedErrors } from './repeated-errors.ts';
import { terminalLine } from './terminal-line.ts';

export interface PinoLogOptions {
  readonly level: LogLevel;
  readonly service: string;
  /** Default: standard error, so that standard output stays free for what a user asked for. */
  readonly destination?: { write(line: string): void };
  /** Lines for people instead of JSON. Default: where standard error is a terminal. */
  readonly forTerminal?: boolean;
}

/** JSON lines with the time in ISO form and the level as a word; on a terminal one readable line each. */
export function createPinoLog(options: PinoLogOptions): Log {
  const { level, service, forTerminal = options.destination === undefined && isatty(STANDARD_ERROR) } = options;
  const raw = options.destination ?? pino.destination({ fd: STANDARD_ERROR, sync: true });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (word) => ({ level: word }) },
      redact: ['token', '*.token', 'authorization', '*.authorization', 'password', '*.password'],
    },
    forTerminal ? { write: (line: string) => raw.write(terminalLine(line)) } : raw,
  );
  return adapt({ logger, repeated: new RepeatedErrors() }, { service });
}

const STANDARD_ERROR = 2;

interface Target {
  readonly logger: Logger;
  readonly repeated: RepeatedErrors;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Fields of a line win over those of its ancestors, so that no name comes twice. */
function adapt(target: Target, own: LogFields): Log {
  const write =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      const { error, ...others } = fields;
      if (!target.logger.isLevelEnabled(level)) return;
      const all = withoutReserved({ ...own, ...others });
      if (error === undefined) return target.logger[level](all, message);
      const text = describeError(error);
      const line = (more: LogFields): void =>
        target.logger[level]({ ...all, error: text, ...stackOf(error), ...more }, message);
      target.repeated.pass(`${level} ${message} ${text}`, line);
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => adapt(target, { ...own, ...fields }),
  };
}

/** Mistakes in the program say where they are. An outage, a refusal or a time-out is told by its words. */
function stackOf(error: unknown): { readonly stack?: string } {
  const isMistake = MISTAKES.some((kind) => error instanceof kind);
  return isMistake && error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
}

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError, InvariantViolation] as const;

/** Names that every line has of its own. */
const RESERVED: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

function withoutReserved(fields: LogFields): LogFields {
  if (!Object.keys(fields).some((name) => RESERVED.has(name))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [RESERVED.has(name) ? `${name}_` : name, value]),
  );
}
