import type { StreamInfo } from './jetstream.ts';
import { list, record } from './json.ts';
import { baseStreamConfig, type CurrentLog, differingSettings, type LogNames, logStreamConfig } from './layout.ts';

/** What was read back from the servers. */
export interface Evidence {
  readonly serverVersion: string;
  readonly base: StreamInfo | undefined;
  readonly log: StreamInfo | undefined;
  /** What each monitoring address says of its server's JetStream. */
  readonly monitors: readonly MonitorReading[];
}

export interface MonitorReading {
  readonly url: string;
  /** The answer to `/jsz?config=1`, or the reason why there is none. */
  readonly answer: unknown;
  readonly failure: string | undefined;
}

export interface Finding {
  /** Without these the store does not serve. */
  readonly broken: readonly string[];
  /** An operator should know these; the guarantees hold. */
  readonly cautions: readonly string[];
}

/** The first version that can sync before it acknowledges. */
const OLDEST_VERSION = [2, 10, 0] as const;
/** Earlier ones have known faults of their Raft implementation. */
const SOUND_VERSION = [2, 12, 8] as const;

/**
 * Invariants I8 and I12: everything that the guarantees rely on is in force. Pure. Names all that is wrong, not the
 * first.
 */
export function findingsOf(
  evidence: Evidence,
  wanted: { readonly names: LogNames; readonly current: CurrentLog; readonly replicas: number },
): Finding {
  const { names, current, replicas } = wanted;
  const logConfig = logStreamConfig(names, current.lineage, replicas);
  const sync = syncFindings(evidence.monitors, replicas);
  const version = versionFindings(evidence.serverVersion);
  const broken = [
    ...version.broken,
    ...streamFindings(names.baseStream, evidence.base, (info) =>
      differingSettings(baseStreamConfig(names, replicas), info.config),
    ),
    ...streamFindings(current.stream, evidence.log, (info) => [
      ...differingSettings(logConfig, info.config),
      ...(info.created === current.created ? [] : [`stream ${current.stream} was created anew at ${info.created}`]),
    ]),
    ...sync.broken,
  ];
  return { broken, cautions: [...version.cautions, ...sync.cautions, ...replicaCautions(evidence.log)] };
}

function streamFindings(
  name: string,
  info: StreamInfo | undefined,
  judge: (info: StreamInfo) => readonly string[],
): readonly string[] {
  return info === undefined ? [`stream ${name} does not exist`] : judge(info);
}

function versionFindings(version: string): Finding {
  const shown = `the NATS server has version ${version}`;
  if (isOlder(version, OLDEST_VERSION))
    return { broken: [`${shown}, which cannot sync before it acknowledges; 2.10 is the first that can`], cautions: [] };
  return {
    broken: [],
    cautions: isOlder(version, SOUND_VERSION) ? [`${shown}: replication is sound from 2.12.8 on`] : [],
  };
}

function isOlder(version: string, than: readonly [number, number, number]): boolean {
  const numbers = version.split(/[.-]/).map(Number);
  for (const [index, least] of than.entries()) {
    const found = numbers[index] ?? 0;
    if (found !== least) return !(found > least);
  }
  return false;
}

function syncFindings(monitors: readonly MonitorReading[], replicas: number): Finding {
  if (monitors.length === 0) {
    return {
      broken: [
        'no monitoring address of the NATS servers is known (--store-monitors), so sync_interval cannot be seen',
      ],
      cautions: [],
    };
  }
  const unseen = monitors.filter(({ failure }) => failure !== undefined);
  const broken = monitors.flatMap(({ url, answer, failure }) => (failure === undefined ? judgeSync(url, answer) : []));
  const seen = monitors.length - unseen.length;
  const cautions = unseen.map(({ url, failure }) => `${url} does not answer: ${failure}`);
  const majority = Math.floor(replicas / 2) + 1;
  if (seen >= Math.min(majority, monitors.length)) return { broken, cautions };
  return { broken: [...broken, `sync_interval is seen on ${seen} of ${replicas} NATS servers`], cautions };
}

function judgeSync(url: string, answer: unknown): readonly string[] {
  const config = record(record(answer)['config'] ?? {});
  return config['sync_always'] === true ? [] : [`sync_interval of the NATS server at ${url} is not "always"`];
}

function replicaCautions(info: StreamInfo | undefined): readonly string[] {
  if (info?.cluster === undefined) return [];
  const replicas = info.cluster['replicas'];
  const followers = replicas === undefined ? [] : list(replicas).map(record);
  const late = followers.filter((replica) => replica['current'] !== true || replica['offline'] === true);
  return late.map((replica) => `the replica of the log on ${String(replica['name'])} is not current`);
}
