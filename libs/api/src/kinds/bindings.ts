import { type FieldError, invalid } from '@holdfast/machinery';
import { bindingColumns } from '../columns/rbac.ts';
import { setDefault } from '../defaults/set.ts';
import type { RoleBinding } from '../generated/types.ts';
import { goString, goStruct } from '../validation/go-text.ts';
import {
  pathSegmentErrors,
  setRoleRefDefaults,
  setSubjectDefaults,
  validateRoleRef,
  validateSubject,
} from '../validation/rbac.ts';
import { checkedInSteps } from './checked.ts';
import type { ResourceForm } from './define.ts';
import { nothingToPrepare } from './strategy.ts';

export interface BindingScope {
  readonly namespaced: boolean;
  /** The kinds of roles that it may bind. */
  readonly roles: readonly string[];
}

/** RoleBindings and ClusterRoleBindings: they have the same fields. */
export const bindingForm = ({ namespaced, roles }: BindingScope): ResourceForm<RoleBinding> => ({
  setDefaults: (binding) => {
    setDefault(binding, 'roleRef', { apiGroup: '', kind: '', name: '' });
    setRoleRefDefaults(binding.roleRef);
    setSubjectDefaults(binding.subjects);
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<RoleBinding>(
      { namespaced, name: pathSegmentErrors },
      {
        whole: (out, { roleRef, subjects = [] }) => {
          validateRoleRef(out, roleRef, roles);
          for (const [i, subject] of subjects.entries()) {
            validateSubject(out, `subjects[${i}]`, subject, namespaced);
          }
        },
        change: validateChange,
        onUpdate: ['whole', 'whole', 'metadata', 'change'],
      },
    ),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: bindingColumns,
});

function validateChange(out: FieldError[], { roleRef: ref }: Readonly<RoleBinding>, old: Readonly<RoleBinding>): void {
  if (JSON.stringify(refKey(ref)) === JSON.stringify(refKey(old.roleRef))) return;
  const shown = goStruct('rbac.RoleRef', {
    APIGroup: goString(ref.apiGroup),
    Kind: goString(ref.kind),
    Name: goString(ref.name),
  });
  out.push(invalid('roleRef', shown, 'cannot change roleRef'));
}

const refKey = ({ apiGroup, kind, name }: RoleBinding['roleRef']): readonly string[] => [apiGroup, kind, name];
