import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Pod } from '@holdfast/api';
import type { Scenario } from '../../scenario/model.ts';
import { objectOf } from '../../sim/committed.ts';
import { isFault } from '../../sim/hunt/kinds.ts';
import { dockerBytes } from '../losses/faults.ts';
import { damageOf, overlapsOf, surprisesOf } from '../losses/judge.ts';
import { lifeOf, parseRecords, parseSigns, type Sign } from '../losses/signs.ts';
import { volumeOf } from '../losses/workloads.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import type { LoggedCommit } from './store-log.ts';

const SHOWN = 3;

/** What the processes of pods have said, by the name of the pod. */
export type SignsByPod = ReadonlyMap<string, readonly Sign[]>;

export function readSigns({ sharedFolder }: ComposeCluster): SignsByPod {
  const files = readdirSync(sharedFolder)
    .filter((file) => file.endsWith('.log'))
    .toSorted();
  const signsIn = (file: string): readonly Sign[] => parseSigns(readFileSync(path.join(sharedFolder, file), 'utf8'));
  return new Map(files.map((file) => [file.replace(/\.log$/, ''), signsIn(file)]));
}

/** Identities that lived twice, writers that were refused without a successor, and volumes that are damaged. */
export async function brokenSigns(
  cluster: ComposeCluster,
  { workload: { replicas, hasDisks } }: Scenario,
  byPod: SignsByPod,
): Promise<readonly string[]> {
  const lives = [...byPod].flatMap(([pod, signs]) =>
    pod.startsWith('db-') ? [...overlapsOf(signs), ...surprisesOf(signs)] : [],
  );
  const volumes = [...(hasDisks ? Array.from({ length: replicas.db }, (_, i) => `db-${i}`) : []), 'disk'];
  const damage: string[] = [];
  for (const volume of volumes) {
    const writers = [...byPod].filter(([pod]) => pod === volume || pod.startsWith(`${volume}-`));
    // Nobody may have written to it yet.
    const read = `cat /data/volumes/${volumeOf(volume)} 2>/dev/null || true`;
    const records = parseRecords(await dockerBytes('exec', cluster.containerOf('storage'), 'sh', '-c', read));
    const signs = writers.flatMap(([, of]) => of);
    damage.push(...damageOf(signs, records, { isShared: volume === 'disk' }).slice(0, SHOWN));
  }
  return [...lives, ...damage];
}

/** Exclusive processes that ended without being told to, as at the deadline of a promise: one sentence with their number. */
export function endedAtOnce(byPod: SignsByPod): string {
  const ended = [...byPod].flatMap(([pod, signs]) => {
    if (!/^(?:db-|disk)/.test(pod)) return [];
    const lives = new Map<string, Sign>();
    const told = new Set<string>();
    for (const sign of signs) {
      lives.set(lifeOf(sign), sign);
      if (sign.what === 'stopping') told.add(lifeOf(sign));
    }
    const last = signs.at(-1);
    return [...lives].flatMap(([life, { node }]) =>
      last === undefined || life === lifeOf(last) || told.has(life) ? [] : [`${pod} on ${node}`],
    );
  });
  return `${ended.length} exclusive processes ended without being told to${ended.length === 0 ? '' : `: ${ended.join(', ')}`}`;
}

/**
 * In a schedule without faults each process that is told to end has the time to do so by itself. `commits`: when the API
 * gave less time than it needs, it may be killed.
 */
export function brokenGrace(
  { form, schedule }: Scenario,
  byPod: SignsByPod,
  commits: readonly LoggedCommit[],
): readonly string[] {
  if (schedule.some((step) => isFault(step.do))) return [];
  const graces = new Map<string, number>();
  for (const commit of commits) {
    if (!commit.operation.key.startsWith('core/pods/')) continue;
    const { uid = '', deletionTimestamp, deletionGracePeriodSeconds: seconds = 0 } = (objectOf(commit) as Pod).metadata;
    if (deletionTimestamp !== undefined && commit.operation.kind !== 'delete')
      graces.set(uid, Math.min(graces.get(uid) ?? seconds, seconds));
  }
  const removed = new Set(
    commits.flatMap((commit) => {
      const { kind, key } = commit.operation;
      return kind === 'delete' && key.startsWith('core/pods/') ? [objectOf(commit).metadata.uid ?? ''] : [];
    }),
  );
  return [...byPod.values()].flatMap((signs) => {
    const stopped = new Set(signs.filter(({ what }) => what === 'stopped').map(lifeOf));
    const lives = new Map(signs.map((sign) => [lifeOf(sign), sign]));
    return [...lives].flatMap(([life, { uid, pod }]) => {
      const grace = graces.get(uid) ?? 0;
      if (!removed.has(uid) || grace <= form.stopSeconds || stopped.has(life)) return [];
      return [`the grace is given: ${pod} ${life} had ${grace} s to end, needs ${form.stopSeconds} s, and was killed`];
    });
  });
}
