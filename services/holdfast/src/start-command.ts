import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  OperatorError,
  openTracing,
} from '@holdfast/platform';
import { describeSettings, type SettingSource } from '@holdfast/platform/config';
import { createPinoLog } from '@holdfast/platform/pino-log';
import { readStartConfig, START_SETTINGS, type StartConfig } from './config.ts';
import { createEmbeddedCluster, type EmbeddedCluster, START_STEPS } from './embedded/cluster.ts';
import { createJsonProgress, createTextProgress, type Progress } from './embedded/progress.ts';
import { nextCommand } from './next-command.ts';

export interface CommandLine {
  readonly source: SettingSource;
  readonly print: (line: string) => void;
  /** Milliseconds since the start of the process, and its resident memory. */
  readonly uptimeMs: () => number;
  readonly rssMb: () => number;
  /** Before the start: whoever asks for a stop from here on stops what has begun. */
  readonly onCreated: (cluster: EmbeddedCluster) => void;
}

/** Starts the embedded cluster and reports it; `undefined` for `--help`. */
export async function startCommand(line: CommandLine): Promise<EmbeddedCluster | undefined> {
  const config = readStartConfig(line.source);
  if (config.help) {
    line.print(
      `npm start [-- flags]\n\nRuns a whole cluster in this process until Ctrl-C.\n\n${describeSettings(START_SETTINGS)}\nExample: npm start -- --nodes 3 --memory --port 7443`,
    );
    return undefined;
  }
  const real = createSystemClock();
  const time = config.clock === 'virtual' ? await virtualTime(real) : undefined;
  const random = createSystemRandom();
  const tracing = await openTracing('holdfast', config.tracingEndpoint);
  const machine = {
    clock: time?.clock ?? real,
    random,
    ids: createIds(random),
    log: createPinoLog({ level: config.logLevel, service: 'holdfast' }),
    ...(tracing.tracer === undefined ? {} : { tracer: tracing.tracer }),
  };
  const progress = createProgress(config, line, () => real.monotonic());
  const cluster = createEmbeddedCluster({ machine, config, progress, tracing, time });
  line.onCreated(cluster);
  await cluster.start();
  const facts = cluster.facts();
  progress.ready({
    ...facts,
    nextCommand: nextCommand(facts.kubeconfig, line.source.env['PATH']),
    startupMs: line.uptimeMs(),
    rssMb: line.rssMb(),
  });
  return cluster;
}

const virtualTime = async (real: Clock) => (await import('./embedded/virtual-time.ts')).createVirtualTime(real);

function createProgress(config: StartConfig, line: CommandLine, monotonic: () => number): Progress {
  const options = { steps: START_STEPS, monotonic, print: line.print };
  return config.json ? createJsonProgress(options) : createTextProgress(options);
}

/**
 * The error of a failed start for the operator. Anything except an `OperatorError` is a bug, so the whole error is
 * printed.
 */
export function explainFailure(error: unknown): { readonly text: string; readonly exitCode: number } {
  if (error instanceof OperatorError) {
    return { text: `holdfast: ${error.message}\n  ${error.nextStep}\n`, exitCode: error.exitCode };
  }
  return {
    text: `holdfast: unexpected failure\n${error instanceof Error ? error.stack : String(error)}\n`,
    exitCode: 70,
  };
}
