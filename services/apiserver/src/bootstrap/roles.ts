import { EVERYTHING } from '../authorization/rbac-rules.ts';
import {
  type BootstrapBinding,
  type BootstrapRole,
  binding,
  READ,
  role,
  rule,
  toAccount,
  toGroups,
  toUser,
  WRITE_EVENTS,
} from './role-shapes.ts';
import { SYSTEM_ROLES } from './system-roles.ts';
import { USER_ROLES } from './user-roles.ts';

export const BOOTSTRAP_ROLES: readonly BootstrapRole[] = [
  role('cluster-admin', ...EVERYTHING),
  ...USER_ROLES,
  ...SYSTEM_ROLES,
];

/**
 * The controllers have no bindings: what they may do is fixed (`authorization/component-roles.ts`), and less than they are
 * given elsewhere. A role may be taken from a cluster that brings its own.
 */
export const BOOTSTRAP_ROLE_BINDINGS: readonly BootstrapBinding[] = [
  binding('cluster-admin', toGroups('system:masters')),
  binding('system:basic-user', toGroups('system:authenticated')),
  binding('system:discovery', toGroups('system:authenticated')),
  binding('system:public-info-viewer', toGroups('system:authenticated', 'system:unauthenticated')),
  binding('system:monitoring', toGroups('system:monitoring')),
  binding('system:service-account-issuer-discovery', toGroups('system:serviceaccounts')),
  binding('system:kube-scheduler', toUser('system:kube-scheduler')),
  binding('system:volume-scheduler', toUser('system:kube-scheduler')),
  binding('system:kube-dns', toAccount('kube-dns')),
  binding('system:node-proxier', toUser('system:kube-proxy')),
  binding('holdfast:network-policy', toUser('system:kube-proxy')),
  binding('holdfast:node-metrics', toUser('holdfast:prometheus')),
  // A kubelet has what belongs to its node, and not this for all of them.
  binding('system:node', []),
];

const SIGNER = 'system:controller:bootstrap-signer';
const CLEANER = 'system:controller:token-cleaner';
const PROVIDER = 'system:controller:cloud-provider';
const AUTHENTICATION = 'extension-apiserver-authentication';

/** By namespace. */
export const NAMESPACED_ROLES: ReadonlyMap<string, readonly BootstrapRole[]> = new Map([
  [
    'kube-public',
    [role(SIGNER, rule(READ, '', 'configmaps'), rule('update', '', 'configmaps', 'cluster-info'), WRITE_EVENTS)],
  ],
  [
    'kube-system',
    [
      role(`${AUTHENTICATION}-reader`, rule(READ, '', 'configmaps', AUTHENTICATION)),
      role(SIGNER, rule(READ, '', 'secrets')),
      role(PROVIDER, rule(`create ${READ}`, '', 'configmaps')),
      role(CLEANER, rule(`delete ${READ}`, '', 'secrets'), WRITE_EVENTS),
    ],
  ],
]);

const toOwnAccount = (name: string): BootstrapBinding =>
  binding(name, toAccount(name.slice('system:controller:'.length)), 'Role');

/** A scheduler or controller manager of another make looks up here how the server knows its clients. */
const AUTHENTICATION_READERS: BootstrapBinding = {
  ...binding(
    `${AUTHENTICATION}-reader`,
    [...toUser('system:kube-controller-manager'), ...toUser('system:kube-scheduler')],
    'Role',
  ),
  metadata: binding(`system::${AUTHENTICATION}-reader`, []).metadata,
};

export const NAMESPACED_ROLE_BINDINGS: ReadonlyMap<string, readonly BootstrapBinding[]> = new Map([
  ['kube-public', [toOwnAccount(SIGNER)]],
  ['kube-system', [...[SIGNER, PROVIDER, CLEANER].map(toOwnAccount), AUTHENTICATION_READERS]],
]);
