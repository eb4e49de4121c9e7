import { invariant } from '@holdfast/platform';
import type { StoredObject } from '@holdfast/store';
import { BudgetRule } from '../../sim/hunt/budget-rule.ts';
import { COMMIT_RULES, CommitOracle, type CommitRule } from '../../sim/hunt/commit-rules.ts';
import { historyRules } from '../../sim/hunt/history-rules.ts';
import { Living } from '../../sim/hunt/living.ts';
import { MANAGER } from '../../sim/hunt/meta.ts';
import type { LoggedCommit } from './store-log.ts';

/** They ask who has written, or when exactly: the history of the store says neither. */
const UNKNOWABLE: ReadonlySet<string> = new Set([
  'only its node or a user removes a running pod',
  'a lease changes hands when it has run out',
  'a ReplicaSet creates no pod too many',
]);

/** They ask what runs on the machines, or for namespaces and users that runs on containers do not have. */
const UNSEEN: ReadonlySet<string> = new Set([
  'a volume stays attached to its writers',
  'a node says which volumes its processes use',
  'a new node is ready when nothing old runs on it',
  'a deletion takes the uid that it names',
  'a ready node is not out of service',
  'what has no owner is deleted by users',
]);

/** No user of a run on containers deletes what has a living owner. */
const COLLECTED = 'what has a living owner is not collected';
const COLLECTED_KINDS = /^(?:core\/configmaps|core\/serviceaccounts|apps\/replicasets)\//;

/** A request may have been read this long before its commit is seen here. */
const ASKED_MS = 3_000;

/** The rules of the simulator about what is stored, on the history of a real store. */
export class StoredRules {
  readonly #budget: BudgetRule;
  readonly #oracles: readonly CommitOracle[];
  readonly #collected: CommitOracle;
  #nowMs = 0;

  /** `stored`: what is there before the first commit. */
  constructor(stored: readonly StoredObject[]) {
    const now = (): number => this.#nowMs;
    this.#budget = new BudgetRule(now);
    const living = new Living(() => undefined);
    const all: Readonly<Record<string, CommitRule>> = {
      ...COMMIT_RULES,
      ...historyRules({ living, named: new Set(), isCalm: false }),
    };
    // An oracle tells the first rule that is broken, so each rule has one of its own.
    this.#oracles = Object.entries(all)
      .filter(([name]) => !UNKNOWABLE.has(name) && !UNSEEN.has(name) && name !== COLLECTED)
      .map(([name, rule]) => new CommitOracle({ [name]: rule }, now));
    const collected = all[COLLECTED];
    invariant(collected !== undefined, 'the rule of the collector has this name', { name: COLLECTED });
    this.#collected = new CommitOracle({ [COLLECTED]: collected }, now);
    for (const oracle of [...this.#oracles, this.#collected, this.#budget]) oracle.startOn(stored);
  }

  observe(commit: LoggedCommit): void {
    this.#nowMs = commit.atMs;
    for (const oracle of this.#oracles) oracle.observe({ by: 'somebody', ...commit });
    const by = COLLECTED_KINDS.test(commit.operation.key) ? MANAGER : 'somebody';
    this.#collected.observe({ by, ...commit });
    this.#budget.observe({ ...commit, askedAtMs: commit.atMs - ASKED_MS });
  }

  broken(): readonly string[] {
    return [this.#budget, this.#collected, ...this.#oracles].flatMap((oracle) => {
      const story = oracle.check();
      return story === undefined ? [] : [`${oracle.name}: ${story}`];
    });
  }
}
