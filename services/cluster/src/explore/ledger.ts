import type { Change } from '@holdfast/store';
import { Activity } from './activity.ts';
import { labelOf } from './end-state.ts';

const CHATTER = /^(core\/events|events\.k8s\.io\/events|coordination\.k8s\.io\/leases|core\/nodes)\//;

/** What was deleted, by everybody, as the store tells it. */
export class Ledger {
  /** By label; without objects that have generated names, which are replaceable. */
  readonly deletions = new Map<string, number>();
  readonly activity = new Activity();

  take({ key, kind, value }: Change): void {
    if (CHATTER.test(key)) return;
    this.activity.add(`change of ${key}`);
    if (kind !== 'deleted') return;
    const { metadata } = JSON.parse(value) as { readonly metadata: { readonly generateName?: string } };
    if (metadata.generateName !== undefined) return;
    const label = labelOf(key, undefined);
    this.deletions.set(label, (this.deletions.get(label) ?? 0) + 1);
  }
}
