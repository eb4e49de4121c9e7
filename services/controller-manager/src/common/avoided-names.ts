import type { KubeObject } from '@holdfast/api';
import type { Informer, InformerChange } from '@holdfast/client';
import { AVOIDED_NAMES_PER_WORKLOAD } from '../limits.ts';
import { controllerOf, keyOf, nameOf, toTarget, uidOf } from './meta.ts';

/** Names that a workload does not ask for: those that turned out to belong to others, and those of its pods that are gone. */
export class AvoidedNames {
  readonly #names = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> {
    return this.#names.get(key) ?? new Set();
  }

  add(key: string, name: string): void {
    const names = this.#names.get(key) ?? new Set<string>();
    const [oldest] = names;
    if (names.size >= AVOIDED_NAMES_PER_WORKLOAD && oldest !== undefined) names.delete(oldest);
    names.add(name);
    this.#names.set(key, names);
  }

  /** A client that waits for the end of a pod must not meet another one under its name. */
  podChanged<T extends KubeObject>(owners: Informer<T>, kind: string, change: InformerChange<KubeObject>): void {
    if (change.object !== undefined || change.old === undefined) return;
    const controller = controllerOf(change.old);
    if (controller?.kind !== kind) return;
    const target = toTarget(change.old.metadata.namespace ?? '', controller.name);
    const owner = owners.get(target);
    if (owner !== undefined && uidOf(owner) === controller.uid)
      this.add(keyOf({ metadata: target }), nameOf(change.old));
  }

  forget(key: string): void {
    this.#names.delete(key);
  }
}
