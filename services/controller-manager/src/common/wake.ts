import { type KubeObject, type LabelSelector, selectorOf } from '@holdfast/api';
import type { Informer, InformerChange } from '@holdfast/client';
import type { LabelSelectorMatcher } from '@holdfast/machinery';
import { controllerOf, keyOf, toTarget } from './meta.ts';

type Selecting = KubeObject & { readonly spec: { readonly selector?: LabelSelector } };

/** The owners whose picture a change of a dependent may alter: its controller before and after, or all that could adopt it (or wait for its name). */
export const ownersToWake = <T extends Selecting>(
  owners: Informer<T>,
  kind: string,
  change: InformerChange<KubeObject>,
): readonly string[] =>
  selectingOwnersToWake({ owners, kind, selectorFor: ({ spec }) => selectorOf(spec.selector) }, change);

/** The same for kinds whose selector has a form of its own. */
export function selectingOwnersToWake<T extends KubeObject>(
  {
    owners,
    kind,
    selectorFor,
  }: {
    readonly owners: Informer<T>;
    readonly kind: string;
    readonly selectorFor: (owner: T) => LabelSelectorMatcher;
  },
  { object, old }: InformerChange<KubeObject>,
): readonly string[] {
  const keys = new Set<string>();
  for (const dependent of [old, object]) {
    const controller = dependent === undefined ? undefined : controllerOf(dependent);
    if (controller?.kind === kind) {
      keys.add(keyOf({ metadata: toTarget(dependent?.metadata.namespace ?? '', controller.name) }));
    }
  }
  const last = object ?? old;
  if (last !== undefined && controllerOf(last) === undefined) {
    for (const candidate of owners.list(last.metadata.namespace)) {
      if (selectorFor(candidate).matches(last.metadata.labels)) keys.add(keyOf(candidate));
    }
  }
  return [...keys];
}
