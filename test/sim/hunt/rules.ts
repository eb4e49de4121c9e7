import type { Pod } from '@holdfast/api';
import type { Oracle, ProcessFact } from '@holdfast/testing';
import type { Answered } from '../api-servers.ts';
import type { SimCluster, SimData } from '../cluster.ts';
import { type Commit, objectOf } from '../committed.ts';
import { AcknowledgedRule } from './acknowledged-rule.ts';
import { BudgetRule } from './budget-rule.ts';
import { COMMIT_RULES, CommitOracle } from './commit-rules.ts';
import { historyRules } from './history-rules.ts';
import { Living } from './living.ts';
import { type HuntPlan, isCalm } from './plan.ts';
import { RateRule } from './rate-rule.ts';
import { RoomRule } from './room-rule.ts';
import { isOff, type Machines, type Scene } from './scene.ts';
import { StartRule } from './start-rule.ts';
import { diskOf, stopSecondsOf } from './workloads.ts';

export interface RulesOf {
  readonly plan: HuntPlan;
  readonly data: SimData | undefined;
  readonly cluster: () => SimCluster;
  readonly scene: () => Scene;
}

/** The rules of one run that need no client of their own. They learn what the machines do and what is committed. */
export class Rules {
  readonly living: Living;
  /** Uids that the careful user has named in a deletion. */
  readonly named = new Set<string>();
  readonly all: readonly Oracle[];
  readonly #of: RulesOf;
  readonly #commits: CommitOracle;
  readonly #budget: BudgetRule;
  readonly #rate: RateRule;
  readonly #room: RoomRule;
  readonly #starts: StartRule;
  readonly #acknowledged = new AcknowledgedRule();

  constructor(of: RulesOf) {
    const { plan, data, cluster } = of;
    this.#of = of;
    const now = (): number => cluster().kernel.elapsedMs;
    this.living = new Living((name) => diskOf(plan, name));
    const replicas = {
      hasOneActor: plan.managers === 1 || plan.isLeaderless !== true,
      crashedAtMs: () => cluster().crashedAtMs,
    };
    const history = historyRules({ living: this.living, named: this.named, isCalm: isCalm(plan), replicas });
    this.#commits = new CommitOracle({ ...COMMIT_RULES, ...history }, now);
    this.#commits.startOn(data?.objects ?? []);
    this.#budget = new BudgetRule(now);
    this.#budget.startOn(data?.objects ?? []);
    this.#rate = new RateRule(() => cluster().kernel, actorsOf(plan));
    this.#room = new RoomRule();
    this.#starts = new StartRule((name) => diskOf(plan, name), now);
    this.#acknowledged.startOn(data?.objects ?? []);
    this.all = [this.living, this.#commits, this.#budget, this.#rate, this.#room, this.#starts, this.#acknowledged];
  }

  process(fact: ProcessFact): void {
    const { plan, scene } = this.#of;
    this.living.observe(fact);
    this.#room.observe(fact);
    this.#starts.started(fact);
    if (fact.kind === 'ended' && mayJudgeGrace(scene(), fact))
      this.living.checkGrace(fact.podUid, this.#nowMs(), stopSecondsOf(plan));
  }

  answered(answered: Answered): void {
    this.#starts.answered(answered);
    this.#acknowledged.answered(answered);
  }

  committed(commit: Commit): void {
    this.#commits.observe(commit);
    this.#budget.observe(commit);
    this.#rate.wrote(commit.by ?? '');
    this.#room.committed(commit);
    noteEnd(this.living, commit);
    noteRequest(this.living, commit, this.#nowMs());
    this.#starts.committed(commit);
    this.#acknowledged.committed(commit);
  }

  #nowMs(): number {
    return this.#of.cluster().kernel.elapsedMs;
  }
}

/** Replicas without leases act at once and have one name. */
const actorsOf = ({ isLeaderless = false, managers, schedulers }: HuntPlan): number =>
  isLeaderless ? Math.max(managers, schedulers) : 1;

/** Only the kubelet ends it: no power loss, and no watchdog, which ends exclusive pods. A Job's pod ends by itself. */
export const mayJudgeGrace = (
  scene: Machines & Pick<Scene, 'killed'> & { readonly plan: Pick<HuntPlan, 'selfFencing'> },
  { node, podName, podUid }: Pick<ProcessFact, 'node' | 'podName' | 'podUid'>,
): boolean =>
  (scene.plan.selfFencing !== true || !EXCLUSIVE.test(podName)) &&
  !scene.killed.has(podUid) &&
  !isOff(scene, node) &&
  !podName.includes('job');

/** Pods of StatefulSets and users of volumes. */
const EXCLUSIVE = /^(?:db|disk)-/;

function noteRequest(living: Living, commit: Commit, atMs: number): void {
  const { kind, key } = commit.operation;
  if (!key.startsWith('core/pods/')) return;
  const { metadata, status } = objectOf(commit) as Pod;
  const { uid = '', deletionTimestamp, deletionGracePeriodSeconds: graceSeconds = 0 } = metadata;
  const isOver = kind === 'delete' || status.phase === 'Succeeded' || status.phase === 'Failed';
  if (isOver) living.endRequested(uid, undefined);
  else if (deletionTimestamp !== undefined) living.endRequested(uid, { atMs, graceSeconds });
}

/** Records ends that a kubelet declared; other writers only give a pod up, and its node may not know yet. */
function noteEnd(living: Living, commit: Commit): void {
  const { operation, by = '' } = commit;
  const { kind, key } = operation;
  if (kind !== 'update' || !key.startsWith('core/pods/') || !by.startsWith('system:node:')) return;
  const { metadata, status } = objectOf(commit) as Pod;
  if (status.phase === 'Succeeded' || status.phase === 'Failed') living.ended(metadata.uid ?? '');
}
