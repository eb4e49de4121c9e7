import type { PolicyRule } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { type BootstrapRole, partOf, READ, role, rule, selectorOf, type UserRole, WRITE } from './role-shapes.ts';

const VIEW = partOf(
  ['view'],
  role(
    'system:aggregate-to-view',
    rule(
      READ,
      '',
      'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers ' +
        'replicationcontrollers/scale serviceaccounts services services/status',
    ),
    rule(
      READ,
      '',
      'bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status ' +
        'resourcequotas resourcequotas/status',
    ),
    rule(READ, '', 'namespaces'),
    rule(READ, 'discovery.k8s.io', 'endpointslices'),
    rule(
      READ,
      'apps',
      'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets ' +
        'replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    ),
    rule(READ, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
    rule(READ, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
    rule(
      READ,
      'extensions',
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status ' +
        'networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    ),
    rule(READ, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
    rule(READ, 'networking.k8s.io', 'ingresses ingresses/status networkpolicies'),
  ),
);

const EDIT = partOf(
  ['edit'],
  role(
    'system:aggregate-to-edit',
    rule(READ, '', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
    rule('impersonate', '', 'serviceaccounts'),
    rule(WRITE, '', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
    rule('create', '', 'pods/eviction'),
    rule(
      WRITE,
      '',
      'configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets ' +
        'serviceaccounts services services/proxy',
    ),
    rule('create', '', 'serviceaccounts/token'),
    rule(
      WRITE,
      'apps',
      'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets ' +
        'statefulsets/scale',
    ),
    rule(WRITE, 'autoscaling', 'horizontalpodautoscalers'),
    rule(WRITE, 'batch', 'cronjobs jobs'),
    rule(
      WRITE,
      'extensions',
      'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets ' +
        'replicasets/scale replicationcontrollers/scale',
    ),
    rule(WRITE, 'policy', 'poddisruptionbudgets'),
    rule(WRITE, 'networking.k8s.io', 'ingresses networkpolicies'),
    rule(`${READ} ${WRITE}`, 'coordination.k8s.io', 'leases'),
  ),
);

const ADMIN = partOf(
  ['admin'],
  role(
    'system:aggregate-to-admin',
    rule('create', 'authorization.k8s.io', 'localsubjectaccessreviews'),
    rule(`${READ} ${WRITE}`, 'rbac.authorization.k8s.io', 'rolebindings roles'),
  ),
);

/** Elsewhere part of metrics-server: here the server itself provides them. */
const METRICS = partOf(
  ['admin', 'edit', 'view'],
  role('system:aggregated-metrics-reader', rule(READ, 'metrics.k8s.io', 'nodes pods')),
);

const PARTS = [ADMIN, EDIT, VIEW, METRICS];

/**
 * Its initial rules equal the controller's result, in the controller's order: nothing has to wait for the controller.
 */
function aggregated(name: UserRole, parts: readonly BootstrapRole[], partOfUsers: readonly UserRole[]): BootstrapRole {
  const inOrder = parts.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const each of inOrder.flatMap((part) => part.rules)) {
    if (!rules.some((other) => deepEqual(other, each))) rules.push(each);
  }
  return {
    ...partOf(partOfUsers, role(name, ...rules)),
    aggregationRule: { clusterRoleSelectors: [selectorOf(name)] },
  };
}

const view = aggregated('view', [VIEW, METRICS], ['edit']);
const edit = aggregated('edit', [EDIT, METRICS, view], ['admin']);
const admin = aggregated('admin', [ADMIN, METRICS, edit], []);

/** Each with the part that has its name. */
export const ROLES_AND_PARTS: readonly (readonly [BootstrapRole, part: BootstrapRole])[] = [
  [admin, ADMIN],
  [edit, EDIT],
  [view, VIEW],
];

/** The roles for users of a namespace. Other roles join by their labels. */
export const USER_ROLES: readonly BootstrapRole[] = [admin, edit, view, ...PARTS];
