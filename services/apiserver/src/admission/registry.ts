import {
  createCertificateApproval,
  createCertificateSigning,
  createCertificateSubjectRestriction,
} from './plugins/certificates.ts';
import { createClaimResize } from './plugins/claim-resize.ts';
import { createDefaultIngressClass } from './plugins/default-ingress-class.ts';
import { createDefaultStorageClass } from './plugins/default-storage-class.ts';
import { createDefaultTolerationSeconds } from './plugins/default-toleration-seconds.ts';
import { createDenyServiceExternalIps } from './plugins/deny-service-external-ips.ts';
import { createExpressionChecks } from './plugins/expression-checks.ts';
import { createLimitRanger } from './plugins/limit-ranger.ts';
import { createMutatingWebhooks } from './plugins/mutating-webhooks.ts';
import { createNamespaceLifecycle } from './plugins/namespace-lifecycle.ts';
import { createNodeRestriction } from './plugins/node-restriction.ts';
import { createNodeVerdict } from './plugins/node-verdict.ts';
import { createOwnersOnly } from './plugins/owners-only.ts';
import { createPodOwnership } from './plugins/pod-ownership.ts';
import { createPodSecurity } from './plugins/pod-security.ts';
import { createPodSelfFencing } from './plugins/pod-self-fencing.ts';
import { createPolicyParamRights } from './plugins/policy-param-rights.ts';
import { createPriority } from './plugins/priority.ts';
import { createPrivilegedContainers } from './plugins/privileged-containers.ts';
import { createPromiseVerdict } from './plugins/promise-verdict.ts';
import { createRbacEscalation } from './plugins/rbac-escalation.ts';
import { createResourceQuota } from './plugins/resource-quota.ts';
import { createRuntimeClass } from './plugins/runtime-class.ts';
import { createServiceAccount } from './plugins/service-account.ts';
import { createServiceAllocation } from './plugins/service-allocation.ts';
import { createStorageProtection } from './plugins/storage-protection.ts';
import { createTaintNodesByCondition } from './plugins/taint-nodes-by-condition.ts';
import { createValidatingPolicies } from './plugins/validating-policies.ts';
import { createValidatingWebhooks } from './plugins/validating-webhooks.ts';
import { createVolumeAttachmentRule } from './plugins/volume-attachment-rule.ts';
import type { AdmissionPluginFactory } from './port.ts';

/** In the order of their calls; quotas come last, because only admitted objects count. */
export const ADMISSION_PLUGINS: readonly AdmissionPluginFactory[] = [
  createPrivilegedContainers,
  createNamespaceLifecycle,
  createLimitRanger,
  createServiceAccount,
  createNodeRestriction,
  createTaintNodesByCondition,
  createPodSecurity,
  createPodSelfFencing,
  createPriority,
  createDefaultTolerationSeconds,
  createDefaultStorageClass,
  createStorageProtection,
  createClaimResize,
  createRuntimeClass,
  createCertificateApproval,
  createCertificateSigning,
  createCertificateSubjectRestriction,
  createDefaultIngressClass,
  createDenyServiceExternalIps,
  createOwnersOnly,
  createMutatingWebhooks,
  createExpressionChecks,
  createRbacEscalation,
  createPolicyParamRights,
  createPodOwnership,
  createNodeVerdict,
  createPromiseVerdict,
  createVolumeAttachmentRule,
  createValidatingPolicies,
  createValidatingWebhooks,
  createServiceAllocation,
  createResourceQuota,
];
