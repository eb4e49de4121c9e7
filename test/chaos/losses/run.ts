import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LEASES, NODE_LEASES_NAMESPACE, NODES, type Pod, promiseOf } from '@holdfast/api';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import { Database } from '../database/database.ts';
import { type ComposeCluster, startComposeCluster } from '../support/compose-cluster.ts';
import { describePods, isReady } from '../support/workloads.ts';
import { NodeFaults } from './faults.ts';
import { damageOf, overlapsOf, refusedOf, surprisesOf } from './judge.ts';
import { ApiLoad } from './load.ts';
import type { LossKind, LossPlan } from './plan.ts';
import { type PlantedName, writePlanted } from './planted.ts';
import { createIdentities, IDENTITIES, recordsOf, runningIdentities, signsOf } from './workloads.ts';

const NODE_NAMES = ['node-1', 'node-2', 'node-3'];
const START_DEADLINE_MS = 120_000;
/** An identity that takes longer is not waited for. */
const RECOVERY_DEADLINE_MS = 60_000;
const RETURN_DEADLINE_MS = 120_000;
const POLL_MS = 100;
/** After the recovery, so that a process that should be dead can show itself. */
const HOLD_MS = 1_500;

export interface LossOptions {
  readonly plan: LossPlan;
  readonly losses: number;
  readonly planted: readonly PlantedName[];
  /** A real database runs beside the identities. */
  readonly hasDatabase?: boolean;
  /** No round begins later. */
  readonly minutes: number;
  readonly say: (line: string) => void;
}

/** One identity of a lost node. */
export interface Recovery {
  readonly kind: LossKind;
  readonly identity: string;
  /** From the moment before the loss until the API says Running on another node; undefined: not in time. */
  readonly ms: number | undefined;
}

export interface LossReport {
  readonly losses: number;
  readonly recoveries: readonly Recovery[];
  readonly overlaps: readonly string[];
  readonly damage: readonly string[];
  readonly surprises: readonly string[];
  /** Writes of replaced writers that the storage server refused. */
  readonly refused: number;
  readonly records: number;
  readonly beats: number;
  readonly load: string;
  /** What the database has lost, mixed up or not done any more. */
  readonly database: { readonly broken: readonly string[]; readonly facts: string };
}

const clock = createSystemClock();

/** Plays the rounds on a compose cluster of its own with default settings, and judges every identity at the end. */
export async function runLosses(project: string, options: LossOptions): Promise<LossReport> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-losses-'));
  try {
    const files = options.planted.length === 0 ? [] : [writePlanted(options.planted, scratch)];
    await using cluster = await startComposeCluster(project, {}, { profiles: ['storage'], files });
    try {
      return await playRounds(cluster, options);
    } catch (error) {
      process.stderr.write(await storyOf(cluster));
      throw error;
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function storyOf(cluster: ComposeCluster): Promise<string> {
  const pods = await describePods(cluster.admin).catch(String);
  const running = await runningIdentities(cluster.admin).catch(() => new Map<string, Pod>());
  return `${await cluster.logs()}\n${pods}\n${[...running.keys()].join(' ')} run\n`;
}

async function playRounds(cluster: ComposeCluster, options: LossOptions): Promise<LossReport> {
  await createIdentities(cluster);
  await using database = options.hasDatabase === true ? await Database.start(cluster) : undefined;
  await waitFor('every identity to run', () => isWhole(cluster), START_DEADLINE_MS);
  await using load = new ApiLoad(cluster.admin);
  const until = clock.monotonic() + options.minutes * 60_000;
  const recoveries: Recovery[] = [];
  let losses = 0;
  while (losses < options.losses && clock.monotonic() < until) {
    const found = await playRound(cluster, options, options.losses - losses);
    recoveries.push(...found.recoveries);
    losses += found.losses;
  }
  await load.stop();
  const told = { broken: (await database?.finish(RETURN_DEADLINE_MS)) ?? [], facts: database?.facts() ?? '' };
  return { losses, recoveries, load: await load.judge(), database: told, ...(await judge(cluster)) };
}

async function playRound(
  cluster: ComposeCluster,
  { plan, say }: LossOptions,
  wanted: number,
): Promise<{ readonly losses: number; readonly recoveries: readonly Recovery[] }> {
  const faults = new NodeFaults(cluster);
  const before = await runningIdentities(cluster.admin);
  const occupied = nodesOf(before);
  const kinds = plan.next(Math.min(occupied.length, NODE_NAMES.length - 1, wanted));
  const lost = kinds.flatMap((kind, index) => occupied.slice(index, index + 1).map((node) => ({ node, kind })));
  const nodes = lost.map(({ node }) => node);
  const atMs = clock.monotonic();
  await Promise.all(lost.map(({ kind, node }) => faults.begin(kind, node)));
  const recoveries = await Promise.all(
    lost.flatMap(({ kind, node }) =>
      [...before.values()]
        .filter(({ spec }) => spec.nodeName === node)
        .map((pod) => recovered(cluster, pod, { kind, nodes, atMs })),
    ),
  );
  if (recoveries.some(({ ms }) => ms === undefined)) process.stderr.write(await storyOf(cluster));
  await clock.sleep(HOLD_MS);
  await Promise.all(lost.map(({ kind, node }) => faults.end(kind, node)));
  await waitFor('the nodes to return and every identity to run', () => isWhole(cluster), RETURN_DEADLINE_MS);
  const times = recoveries.map(({ identity, ms }) => `${identity} ${ms === undefined ? 'NEVER' : Math.round(ms)}`);
  say(`${lost.map(({ kind, node }) => `${node} ${kind}`).join(', ')}: ${times.join(', ')} ms`);
  return { losses: lost.length, recoveries };
}

async function recovered(
  { admin }: ComposeCluster,
  pod: Pod,
  { kind, nodes, atMs }: { readonly kind: LossKind; readonly nodes: readonly string[]; readonly atMs: number },
): Promise<Recovery> {
  const identity = pod.metadata.name ?? '';
  while (clock.monotonic() < atMs + RECOVERY_DEADLINE_MS) {
    const now = (await runningIdentities(admin)).get(identity);
    const isElsewhere = now !== undefined && !nodes.includes(now.spec.nodeName ?? '');
    if (isElsewhere && now.metadata.uid !== pod.metadata.uid) return { kind, identity, ms: clock.monotonic() - atMs };
    await clock.sleep(POLL_MS);
  }
  return { kind, identity, ms: undefined };
}

/** Nodes with identities, those with the most first. */
function nodesOf(identities: ReadonlyMap<string, Pod>): readonly string[] {
  const counts = new Map<string, number>();
  for (const { spec } of identities.values())
    counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([node]) => node);
}

/** Every node is ready and promises, and every identity runs. */
async function isWhole({ admin }: ComposeCluster): Promise<boolean> {
  const leases = await admin.list(LEASES, { namespace: NODE_LEASES_NAMESPACE });
  const promising = leases.items.filter((lease) => promiseOf(lease)?.isBroken === false);
  const nodes = await admin.list(NODES);
  const ready = await Promise.all(nodes.items.map(({ metadata }) => isReady(admin, metadata.name ?? '')));
  const identities = await runningIdentities(admin);
  return (
    promising.length === NODE_NAMES.length &&
    ready.length === NODE_NAMES.length &&
    ready.every(Boolean) &&
    IDENTITIES.every((identity) => identities.has(identity))
  );
}

type Judgement = Pick<LossReport, 'overlaps' | 'damage' | 'surprises' | 'refused' | 'records' | 'beats'>;

async function judge(cluster: ComposeCluster): Promise<Judgement> {
  const all = await Promise.all(
    IDENTITIES.map(async (identity) => {
      // The signs first: a record that they name is in the volume by then.
      const signs = await signsOf(cluster, identity);
      return { signs, records: await recordsOf(cluster, identity) };
    }),
  );
  return {
    overlaps: all.flatMap(({ signs }) => overlapsOf(signs)),
    damage: all.flatMap(({ signs, records }) => (records === undefined ? [] : damageOf(signs, records))),
    surprises: all.flatMap(({ signs }) => surprisesOf(signs)),
    refused: all.flatMap(({ signs }) => refusedOf(signs)).length,
    records: all.reduce((sum, { records = [] }) => sum + records.length, 0),
    beats: all.flatMap(({ signs }) => signs.filter(({ what }) => what === 'beat')).length,
  };
}
