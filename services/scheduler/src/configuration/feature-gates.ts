import { OperatorError } from '@holdfast/platform';

export interface SchedulerFeatures {
  readonly podPriority: boolean;
}

/** `PodPriority=false`; gates of Kubernetes that this scheduler does not know are refused, not ignored. */
export function decodeFeatureGates(text: string | undefined): SchedulerFeatures {
  let podPriority = true;
  for (const part of (text ?? '').split(',').filter((each) => each.trim() !== '')) {
    const [name = '', value = ''] = part.split('=').map((each) => each.trim());
    if (name !== 'PodPriority' || !['true', 'false'].includes(value)) {
      throw new OperatorError({
        code: 'BadSetting',
        message: `--feature-gates does not take "${part.trim()}"`,
        nextStep: 'The scheduler knows PodPriority=true and PodPriority=false.',
        exitCode: 2,
      });
    }
    podPriority = value === 'true';
  }
  return { podPriority };
}
