import { CLUSTER_ROLE_BINDINGS } from '../../refs.ts';
import { bindingForm } from '../bindings.ts';
import { defineResource } from '../define.ts';

export const clusterRoleBindingResource = defineResource(
  CLUSTER_ROLE_BINDINGS,
  bindingForm({ namespaced: false, roles: ['ClusterRole'] }),
);
