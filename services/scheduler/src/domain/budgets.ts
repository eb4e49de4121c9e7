import { type PodDisruptionBudget, selectorOf } from '@holdfast/api';
import { type LabelSelectorMatcher, ownValue } from '@holdfast/machinery';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

interface CompiledBudget {
  readonly budget: PodDisruptionBudget;
  readonly selector: LabelSelectorMatcher;
}

/** Disruption budgets during one search for victims. */
export class Budgets {
  readonly #byNamespace: ReadonlyMap<string, readonly CompiledBudget[]>;

  constructor(budgets: readonly PodDisruptionBudget[]) {
    const byNamespace = new Map<string, CompiledBudget[]>();
    for (const budget of budgets) {
      const { namespace = '' } = budget.metadata;
      const selector = selectorOf(budget.spec.selector);
      byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), { budget, selector }]);
    }
    this.#byNamespace = byNamespace;
  }

  concernAnyOn({ pods }: NodeInfo): boolean {
    if (this.#byNamespace.size === 0) return false;
    for (const pod of pods.values()) if (this.#of(pod).length > 0) return true;
    return false;
  }

  /** Splits pods by whether evicting them in this order would violate their budgets. */
  split(pods: readonly PodInfo[]): { readonly violating: readonly PodInfo[]; readonly others: readonly PodInfo[] } {
    const left = new Map<PodDisruptionBudget, number>();
    const violating: PodInfo[] = [];
    const others: PodInfo[] = [];
    for (const pod of pods) {
      let violates = false;
      for (const { budget } of this.#of(pod)) {
        // A pod that is already being disrupted is already counted.
        if (ownValue(budget.status.disruptedPods, pod.name) !== undefined) continue;
        const rest = (left.get(budget) ?? budget.status.disruptionsAllowed) - 1;
        left.set(budget, rest);
        if (rest < 0) violates = true;
      }
      (violates ? violating : others).push(pod);
    }
    return { violating, others };
  }

  #of({ namespace, labels }: PodInfo): readonly CompiledBudget[] {
    const those = this.#byNamespace.get(namespace);
    return those === undefined ? [] : those.filter(({ selector }) => selector.matches(labels));
  }
}
