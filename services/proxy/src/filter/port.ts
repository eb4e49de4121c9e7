import type { Family, Table, TableChange } from '../ruleset/model.ts';

/**
 * The packet filter of one network namespace. It holds one table of this program per address family, and this program
 * alone writes there. Calls come one after the other.
 */
export interface PacketFilter {
  /** Applies all changes in their order, or nothing. Rejects when nothing was applied, or when that is unknown. */
  apply(changes: readonly TableChange[]): Promise<void>;
  /** Replaces the tables, whatever they hold. Packets see the old rules or the new ones, never none. */
  reset(tables: readonly Table[]): Promise<void>;
  /** True when the tables of the last `reset` are still there. Cheap: it does not compare their content. */
  isIntact(): Promise<boolean>;
  /** Deletes the tables. */
  remove(): Promise<void>;
}

/** A destination whose UDP flows must find a new target. */
export interface StaleFlows {
  readonly protocol: 'UDP';
  readonly family: Family;
  /** The address that clients send to; absent: any address of the node. */
  readonly address?: string | undefined;
  readonly port: number;
  /** The target that ended; absent: flows that found no target. */
  readonly target?: string | undefined;
}

/** The connection tracking of the same namespace. */
export interface FlowTable {
  /** Never rejects: a flow that stays costs its client time, and the rules are right. */
  forget(flows: readonly StaleFlows[]): Promise<void>;
}

/** For machines without a tool for the connection table: flows end by their own time-out. */
export const NO_FLOW_TABLE: FlowTable = { forget: async () => {} };
