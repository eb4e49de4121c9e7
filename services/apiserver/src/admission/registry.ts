import { createDefaultStorageClass } from './plugins/default-storage-class.ts';
import { createDefaultTolerationSeconds } from './plugins/default-toleration-seconds.ts';
import { createLimitRanger } from './plugins/limit-ranger.ts';
import { createNamespaceLifecycle } from './plugins/namespace-lifecycle.ts';
import { createNodeRestriction } from './plugins/node-restriction.ts';
import { createNodeVerdict } from './plugins/node-verdict.ts';
import { createPodOwnership } from './plugins/pod-ownership.ts';
import { createPriority } from './plugins/priority.ts';
import { createRbacEscalation } from './plugins/rbac-escalation.ts';
import { createResourceQuota } from './plugins/resource-quota.ts';
import { createServiceAccount } from './plugins/service-account.ts';
import { createStorageProtection } from './plugins/storage-protection.ts';
import type { AdmissionPluginFactory } from './port.ts';

/** In the order of their calls; quotas come last, because only what is let in is counted. */
export const ADMISSION_PLUGINS: readonly AdmissionPluginFactory[] = [
  createNamespaceLifecycle,
  createLimitRanger,
  createServiceAccount,
  createNodeRestriction,
  createPriority,
  createDefaultTolerationSeconds,
  createDefaultStorageClass,
  createStorageProtection,
  createRbacEscalation,
  createPodOwnership,
  createNodeVerdict,
  createResourceQuota,
];
