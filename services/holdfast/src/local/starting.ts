import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { type Clock, OperatorError } from '@holdfast/platform';
import { environmentName } from '@holdfast/platform/config';
import { type ClusterHome, type ClusterRecord, livingProcess, newRecord } from './cluster-home.ts';
import { endProcess, removeCluster } from './ending.ts';
import { type Launched, launch, type ReadyLine, type StepLine, untilReady } from './launch.ts';

export interface StartingDeps {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory in which the paths of new flags are. */
  readonly here: string;
  readonly onStep: (step: StepLine) => void;
  /** Gives up the start. */
  readonly signal?: AbortSignal;
}

export interface StartWish {
  /** Of `start`; none means those of the last start. */
  readonly flags: readonly string[];
  readonly detached: boolean;
}

export interface StartedCluster {
  readonly record: ClusterRecord;
  /** Absent: it ran already. */
  readonly begun?: { readonly launched: Launched; readonly ready: ReadyLine };
}

/** Starts the cluster unless it runs. After a failure a new cluster is gone, and an older one is stopped. */
export async function startNamed(home: ClusterHome, wish: StartWish, deps: StartingDeps): Promise<StartedCluster> {
  const known = home.read();
  if (known !== undefined && livingProcess(known) !== undefined) return { record: runningAlready(known, wish) };
  const isNew = !existsSync(home.dataDirectory);
  const planned = planOf(known ?? newRecord(home.name, deps.clock.now(), deps.here), wish, deps.here);
  const { flags, directory } = planned;
  const record = { ...planned, flags: flags.filter((flag) => !isFrom(flag)) };
  const launched = await launch({
    home,
    flags: [...(await portFlags(flags, known?.url, deps.env)), ...flags],
    directory,
    env: deps.env,
    detached: wish.detached,
  });
  home.write({ ...record, process: launched.identity });
  try {
    const ready = await untilReady(launched, { home, ...deps });
    const begun = { ...record, process: launched.identity, url: ready.url };
    home.write(begun);
    return { record: begun, begun: { launched, ready } };
  } catch (error) {
    // A server that ended by itself may have stumbled over these flags: `down` and the next start use the earlier ones.
    const kept = launched.child.exitCode === null ? record : (known ?? record);
    await endProcess(home, launched.identity, deps.clock);
    if (isNew) removeCluster(home);
    // It may have left pods: `down` looks after them.
    else home.write({ ...kept, process: launched.identity });
    throw error;
  }
}

/** New flags come with the directory in which they were typed. */
export const planOf = (record: ClusterRecord, { flags }: Pick<StartWish, 'flags'>, here: string): ClusterRecord =>
  flags.length > 0 ? { ...record, flags, directory: here } : record;

/** A snapshot begins a cluster once. */
const isFrom = (flag: string): boolean => flag.startsWith('--from=');

function runningAlready(record: ClusterRecord, { flags }: StartWish): ClusterRecord {
  const isSame = JSON.stringify([...flags].sort()) === JSON.stringify([...record.flags].sort());
  if (flags.length === 0 || isSame) return record;
  throw new OperatorError({
    code: 'ClusterRuns',
    message: `the cluster "${record.name}" runs already, and other flags apply only to a start`,
    nextStep: `Stop it with \`holdfast down --name ${record.name} --keep-data\`, then start it with these flags; or name another cluster.`,
  });
}

/** A free port; at a later start the same one when it is still free, because kubeconfigs name it. */
async function portFlags(
  flags: readonly string[],
  url: string | undefined,
  env: StartingDeps['env'],
): Promise<readonly string[]> {
  if (flags.some((flag) => flag.startsWith('--port=')) || env[environmentName('port')] !== undefined) return [];
  const port = url === undefined ? 0 : Number(new URL(url).port);
  return [`--port=${(await isFree(port)) ? port : 0}`];
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.on('error', () => resolve(false));
  server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  return promise;
}
