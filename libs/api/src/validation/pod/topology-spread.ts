import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type { TopologySpreadConstraint } from '../../generated/types.ts';
import { validateWord } from '../check.ts';
import { validateLabelName, validateLabelSelector } from '../labels.ts';
import { NOT_ABOVE_ZERO_TEXT } from '../numbers.ts';

const ACTIONS = ['DoNotSchedule', 'ScheduleAnyway'];
const NODE_POLICIES = ['Honor', 'Ignore'];

export function validateTopologySpread(
  out: FieldError[],
  path: string,
  constraints: readonly TopologySpreadConstraint[],
): void {
  const lastOfKind = new Map(constraints.map((constraint, i) => [kindOf(constraint), i]));
  for (const [i, constraint] of constraints.entries()) {
    const at = `${path}[${i}]`;
    const maxSkew = constraint.maxSkew ?? 0;
    const topologyKey = constraint.topologyKey ?? '';
    const whenUnsatisfiable = constraint.whenUnsatisfiable ?? '';
    if (maxSkew <= 0) out.push(invalid(`${at}.maxSkew`, maxSkew, NOT_ABOVE_ZERO_TEXT));
    if (topologyKey === '') out.push(required(`${at}.topologyKey`, 'can not be empty'));
    if (!ACTIONS.includes(whenUnsatisfiable)) {
      out.push(notSupported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ACTIONS));
    }
    if (lastOfKind.get(kindOf(constraint)) !== i) {
      out.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`));
    }
    validateMinDomains(out, `${at}.minDomains`, constraint);
    validateWord(out, `${at}.nodeAffinityPolicy`, constraint.nodeAffinityPolicy, NODE_POLICIES);
    validateWord(out, `${at}.nodeTaintsPolicy`, constraint.nodeTaintsPolicy, NODE_POLICIES);
    validateMatchLabelKeys(out, `${at}.matchLabelKeys`, constraint);
    validateLabelSelector(out, `${at}.labelSelector`, constraint.labelSelector);
  }
}

const kindOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
  JSON.stringify([topologyKey, whenUnsatisfiable]);

function validateMinDomains(out: FieldError[], path: string, constraint: Readonly<TopologySpreadConstraint>): void {
  const { minDomains, whenUnsatisfiable } = constraint;
  if (minDomains === undefined) return;
  if (minDomains <= 0) out.push(invalid(path, minDomains, NOT_ABOVE_ZERO_TEXT));
  if (whenUnsatisfiable !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
    out.push(invalid(path, minDomains, detail));
  }
}

function validateMatchLabelKeys(out: FieldError[], path: string, constraint: Readonly<TopologySpreadConstraint>): void {
  const { matchLabelKeys = [], labelSelector } = constraint;
  if (matchLabelKeys.length === 0) return;
  if (labelSelector === undefined) {
    out.push(forbidden(path, 'must not be specified when labelSelector is not set'));
  }
  const selected = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map((expression) => expression.key),
  ]);
  for (const [i, key] of matchLabelKeys.entries()) {
    validateLabelName(out, `${path}[${i}]`, key);
    if (selected.has(key)) {
      out.push(invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector'));
    }
  }
}
