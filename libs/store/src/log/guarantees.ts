import type { StreamInfo } from './jetstream.ts';
import { list, record } from './json.ts';
import { baseStreamConfig, type CurrentLog, differingSettings, type LogNames, logStreamConfig } from './layout.ts';

/** What was read back from the servers. */
export interface Evidence {
  /** The one of the server that this process is connected to. */
  readonly serverVersion: string;
  readonly base: StreamInfo | undefined;
  readonly log: StreamInfo | undefined;
  /** What the base stream says about which log is the cluster's. */
  readonly record: CurrentLog | undefined;
  /** What each monitoring address says of its server's JetStream. */
  readonly monitors: readonly MonitorReading[];
}

export interface MonitorReading {
  readonly url: string;
  /** The answer to `/jsz?config=1`, now or a short while ago; `undefined` when there is none. */
  readonly answer: unknown;
  /** What `/varz` says; `undefined` when it says nothing. */
  readonly version?: string | undefined;
  /** Why it does not answer now. */
  readonly failure: string | undefined;
}

export interface Finding {
  /** Without these the store does not serve. */
  readonly broken: readonly string[];
  /** An operator should know these; the guarantees hold. */
  readonly cautions: readonly string[];
}

/** The first version that can sync before it acknowledges. */
const SYNCING_VERSION = [2, 10, 0] as const;
/** Earlier ones lose or fork a replicated stream by known faults; they are accepted only by an explicit setting. */
const OLDEST_VERSION = [2, 11, 0] as const;
/** Earlier ones have known faults of their Raft implementation. */
const SOUND_VERSION = [2, 12, 8] as const;

/** True for servers that are refused without `acceptOldServers`. Pure. */
export const isOldServer = (version: string): boolean => isOlder(version, OLDEST_VERSION);

/**
 * Invariants I8 and I12: everything that the guarantees rely on is in force. Pure. Names all that is wrong, not the
 * first.
 */
export function findingsOf(
  evidence: Evidence,
  wanted: {
    readonly names: LogNames;
    readonly current: CurrentLog;
    readonly replicas: number;
    readonly acceptOldServers?: boolean;
  },
): Finding {
  const { names, current, replicas, acceptOldServers = false } = wanted;
  const logConfig = logStreamConfig(names, current.lineage, replicas);
  const sync = syncFindings(evidence.monitors, replicas);
  const seen = evidence.monitors.flatMap(({ version }) => (version === undefined ? [] : [version]));
  const versions = [...new Set([evidence.serverVersion, ...seen])].map((each) =>
    versionFindings(each, acceptOldServers),
  );
  const broken = [
    ...versions.flatMap((version) => version.broken),
    ...streamFindings(names.baseStream, evidence.base, (info) => [
      ...differingSettings(baseStreamConfig(names, replicas), info.config),
      ...recordFindings(names, current, evidence.record),
    ]),
    ...streamFindings(current.stream, evidence.log, (info) => [
      ...differingSettings(logConfig, info.config),
      ...(info.created === current.created ? [] : [`stream ${current.stream} was created anew at ${info.created}`]),
    ]),
    ...sync.broken,
  ];
  const cautions = versions.flatMap((version) => version.cautions);
  return { broken, cautions: [...cautions, ...sync.cautions, ...replicaCautions(evidence.log)] };
}

function streamFindings(
  name: string,
  info: StreamInfo | undefined,
  judge: (info: StreamInfo) => readonly string[],
): readonly string[] {
  return info === undefined ? [`stream ${name} does not exist`] : judge(info);
}

/** Where the record names another log, other processes write to that one. */
function recordFindings(names: LogNames, current: CurrentLog, found: CurrentLog | undefined): readonly string[] {
  if (found === undefined) return [`stream ${names.baseStream} has no record of the log`];
  const isSame = found.stream === current.stream && found.created === current.created;
  return isSame ? [] : [`the record of stream ${names.baseStream} names another log (stream ${found.stream})`];
}

function versionFindings(version: string, acceptOldServers: boolean): Finding {
  const shown = `a NATS server has version ${version}`;
  if (isOlder(version, SYNCING_VERSION))
    return { broken: [`${shown}, which cannot sync before it acknowledges; 2.10 is the first that can`], cautions: [] };
  const unsound = `${shown}: replication is sound from 2.12.8 on`;
  if (isOldServer(version) && !acceptOldServers)
    return { broken: [`${unsound}; before 2.11 only --store-accept-old-servers accepts it`], cautions: [] };
  return { broken: [], cautions: isOlder(version, SOUND_VERSION) ? [unsound] : [] };
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
  const seen = monitors.filter(({ answer }) => answer !== undefined && !isOff(answer));
  const broken = seen.flatMap(({ url, answer }) => judgeSync(url, answer));
  const cautions = monitors.flatMap(monitorCautions);
  const majority = Math.floor(replicas / 2) + 1;
  if (seen.length >= majority) return { broken, cautions };
  const few =
    monitors.length < majority
      ? `; it needs ${majority} monitoring addresses (--store-monitors), not ${monitors.length}`
      : '';
  return { broken: [...broken, `sync_interval is seen on ${seen.length} of ${replicas} NATS servers${few}`], cautions };
}

/** A server that turned its JetStream off, as one does whose disk is full, acknowledges nothing: it breaks no promise. */
const isOff = (answer: unknown): boolean => record(answer)['disabled'] === true;

function monitorCautions({ url, answer, failure }: MonitorReading): readonly string[] {
  if (failure !== undefined) return [`${url} does not answer: ${failure}`];
  return isOff(answer) ? [`JetStream is off on the NATS server at ${url}; its log says why (a full disk?)`] : [];
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
