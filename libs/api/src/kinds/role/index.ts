import type { FieldError } from '@holdfast/machinery';
import { createdAtColumn, nameColumn } from '../../columns/columns.ts';
import type { Role } from '../../generated/types.ts';
import { ROLES } from '../../refs.ts';
import { pathSegmentErrors, validatePolicyRule } from '../../validation/rbac.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: true, name: pathSegmentErrors } as const;

export const roleResource = defineResource(ROLES, {
  setDefaults: (role) => {
    // Absent rules are serialized as null, like every empty list in Go.
    if (role.rules === undefined) Object.assign(role, { rules: null });
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<Role>(META, { whole: validateRole, onUpdate: ['whole', 'whole', 'metadata'] }),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: [nameColumn, createdAtColumn],
});

function validateRole(out: FieldError[], role: Readonly<Role>): void {
  for (const [i, rule] of (role.rules ?? []).entries()) validatePolicyRule(out, `rules[${i}]`, rule, true);
}
