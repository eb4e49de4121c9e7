import { ROLE_BINDINGS } from '../../refs.ts';
import { bindingForm } from '../bindings.ts';
import { defineResource } from '../define.ts';

export const roleBindingResource = defineResource(
  ROLE_BINDINGS,
  bindingForm({ namespaced: true, roles: ['Role', 'ClusterRole'] }),
);
