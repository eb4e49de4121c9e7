import { type FieldError, invalid, required } from '@holdfast/machinery';
import { createdAtColumn, nameColumn } from '../../columns/columns.ts';
import type { ClusterRole } from '../../generated/types.ts';
import { CLUSTER_ROLES } from '../../refs.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { pathSegmentErrors, validatePolicyRule } from '../../validation/rbac.ts';
import { hasProblems } from '../../validation/workload.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: pathSegmentErrors } as const;

export const clusterRoleResource = defineResource(CLUSTER_ROLES, {
  setDefaults: (role) => {
    // Absent rules are serialized as null, like every empty list in Go.
    if (role.rules === undefined) Object.assign(role, { rules: null });
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<ClusterRole>(META, { whole: validateRole, onUpdate: ['whole', 'whole', 'metadata'] }),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: [nameColumn, createdAtColumn],
});

function validateRole(out: FieldError[], role: Readonly<ClusterRole>): void {
  for (const [i, rule] of (role.rules ?? []).entries()) validatePolicyRule(out, `rules[${i}]`, rule, false);
  const { aggregationRule } = role;
  if (aggregationRule === undefined) return;
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    out.push(required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil'));
  }
  for (const [i, selector] of selectors.entries()) {
    validateLabelSelector(out, `${path}[${i}]`, selector);
    if (hasProblems(selector)) out.push(invalid(`${path}[${i}]`, undefined, 'invalid label selector.'));
  }
}
