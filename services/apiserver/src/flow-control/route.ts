import type { FlowSchema } from '@holdfast/api';
import { RecentMap } from '@holdfast/platform';
import { FLOWS_REMEMBERED_MAX, WAITING_PER_EXEMPT_FLOW_MAX, WAITING_PER_FLOW_MAX } from '../limits.ts';
import type { Flow } from '../turns/fair-queue.ts';
import type { FlowCounts } from './flow-metrics.ts';
import type { PriorityLevel } from './priority-level.ts';
import { dealHand, hashOfFlow } from './shuffle-sharding.ts';

/** The weight of an exempt level in turns of the thread: it has no share of its own. */
const EXEMPT_WEIGHT = 150;

/** One flow of a schema: its queue for seats and its queue for turns on the thread. */
export interface SchemaFlow {
  readonly hand: readonly number[];
  readonly turn: Flow;
}

/** A schema and the priority level that it leads to. */
export class Route {
  readonly schemaName: string;
  readonly level: PriorityLevel;
  readonly method: string | undefined;
  readonly counts: FlowCounts;
  /** The headers of every response to a request of the schema. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #flows = new RecentMap<string, SchemaFlow>(FLOWS_REMEMBERED_MAX);

  constructor(schema: FlowSchema, level: PriorityLevel, counts: FlowCounts) {
    this.schemaName = schema.metadata.name ?? '';
    this.level = level;
    this.counts = counts;
    this.method = schema.spec.distinguisherMethod?.type;
    this.headers = {
      'x-kubernetes-pf-flowschema-uid': schema.metadata.uid ?? '',
      'x-kubernetes-pf-prioritylevel-uid': level.configuration.metadata.uid ?? '',
    };
  }

  flowOf(distinguisher: string): SchemaFlow {
    const known = this.#flows.get(distinguisher);
    if (known !== undefined) return known;
    const { name, isExempt, limits, queueCount, handSize } = this.level;
    const flow: SchemaFlow = {
      hand: queueCount === 0 ? [] : dealHand(hashOfFlow(this.schemaName, distinguisher), queueCount, handSize),
      turn: {
        level: name,
        key: `${this.schemaName} ${distinguisher}`,
        weight: isExempt ? EXEMPT_WEIGHT : Math.max(1, limits.nominal),
        waitingMax: isExempt ? WAITING_PER_EXEMPT_FLOW_MAX : WAITING_PER_FLOW_MAX,
      },
    };
    this.#flows.set(distinguisher, flow);
    return flow;
  }
}
