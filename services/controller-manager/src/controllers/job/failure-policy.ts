import type { ContainerStatus, Job, Pod, PodFailurePolicyRule } from '@holdfast/api';
import { nameOf, namespaceOf } from '../../common/meta.ts';

/** The effect of a failed pod on its Job. */
export type FailureMeaning =
  | { readonly action: 'Count' | 'FailIndex' | 'Ignore' }
  | { readonly action: 'FailJob'; readonly message: string };

/** The first rule that matches decides; without one the failure counts. */
export function meaningOf(job: Job, pod: Pod): FailureMeaning {
  for (const [position, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const cause = causeOf(rule, pod);
    if (cause === undefined) continue;
    switch (rule.action) {
      case 'FailJob':
        return { action: 'FailJob', message: `${cause} matching FailJob rule at index ${position}` };
      case 'FailIndex':
      case 'Ignore':
        return { action: rule.action };
      default:
        return { action: 'Count' };
    }
  }
  return { action: 'Count' };
}

export const isIgnored = (job: Job, pod: Pod): boolean =>
  job.spec.podFailurePolicy !== undefined && meaningOf(job, pod).action === 'Ignore';

function causeOf(rule: PodFailurePolicyRule, pod: Pod): string | undefined {
  const name = `${namespaceOf(pod)}/${nameOf(pod)}`;
  if (rule.onExitCodes !== undefined) {
    const container = failedContainer(rule.onExitCodes, pod);
    const code = container?.state?.terminated?.exitCode;
    return container && `Container ${container.name} for pod ${name} failed with exit code ${code}`;
  }
  const condition = pod.status.conditions?.find(({ type, status }) =>
    rule.onPodConditions?.some((pattern) => pattern.type === type && pattern.status === status),
  );
  return condition && `Pod ${name} has condition ${condition.type}`;
}

function failedContainer(
  { containerName, operator, values }: NonNullable<PodFailurePolicyRule['onExitCodes']>,
  { status }: Pod,
): ContainerStatus | undefined {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return all.find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0;
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
    return operator === 'In' ? values.includes(code) : operator === 'NotIn' && !values.includes(code);
  });
}
