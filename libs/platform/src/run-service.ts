import { inspect } from 'node:util';
import { describeSettings, type SettingSpecs } from './config.ts';
import { describeError, OperatorError } from './errors.ts';
import type { Service } from './lifecycle.ts';
import { createSilentLog, type Log, type LogLevel } from './log.ts';
import { createPinoLog } from './pino-log.ts';

export interface ServiceProgram<Config extends { readonly logLevel: LogLevel }> {
  readonly name: string;
  readonly settings: SettingSpecs;
  /** Undefined: only the list of settings was asked for. */
  readConfig(from: {
    argv: readonly string[];
    env: NodeJS.ProcessEnv;
  }): Config | undefined | Promise<Config | undefined>;
  /** A service that takes longer to end in order is ended. */
  readonly stopDeadlineMs?: number;
  /** Resolves when the service does its work. */
  start(config: Config, log: Log): Promise<Service>;
}

const STOP_DEADLINE_MS = 30_000;

/** The whole of a service's `main.ts`: settings, log, start, errors that tell an operator what to do, and signals. */
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

/** Anything but an `OperatorError` is ours: then the whole story is printed. */
function fail(error: unknown): never {
  const isKnown = error instanceof OperatorError;
  process.stderr.write(isKnown ? `${error.message}\n${error.nextStep}\n` : `${inspect(error)}\n`);
  process.exit(isKnown ? error.exitCode : 1);
}

/** A service that still waits for what it needs has nothing to end in order. */
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
