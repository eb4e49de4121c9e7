import { type Logger, pino } from 'pino';
import type { Log, LogFields, LogLevel } from './log.ts';

export interface PinoLogOptions {
  readonly level: LogLevel;
  readonly service: string;
  /** Default: standard error, so that standard output stays free for what a user asked for. */
  readonly destination?: { write(line: string): void };
}

/** JSON lines. */
export function createPinoLog(options: PinoLogOptions): Log {
  const logger = pino(
    {
      level: options.level,
      base: { service: options.service },
      serializers: { error: pino.stdSerializers.err },
      redact: ['token', '*.token', 'authorization', '*.authorization', 'password', '*.password'],
    },
    options.destination ?? pino.destination({ fd: 2, sync: true }),
  );
  return adapt(logger);
}

function adapt(logger: Logger): Log {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    child: (fields: LogFields) => adapt(logger.child(fields)),
  };
}
