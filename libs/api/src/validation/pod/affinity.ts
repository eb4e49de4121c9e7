import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { Affinity, NodeAffinity, PodAffinity, PodAffinityTerm } from '../../generated/types.ts';
import { validateDnsLabel } from '../check.ts';
import { validateLabelName, validateLabelSelector } from '../labels.ts';
import { validateNodeSelector, validateNodeSelectorTerm } from './node-selector.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateAffinity(out: FieldError[], path: string, affinity: Readonly<Affinity> | undefined): void {
  if (affinity === undefined) return;
  if (affinity.nodeAffinity !== undefined) validateNodeAffinity(out, `${path}.nodeAffinity`, affinity.nodeAffinity);
  for (const key of ['podAffinity', 'podAntiAffinity'] as const) {
    const terms = affinity[key];
    if (terms !== undefined) validatePodAffinity(out, `${path}.${key}`, terms);
  }
}

function validateNodeAffinity(out: FieldError[], path: string, affinity: Readonly<NodeAffinity>): void {
  const needed = affinity[REQUIRED];
  if (needed !== undefined) validateNodeSelector(out, `${path}.${REQUIRED}`, needed);
  for (const [i, term] of (affinity[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${i}]`;
    validateWeight(out, at, term.weight);
    validateNodeSelectorTerm(out, `${at}.preference`, term.preference ?? {});
  }
}

function validatePodAffinity(out: FieldError[], path: string, affinity: Readonly<PodAffinity>): void {
  for (const [i, term] of (affinity[REQUIRED] ?? []).entries()) {
    validatePodAffinityTerm(out, `${path}.${REQUIRED}[${i}]`, term);
  }
  for (const [i, term] of (affinity[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${i}]`;
    validateWeight(out, at, term.weight);
    validatePodAffinityTerm(out, `${at}.podAffinityTerm`, term.podAffinityTerm ?? { topologyKey: '' });
  }
}

function validateWeight(out: FieldError[], path: string, weight = 0): void {
  if (weight <= 0 || weight > 100) out.push(invalid(`${path}.weight`, weight, 'must be in the range 1-100'));
}

function validatePodAffinityTerm(out: FieldError[], path: string, term: Readonly<PodAffinityTerm>): void {
  validateLabelSelector(out, `${path}.labelSelector`, term.labelSelector);
  validateLabelSelector(out, `${path}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? []) validateDnsLabel(out, `${path}.namespace`, name);
  validateKeys(out, path, term);
  if (!term.topologyKey) out.push(required(`${path}.topologyKey`, 'can not be empty'));
  validateLabelName(out, `${path}.topologyKey`, term.topologyKey ?? '');
}

function validateKeys(out: FieldError[], path: string, term: Readonly<PodAffinityTerm>): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term;
  validateKeyNames(out, `${path}.matchLabelKeys`, matchLabelKeys, labelSelector !== undefined);
  validateKeyNames(out, `${path}.mismatchLabelKeys`, mismatchLabelKeys, labelSelector !== undefined);
  // The selector already contains an expression for each of these keys; a second one comes from the client.
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  const positions = firstPositions(matchLabelKeys);
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const i = positions.get(key);
    if (i !== undefined && seen.has(key)) {
      out.push(invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector'));
    }
    seen.add(key);
  }
  const mismatched = new Set(mismatchLabelKeys);
  for (const [i, key] of matchLabelKeys.entries()) {
    if (!mismatched.has(key)) continue;
    out.push(invalid(`${path}.matchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys'));
  }
}

/** Returns the first position of each key. */
const firstPositions = (keys: readonly string[]): ReadonlyMap<string, number> =>
  new Map(keys.map((key, i): [string, number] => [key, i]).toReversed());

function validateKeyNames(out: FieldError[], path: string, keys: readonly string[], hasSelector: boolean): void {
  if (keys.length === 0) return;
  if (!hasSelector) out.push(forbidden(path, 'must not be specified when labelSelector is not set'));
  else for (const [i, key] of keys.entries()) validateLabelName(out, `${path}[${i}]`, key);
}
