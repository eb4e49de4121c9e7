import { VALIDATING_ADMISSION_POLICIES } from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import { nextTurn } from '@holdfast/platform';
import type { Core } from '../core.ts';
import { POLICIES_CHECKED_AT_ONCE, POLICY_STATUS_RETRY_FIRST_MS, POLICY_STATUS_RETRY_LONGEST_MS } from '../limits.ts';
import { KeyedWork } from '../turns/keyed-work.ts';
import { inTurns } from '../turns/parts.ts';
import { policyWarnings } from './dynamic/type-check.ts';

/** The field manager of the status, as in Kubernetes. */
const STATUS_MANAGER = 'validatingadmissionpolicy-status';

/**
 * Writes into each ValidatingAdmissionPolicy what its expressions get wrong about the kinds that they are for. Every API server does so;
 * compare-and-swap lets one of them write.
 */
export function createPolicyStatus(core: Core, handle: ApiHandler): KeyedWork {
  const work: KeyedWork = new KeyedWork({
    clock: core.clock,
    log: core.log,
    subject: 'the type check of a ValidatingAdmissionPolicy',
    look: async (name) => {
      await look(core, handle, name);
      work.succeeded(name);
      return undefined;
    },
    retryFirstMs: POLICY_STATUS_RETRY_FIRST_MS,
    retryLongestMs: POLICY_STATUS_RETRY_LONGEST_MS,
    atOnce: POLICIES_CHECKED_AT_ONCE,
  });
  return work;
}

async function look(core: Core, handle: ApiHandler, name: string): Promise<undefined> {
  const policy = core.reader.cached(VALIDATING_ADMISSION_POLICIES, { name });
  if (policy === undefined) return;
  const { generation = 0, resourceVersion } = policy.metadata;
  if (generation <= (policy.status.observedGeneration ?? 0)) return;
  const warnings = await inTurns(policyWarnings(policy, core.catalog), nextTurn);
  // A merge patch, and not an apply as in Kubernetes: an apply that takes the last warning away takes `typeChecking` with it.
  const typeChecking = { expressionWarnings: warnings.length === 0 ? null : warnings };
  await patchStatus(handle, name, {
    metadata: { resourceVersion },
    status: { observedGeneration: generation, typeChecking },
  });
}

async function patchStatus(handle: ApiHandler, name: string, patch: object): Promise<void> {
  const { group, version, plural } = VALIDATING_ADMISSION_POLICIES;
  const { status } = await handle({
    method: 'PATCH',
    path: `/apis/${group}/${version}/${plural}/${name}/status`,
    query: new URLSearchParams({ fieldManager: STATUS_MANAGER }),
    headers: { 'content-type': 'application/merge-patch+json', 'user-agent': 'kube-apiserver' },
    body: JSON.stringify(patch),
  });
  // A policy that changed meanwhile is processed again because of that change.
  if (status < 300 || status === 404 || status === 409) return;
  throw new Error(`the API answered ${status} to the status of the policy`);
}
