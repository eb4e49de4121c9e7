import { inspect } from 'node:util';
import { describeSettings, type SettingSpecs } from './config.ts';
import { describeError, OperatorError } from './errors.ts';
import type { Service } from './lifecycle.ts';
import { createSilentLog, type Log, type LogLevel } from './log.ts';
import { createPinoLog } from './pino-log.ts';

export interface ServiceProgram<Config extends { readonly logLevel: LogLevel }> {
  readonly name: string;
  readonly settings: SettingSpecs;
  /** Returns `undefined` when the user asked only for `--help`. */
  readConfig(from: {
    argv: readonly string[];
    env: NodeJS.ProcessEnv;
  }): Config | undefined | Promise<Config | undefined>;
  /** A stop that takes longer is cut off. */
  readonly stopDeadlineMs?: number;
  /** Resolves when the service works. */
  start(config: Config, log: Log): Promise<Service>;
}

const STOP_DEADLINE_MS = 30_000;

/**
 * The whole `main.ts` of a service: it reads settings, opens the log, starts, prints operator errors with the next
 * step, and handles signals.
 */
export async function runService<Config extends { readonly logLevel: LogLevel }>(
  program: ServiceProgram<Config>,
): Promise<void> {
  let log = createSilentLog();
  let running: Service | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop(signal, log, running, program.stopDeadlineMs));
  process.on('uncaughtException', fail);
  try {
    const config = await program.readConfig({ argv: process.argv.slice(2), env: process.env });
    if (config === undefined) {
      process.stdout.write(describeSettings(program.settings));
      return;
    }
    log = createPinoLog({ level: config.logLevel, service: program.name });
    running = await program.start(config, log);
    log.info('started');
  } catch (error) {
    fail(error);
  }
}

/** Any error except an `OperatorError` is a bug, so the whole error is printed. */
function fail(error: unknown): never {
  const isKnown = error instanceof OperatorError;
  process.stderr.write(isKnown ? `${error.message}\n${error.nextStep}\n` : `${inspect(error)}\n`);
  process.exit(isKnown ? error.exitCode : 1);
}

/** `running` is undefined while the service still starts. Then there is nothing to stop in order. */
async function stop(
  signal: string,
  log: Log,
  running: Service | undefined,
  deadlineMs = STOP_DEADLINE_MS,
): Promise<never> {
  log.info('stopping', { signal });
  const deadline = setTimeout(() => {
    log.error('the process did not stop in time', { deadlineMs });
    process.exit(1);
  }, deadlineMs);
  try {
    await running?.stop();
    clearTimeout(deadline);
    process.exit(0);
  } catch (error) {
    log.error('the process did not stop cleanly', { error: describeError(error) });
    process.exit(1);
  }
}
