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
  /** Default: standard error. Standard output stays free for the result of a command. */
  readonly destination?: { write(line: string): void };
  /** Readable lines instead of JSON. Default: true when standard error is a terminal. */
  readonly forTerminal?: boolean;
}

/** Writes JSON lines with an ISO time and the level as a word. On a terminal it writes one readable line each. */
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

/** Fields of a line override those of its ancestors, so that no name appears twice. */
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

/** A programming error gets a stack. An outage, a refusal or a time-out gets only its message. */
function stackOf(error: unknown): { readonly stack?: string } {
  const isMistake = MISTAKES.some((kind) => error instanceof kind);
  return isMistake && error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
}

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError, InvariantViolation] as const;

/** Names that every line sets itself. */
const RESERVED: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

function withoutReserved(fields: LogFields): LogFields {
  if (!Object.keys(fields).some((name) => RESERVED.has(name))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [RESERVED.has(name) ? `${name}_` : name, value]),
  );
}
