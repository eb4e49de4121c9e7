import { type FieldError, invalid } from '@holdfast/machinery';
import { bindingColumns } from '../../columns/rbac.ts';
import { setDefault } from '../../defaults/set.ts';
import type { ClusterRoleBinding } from '../../generated/types.ts';
import { CLUSTER_ROLE_BINDINGS } from '../../refs.ts';
import { goString, goStruct } from '../../validation/go-text.ts';
import {
  pathSegmentErrors,
  setRoleRefDefaults,
  setSubjectDefaults,
  validateRoleRef,
  validateSubject,
} from '../../validation/rbac.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: pathSegmentErrors } as const;

export const clusterRoleBindingResource = defineResource(CLUSTER_ROLE_BINDINGS, {
  setDefaults: (binding) => {
    setDefault(binding, 'roleRef', { apiGroup: '', kind: '', name: '' });
    setRoleRefDefaults(binding.roleRef);
    setSubjectDefaults(binding.subjects);
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<ClusterRoleBinding>(META, {
      whole: validateBinding,
      change: validateChange,
      onUpdate: ['whole', 'whole', 'metadata', 'change'],
    }),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: bindingColumns,
});

function validateBinding(out: FieldError[], binding: Readonly<ClusterRoleBinding>): void {
  validateRoleRef(out, binding.roleRef, ['ClusterRole']);
  for (const [i, subject] of (binding.subjects ?? []).entries()) {
    validateSubject(out, `subjects[${i}]`, subject, false);
  }
}

function validateChange(
  out: FieldError[],
  { roleRef: ref }: Readonly<ClusterRoleBinding>,
  old: Readonly<ClusterRoleBinding>,
): void {
  if (JSON.stringify(refKey(ref)) === JSON.stringify(refKey(old.roleRef))) return;
  const shown = goStruct('rbac.RoleRef', {
    APIGroup: goString(ref.apiGroup),
    Kind: goString(ref.kind),
    Name: goString(ref.name),
  });
  out.push(invalid('roleRef', shown, 'cannot change roleRef'));
}

const refKey = ({ apiGroup, kind, name }: ClusterRoleBinding['roleRef']): readonly string[] => [apiGroup, kind, name];
