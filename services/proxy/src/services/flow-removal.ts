import type { FlowTable, StaleFlows } from '../filter/port.ts';
import { FLOW_DELETIONS_BATCH, FLOW_DELETIONS_PENDING_MAX } from '../limits.ts';

/** Removes stale flows beside the updates of rules, which never wait for it. Flows beyond the bound end by their own time-out. */
export class FlowRemoval {
  readonly #flows: FlowTable;
  /** By their text: equal ones are removed once. */
  readonly #pending = new Map<string, StaleFlows>();
  #running: Promise<void> | undefined;

  constructor(flows: FlowTable) {
    this.#flows = flows;
  }

  /** The rules that lead new flows elsewhere are written. */
  add(stale: readonly StaleFlows[]): void {
    for (const each of stale) {
      if (this.#pending.size >= FLOW_DELETIONS_PENDING_MAX) break;
      this.#pending.set(JSON.stringify(each), each);
    }
    if (this.#pending.size > 0) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#pending.clear();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, FLOW_DELETIONS_BATCH);
      for (const [text] of batch) this.#pending.delete(text);
      await this.#flows.forget(batch.map(([, each]) => each));
    }
    this.#running = undefined;
  }
}
